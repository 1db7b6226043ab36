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

use std::collections::HashMap;

use serde::Serialize;
use trace::{ActivityKind, NONE, StringId, Trace};

use crate::attribute::Attribution;
use crate::families::{COMMUNICATION, Families};
use crate::origin::Origin;
use crate::range_time::{times_of_ranges, within};
use crate::summaries::{copies, synchronises};
use crate::tree::Tree;

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

/// Time in which two kinds of work ran at once on a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Overlap {
    /// Copies and fills, and of that beside kernels.
    pub copy_ns: i64,
    pub copy_beside_kernels_ns: i64,
    /// Communication, and of that beside other kernels.
    pub communication_ns: i64,
    pub communication_beside_kernels_ns: i64,
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
    let tree = &attribution.tree;
    let mut rank = vec![0u32; tree.nodes.len()];
    for (at, node) in tree.order(trace).into_iter().enumerate() {
        rank[node as usize] = at as u32;
    }
    let waits = Waits::of(trace);
    let mut by_device: Vec<Vec<u32>> = vec![Vec::new(); trace.devices.len()];
    for (activity, device) in trace.activities.device.iter().enumerate() {
        // Pages move while a kernel waits for them, or while the host has what it needs: either way
        // they are no work that the program gave to the device.
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
    let mut rows = Vec::new();
    for (device, mut activities) in by_device.into_iter().enumerate() {
        let begin = |activity: &u32| trace.activities.begin[*activity as usize];
        if !activities.is_sorted_by_key(begin) {
            activities.sort_by_key(begin);
        }
        let mut walk = Walk {
            trace,
            attribution,
            tree,
            waits: &waits,
            all: Sum::default(),
            regions: ByNode::new(tree.nodes.len(), trace.devices.len()),
        };
        walk.gaps(&activities);
        walk.ahead(&activities);
        let origin = Origin::of_device(trace, u16::try_from(device).unwrap_or(u16::MAX));
        let device = &trace.devices[device];
        let row = |region: Option<String>, sum: &Sum| {
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
                concurrency: (sum.kernel_ns > 0)
                    .then(|| sum.kernel_ns as f64 / sum.kernel_busy_ns.max(1) as f64),
                overlap: None,
                in_ranges_ns: None,
            }
        };
        let overlap = overlap(trace, &activities, &communicates);
        let span = activities.first().map(begin).zip(walk.all.until);
        let in_ranges_ns = Some(span.map_or(0, |span| within(&in_ranges, span)));
        rows.push(IdleRow { overlap: Some(overlap), in_ranges_ns, ..row(None, &walk.all) });
        let mut regions = walk.regions.used();
        regions.sort_by_key(|(node, _)| rank[*node as usize]);
        for (node, sum) in regions {
            rows.push(row(Some(tree.path(trace, node).to_string()), &sum));
        }
    }
    rows
}

struct Walk<'t> {
    trace: &'t Trace,
    attribution: &'t Attribution,
    tree: &'t Tree,
    waits: &'t Waits,
    all: Sum,
    regions: ByNode,
}

/// Sums of regions: in a plain table, unless there are too many devices for one each.
enum ByNode {
    Dense(Vec<Option<Sum>>),
    Sparse(HashMap<u32, Sum>),
}

impl ByNode {
    fn new(nodes: usize, devices: usize) -> Self {
        if nodes.saturating_mul(devices) <= 1 << 20 {
            Self::Dense(vec![None; nodes])
        } else {
            Self::Sparse(HashMap::new())
        }
    }

    fn sum(&mut self, node: u32) -> &mut Sum {
        match self {
            Self::Dense(sums) => sums[node as usize].get_or_insert_default(),
            Self::Sparse(sums) => sums.entry(node).or_default(),
        }
    }

    /// Those that had anything.
    fn used(self) -> Vec<(u32, Sum)> {
        match self {
            Self::Dense(sums) => {
                sums.into_iter().enumerate().filter_map(|(node, sum)| Some((node as u32, sum?))).collect()
            }
            Self::Sparse(sums) => sums.into_iter().collect(),
        }
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

/// Walks every begin and end on a device and adds up what runs beside what.
fn overlap(trace: &Trace, order: &[u32], communicates: &[bool]) -> Overlap {
    let activities = &trace.activities;
    let alone = |activity: &u32| {
        let at = *activity as usize;
        match activities.kind[at] {
            ActivityKind::Copy | ActivityKind::Fill | ActivityKind::Migration => false,
            ActivityKind::Kernel => !communicates[activities.detail[at] as usize],
            ActivityKind::Graph => true,
        }
    };
    if order.iter().all(alone) {
        return Overlap::default();
    }
    // Copies, communication, other kernels.
    let mut edges: Vec<(i64, i8, usize)> = Vec::with_capacity(order.len() * 2);
    for activity in order {
        let at = *activity as usize;
        let kind = match activities.kind[at] {
            ActivityKind::Copy | ActivityKind::Fill | ActivityKind::Migration => 0,
            ActivityKind::Kernel if communicates[activities.detail[at] as usize] => 1,
            ActivityKind::Kernel | ActivityKind::Graph => 2,
        };
        let (begin, end) = (activities.begin[at], activities.end[at].max(activities.begin[at]));
        edges.extend([(begin, 1, kind), (end, -1, kind)]);
    }
    edges.sort_unstable();
    let mut running = [0i64; 3];
    let mut overlap = Overlap::default();
    let mut before = edges.first().map_or(0, |edge| edge.0);
    for (time, step, kind) in edges {
        let length = time.saturating_sub(before);
        let [copies, communication, kernels] = running.map(|count| count > 0);
        for (counts, sum) in [
            (copies, &mut overlap.copy_ns),
            (copies && (communication || kernels), &mut overlap.copy_beside_kernels_ns),
            (communication, &mut overlap.communication_ns),
            (communication && kernels, &mut overlap.communication_beside_kernels_ns),
        ] {
            if counts {
                *sum = sum.saturating_add(length);
            }
        }
        running[kind] += i64::from(step);
        before = time;
    }
    overlap
}

/// Calls that wait, by thread, in order of time.
struct Waits {
    threads: HashMap<u32, Vec<(i64, i64, bool)>>,
}

impl Waits {
    fn of(trace: &Trace) -> Self {
        let mut kinds: HashMap<StringId, (bool, bool)> = HashMap::new();
        let mut threads: HashMap<u32, Vec<(i64, i64, bool)>> = HashMap::new();
        for call in 0..trace.calls.len() {
            let name = trace.calls.name[call];
            let (syncs, copies) = *kinds.entry(name).or_insert_with(|| {
                let name = trace.strings.text(name);
                (synchronises(name), copies(name))
            });
            if syncs || copies {
                let wait = (trace.calls.begin[call], trace.calls.end[call], syncs);
                threads.entry(trace.calls.thread[call]).or_default().push(wait);
            }
        }
        for waits in threads.values_mut() {
            waits.sort_unstable();
        }
        Self { threads }
    }

    /// Time that a thread waited for the device, and for copies.
    fn within(&self, thread: u32, from: i64, to: i64) -> (i64, i64) {
        let (mut syncs, mut copies) = (0, 0);
        let Some(waits) = self.threads.get(&thread) else { return (0, 0) };
        // Calls of one thread do not overlap, so only the one before may reach in.
        let first = waits.partition_point(|(begin, _, _)| *begin < from).saturating_sub(1);
        let mut done = from;
        for (begin, end, sync) in &waits[first..] {
            if *begin >= to {
                break;
            }
            let part = (*end).min(to).saturating_sub((*begin).max(done)).max(0);
            done = done.max((*end).min(to));
            *(if *sync { &mut syncs } else { &mut copies }) += part;
        }
        (syncs, copies)
    }
}
