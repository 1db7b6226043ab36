//! Where the time goes: when a device is idle, and what it waits for.
//!
//! A gap lies between two stretches in which a device is busy. The activity that ends it
//! says whose it is: every range it was started in has waited since it began, or since the
//! gap did. And what for:
//!
//! - its call began inside the gap: up to the call the device waited for the host. What
//!   the calling thread spent of that time in a call that waits for the device is *sync*,
//!   in a copy that it waits for *copy*, the rest is *host*. From the call on it is *launch*
//!   latency.
//! - its call began before the gap: the work was queued. A gap no longer than the
//!   device takes from one kernel to the next is *launch* latency, a longer one a *true gap*:
//!   the work waited for an event, another stream or another device.
//! - nothing says which call it was: *unknown*.

use serde::Serialize;
use trace::{ActivityKind, Device, NONE, Trace};

use super::overlap::{Overlap, overlap};
use super::range_time::{times_of_ranges, within};
use super::waits::Waits;
use crate::attribute::{Attribution, Tree};
use crate::kernels::{COMMUNICATION, Families};
use crate::origin::Origin;

/// From kernel to kernel a device takes a microsecond or two; a queued one that takes
/// longer than this waits for something.
const LAUNCH_LATENCY_NS: i64 = 10_000;

/// One device, in all or in one region.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdleRow {
    pub device: u32,
    #[serde(flatten)]
    pub origin: Origin,
    pub device_name: Option<String>,
    /// None for all there is on the device.
    pub region: Option<String>,
    pub busy_ns: i64,
    pub idle_ns: i64,
    /// Of busy and idle time.
    pub busy_share: f64,
    pub causes: Causes,
    /// Of busy and idle time, the largest cause first.
    pub cause_shares: Vec<(&'static str, f64)>,
    /// From call to start.
    #[serde(serialize_with = "crate::statistics::rounded")]
    pub queue_delay_mean_ns: f64,
    pub queue_delay_max_ns: i64,
    /// Activities that were started and not finished, counted at each start.
    pub launch_ahead_mean: f64,
    pub launch_ahead_max: u64,
    /// Kernels running at once while any did; none when none was recorded.
    pub concurrency: Option<f64>,
    /// What ran beside what; of a whole device only.
    pub overlap: Option<Overlap>,
    /// Time from its first to its last work in which any range is open, or the work of one goes on; of a whole
    /// device only.
    pub in_ranges_ns: Option<i64>,
}

impl IdleRow {
    /// `GPU 0`, and whose where there are several.
    pub fn device_called(&self) -> String {
        match self.origin.called() {
            None => format!("GPU {}", self.device),
            Some(origin) => format!("GPU {} ({origin})", self.device),
        }
    }
}

/// What idle time was spent on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Causes {
    pub host_ns: i64,
    pub sync_ns: i64,
    pub copy_ns: i64,
    pub launch_ns: i64,
    pub true_gap_ns: i64,
    pub unknown_ns: i64,
}

impl Causes {
    /// What they are called.
    pub const NAMES: [&'static str; 6] = ["host", "sync", "copy", "launch", "true gap", "unknown"];

    /// In the order of their names.
    pub fn times(self) -> [i64; 6] {
        [self.host_ns, self.sync_ns, self.copy_ns, self.launch_ns, self.true_gap_ns, self.unknown_ns]
    }

    fn total(self) -> i64 {
        self.times().into_iter().fold(0, i64::saturating_add)
    }

    fn add(&mut self, other: Self) {
        for (mine, theirs) in [
            (&mut self.host_ns, other.host_ns),
            (&mut self.sync_ns, other.sync_ns),
            (&mut self.copy_ns, other.copy_ns),
            (&mut self.launch_ns, other.launch_ns),
            (&mut self.true_gap_ns, other.true_gap_ns),
            (&mut self.unknown_ns, other.unknown_ns),
        ] {
            *mine = mine.saturating_add(theirs);
        }
    }

    fn shares(self, whole: i64) -> Vec<(&'static str, f64)> {
        let mut shares: Vec<(&'static str, f64)> = Self::NAMES
            .into_iter()
            .zip(self.times())
            .filter(|(_, ns)| *ns > 0)
            .map(|(name, ns)| (name, ns as f64 / whole.max(1) as f64))
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }
}

/// What adds up for a device or a region on it.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    /// The ends of its own work so far, and of its own kernels.
    until: Option<i64>,
    kernels_until: Option<i64>,
    busy_ns: i64,
    kernel_busy_ns: i64,
    kernel_ns: i64,
    causes: Causes,
    delays: u64,
    delay_ns: i64,
    delay_max_ns: i64,
    starts: u64,
    ahead: u64,
    ahead_max: u64,
}

/// Every device in all, then each of its regions that had work on it.
pub fn idle(trace: &Trace, attribution: &Attribution, families: &Families) -> Vec<IdleRow> {
    let told = vec![true; attribution.tree.nodes.len()];
    IdleTable::of(trace, attribution, families).rows(&told).collect()
}

/// The same in numbers: names are for the rows that are told.
#[derive(Debug)]
pub(crate) struct IdleTable<'t> {
    trace: &'t Trace,
    tree: &'t Tree,
    devices: Vec<OfDevice>,
}

#[derive(Debug)]
struct OfDevice {
    all: Sum,
    overlap: Overlap,
    in_ranges_ns: i64,
    /// In the order of the tree.
    regions: Vec<(u32, Sum)>,
}

impl<'t> IdleTable<'t> {
    pub(crate) fn of(trace: &'t Trace, attribution: &'t Attribution, families: &Families) -> Self {
        let tree = &attribution.tree;
        let mut rank = vec![0u32; tree.nodes.len()];
        for (at, node) in tree.order(trace).into_iter().enumerate() {
            rank[node as usize] = at as u32;
        }
        let waits = Waits::of(trace);
        let mut by_device: Vec<Vec<u32>> = vec![Vec::new(); trace.devices.len()];
        for (activity, device) in trace.activities.device.iter().enumerate() {
            // Pages move while a kernel waits for them, or while the host has what it needs: either
            // way they are no work that the program gave to the device.
            if trace.activities.kind[activity] != ActivityKind::Migration {
                by_device[usize::from(*device)].push(activity as u32);
            }
        }
        let communicates: Vec<bool> = families
            .indices_of_launches(trace)
            .into_iter()
            .map(|at| families.name(at) == COMMUNICATION)
            .collect();
        let in_ranges = times_of_ranges(trace, attribution);
        let mut regions = ByNode::new(tree.nodes.len());
        let of_device = |mut activities: Vec<u32>| {
            let begin = |activity: &u32| trace.activities.begin[*activity as usize];
            if !activities.is_sorted_by_key(begin) {
                activities.sort_by_key(begin);
            }
            let mut walk =
                Walk { trace, attribution, tree, waits: &waits, all: Sum::default(), regions: &mut regions };
            walk.gaps(&activities);
            walk.ahead(&activities);
            let all = walk.all;
            let span = activities.first().map(begin).zip(all.until);
            let mut regions = regions.take();
            regions.sort_unstable_by_key(|(node, _)| rank[*node as usize]);
            OfDevice {
                all,
                overlap: overlap(trace, &activities, &communicates),
                in_ranges_ns: span.map_or(0, |span| within(&in_ranges, span)),
                regions,
            }
        };
        Self { trace, tree, devices: by_device.into_iter().map(of_device).collect() }
    }

    /// By region: the most time that a device was at it or waited in it.
    pub(crate) fn times(&self) -> Vec<i64> {
        let mut times = vec![0i64; self.tree.nodes.len()];
        for (node, sum) in self.devices.iter().flat_map(|device| &device.regions) {
            let time = &mut times[*node as usize];
            *time = (*time).max(sum.busy_ns.saturating_add(sum.causes.total()));
        }
        times
    }

    /// Of all devices, and of those regions that are told.
    pub(crate) fn rows<'a>(&'a self, told: &'a [bool]) -> impl Iterator<Item = IdleRow> + 'a {
        (0u16..).zip(&self.devices).zip(&self.trace.devices).flat_map(move |((number, of), device)| {
            let origin = Origin::of_device(self.trace, number);
            let whole = IdleRow {
                overlap: Some(of.overlap),
                in_ranges_ns: Some(of.in_ranges_ns),
                ..row(device, origin, None, &of.all)
            };
            let regions = of.regions.iter().filter(move |(node, _)| told[*node as usize]);
            let path = |node: u32| Some(self.tree.path(self.trace, node).to_string());
            std::iter::once(whole)
                .chain(regions.map(move |(node, sum)| row(device, origin, path(*node), sum)))
        })
    }

    /// How many rows are left out.
    pub(crate) fn more(&self, told: &[bool]) -> u64 {
        let regions = self.devices.iter().flat_map(|device| &device.regions);
        regions.filter(|(node, _)| !told[*node as usize]).count() as u64
    }
}

fn row(device: &Device, origin: Origin, region: Option<String>, sum: &Sum) -> IdleRow {
    let whole = sum.busy_ns.saturating_add(sum.causes.total());
    IdleRow {
        device: device.id,
        origin,
        device_name: device.name.clone(),
        region,
        busy_ns: sum.busy_ns,
        idle_ns: sum.causes.total(),
        busy_share: sum.busy_ns as f64 / whole.max(1) as f64,
        causes: sum.causes,
        cause_shares: sum.causes.shares(whole),
        queue_delay_mean_ns: sum.delay_ns as f64 / sum.delays.max(1) as f64,
        queue_delay_max_ns: sum.delay_max_ns,
        launch_ahead_mean: sum.ahead as f64 / sum.starts.max(1) as f64,
        launch_ahead_max: sum.ahead_max,
        concurrency: (sum.kernel_ns > 0).then(|| sum.kernel_ns as f64 / sum.kernel_busy_ns.max(1) as f64),
        overlap: None,
        in_ranges_ns: None,
    }
}

struct Walk<'t> {
    trace: &'t Trace,
    attribution: &'t Attribution,
    tree: &'t Tree,
    waits: &'t Waits,
    all: Sum,
    regions: &'t mut ByNode,
}

/// Sums of those regions that had anything, of one device after another.
struct ByNode {
    /// By region: its place, or [`NONE`].
    place: Vec<u32>,
    sums: Vec<(u32, Sum)>,
}

impl ByNode {
    fn new(nodes: usize) -> Self {
        Self { place: vec![NONE; nodes], sums: Vec::new() }
    }

    fn sum(&mut self, node: u32) -> &mut Sum {
        let place = &mut self.place[node as usize];
        if *place == NONE {
            *place = self.sums.len() as u32;
            self.sums.push((node, Sum::default()));
        }
        &mut self.sums[*place as usize].1
    }

    /// Leaves nothing behind.
    fn take(&mut self) -> Vec<(u32, Sum)> {
        let sums = std::mem::take(&mut self.sums);
        sums.iter().for_each(|(node, _)| self.place[*node as usize] = NONE);
        sums
    }
}

impl Sum {
    /// One activity, and the gap before it.
    fn take(&mut self, begin: i64, end: i64, is_kernel: bool, delay: Option<i64>, causes: Causes) {
        self.causes.add(causes);
        self.busy_ns = self.busy_ns.saturating_add(extend(&mut self.until, begin, end));
        if is_kernel {
            let fresh = extend(&mut self.kernels_until, begin, end);
            self.kernel_busy_ns = self.kernel_busy_ns.saturating_add(fresh);
            self.kernel_ns = self.kernel_ns.saturating_add(end.saturating_sub(begin));
        }
        if let Some(delay) = delay {
            self.delays += 1;
            self.delay_ns = self.delay_ns.saturating_add(delay);
            self.delay_max_ns = self.delay_max_ns.max(delay);
        }
    }
}

impl Walk<'_> {
    /// The device, and every push/pop region an activity lies in.
    fn each(&mut self, activity: u32, mut what: impl FnMut(&mut Sum)) {
        what(&mut self.all);
        for plane in &self.attribution.planes {
            let mut node = match plane.range[activity as usize] {
                NONE => None,
                range => Some(self.tree.node_of[range as usize]),
            };
            while let Some(here) = node {
                what(self.regions.sum(here));
                node = self.tree.nodes[here as usize].parent;
            }
        }
    }

    /// Through time once: busy stretches and the gaps between them.
    fn gaps(&mut self, order: &[u32]) {
        let activities = &self.trace.activities;
        let ranges = &self.trace.ranges;
        for activity in order {
            let at = *activity as usize;
            let (begin, end) = (activities.begin[at], activities.end[at].max(activities.begin[at]));
            let recorded = recorded_since(&self.trace.windows, begin);
            let gap = self.all.until.map(|until| until.max(recorded)).filter(|until| *until < begin);
            let is_kernel = activities.kind[at] == ActivityKind::Kernel;
            let call = self.attribution.call[at];
            let delay =
                (call != NONE).then(|| begin.saturating_sub(self.trace.calls.begin[call as usize]).max(0));
            let causes = gap.map(|from| self.causes(*activity, from, begin)).unwrap_or_default();
            self.all.take(begin, end, is_kernel, delay, causes);
            for plane in &self.attribution.planes {
                let mut range = Some(plane.range[at]).filter(|range| *range != NONE);
                while let Some(here) = range {
                    let node = self.tree.node_of[here as usize];
                    range = ranges.parent[here as usize];
                    let from =
                        gap.map(|from| from.max(ranges.begin[here as usize])).filter(|from| *from < begin);
                    let causes = from.map(|from| self.causes(*activity, from, begin)).unwrap_or_default();
                    self.regions.sum(node).take(begin, end, is_kernel, delay, causes);
                }
            }
        }
    }

    /// Why nothing ran from `from` to `to`, when `activity` began.
    fn causes(&self, activity: u32, from: i64, to: i64) -> Causes {
        let mut causes = Causes::default();
        let gap = to.saturating_sub(from);
        let call = self.attribution.call[activity as usize];
        if call == NONE {
            causes.unknown_ns = gap;
            return causes;
        }
        let called = self.trace.calls.begin[call as usize];
        if called <= from {
            let place =
                if gap <= LAUNCH_LATENCY_NS { &mut causes.launch_ns } else { &mut causes.true_gap_ns };
            *place = gap;
            return causes;
        }
        let called = called.min(to);
        causes.launch_ns = to.saturating_sub(called);
        let thread = self.trace.calls.thread[call as usize];
        (causes.sync_ns, causes.copy_ns) = self.waits.within(thread, from, called);
        causes.host_ns =
            called.saturating_sub(from).saturating_sub(causes.sync_ns).saturating_sub(causes.copy_ns).max(0);
        causes
    }

    /// How much was under way at each start.
    fn ahead(&mut self, order: &[u32]) {
        let activities = &self.trace.activities;
        let called = |activity: &u32| match self.attribution.call[*activity as usize] {
            NONE => None,
            call => Some(self.trace.calls.begin[call as usize]),
        };
        let mut starts: Vec<(i64, u32)> =
            order.iter().filter_map(|activity| Some((called(activity)?, *activity))).collect();
        let mut ends: Vec<i64> =
            starts.iter().map(|(_, activity)| activities.end[*activity as usize]).collect();
        starts.sort_unstable();
        ends.sort_unstable();
        let mut ended = 0;
        for (number, (time, activity)) in starts.iter().enumerate() {
            while ends.get(ended).is_some_and(|end| end <= time) {
                ended += 1;
            }
            let under_way = (number + 1).saturating_sub(ended) as u64;
            self.each(*activity, |sum| {
                sum.starts += 1;
                sum.ahead += under_way;
                sum.ahead_max = sum.ahead_max.max(under_way);
            });
        }
    }
}

/// Since when all was recorded that happened up to `time`: nobody knows whether a device
/// was idle when nobody looked.
fn recorded_since(windows: &[(i64, i64)], time: i64) -> i64 {
    let next = windows.partition_point(|(begin, _)| *begin <= time);
    next.checked_sub(1).map_or(i64::MIN, |at| windows[at].0)
}

/// Adds an interval to a union that is walked in order of begins; returns what is new.
fn extend(until: &mut Option<i64>, begin: i64, end: i64) -> i64 {
    let fresh = end.saturating_sub(until.map_or(begin, |until| until.max(begin))).max(0);
    *until = Some(until.map_or(end, |until| until.max(end)));
    fresh
}
