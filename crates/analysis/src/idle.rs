//! Where the time goes: when a device is idle, and what it waits for.
//!
//! A gap lies between two stretches in which a device is busy. It belongs to the region
//! of the activity that ends it, and to whatever kept that activity from starting:
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
use crate::families::Families;
use crate::summaries::{copies, synchronises};
use crate::tree::Tree;

/// From kernel to kernel a device takes a microsecond or two; a queued one that takes
/// longer than this waits for something.
const LAUNCH_LATENCY_NS: i64 = 10_000;

/// One device, in all or in one region.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdleRow {
    pub device: u32,
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
    pub queue_delay_mean_ns: f64,
    pub queue_delay_max_ns: i64,
    /// Activities that were started and not finished, counted at each start.
    pub launch_ahead_mean: f64,
    pub launch_ahead_max: u64,
    /// Kernels running at once while any did; none when none was recorded.
    pub concurrency: Option<f64>,
    /// Time in which copies ran beside kernels, and communication beside other kernels.
    pub copy_overlap_ns: i64,
    pub communication_ns: i64,
    pub communication_overlap_ns: i64,
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
    fn total(self) -> i64 {
        [self.host_ns, self.sync_ns, self.copy_ns, self.launch_ns, self.true_gap_ns, self.unknown_ns]
            .into_iter()
            .fold(0, i64::saturating_add)
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
        let mut shares: Vec<(&'static str, f64)> = [
            ("host", self.host_ns),
            ("sync", self.sync_ns),
            ("copy", self.copy_ns),
            ("launch", self.launch_ns),
            ("true gap", self.true_gap_ns),
            ("unknown", self.unknown_ns),
        ]
        .into_iter()
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
    copy_overlap_ns: i64,
    communication_ns: i64,
    communication_overlap_ns: i64,
}

/// Every device in all, then each of its regions that had work on it.
pub fn idle(trace: &Trace, attribution: &Attribution, families: &Families) -> Vec<IdleRow> {
    let tree = Tree::of(trace);
    let order = tree.order(trace);
    let waits = Waits::of(trace);
    let mut by_device: Vec<Vec<u32>> = vec![Vec::new(); trace.devices.len()];
    for (activity, device) in trace.activities.device.iter().enumerate() {
        by_device[usize::from(*device)].push(activity as u32);
    }
    let communicates: Vec<bool> = trace
        .activities
        .launches
        .iter()
        .map(|launch| families.of(trace.strings.text(launch.name)) == "communication")
        .collect();
    let mut rows = Vec::new();
    for (device, mut activities) in by_device.into_iter().enumerate() {
        let begin = |activity: &u32| trace.activities.begin[*activity as usize];
        if !activities.is_sorted_by_key(begin) {
            activities.sort_by_key(begin);
        }
        let mut walk = Walk {
            trace,
            attribution,
            tree: &tree,
            waits: &waits,
            communicates: &communicates,
            all: Sum::default(),
            regions: HashMap::new(),
        };
        walk.gaps(&activities);
        walk.ahead(&activities);
        let device = &trace.devices[device];
        let row = |region: Option<String>, sum: &Sum| {
            let whole = sum.busy_ns.saturating_add(sum.causes.total());
            IdleRow {
                device: device.id,
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
                copy_overlap_ns: sum.copy_overlap_ns,
                communication_ns: sum.communication_ns,
                communication_overlap_ns: sum.communication_overlap_ns,
            }
        };
        rows.push(row(None, &walk.all));
        for node in &order {
            if let Some(sum) = walk.regions.get(node) {
                rows.push(row(Some(tree.path(trace, *node).to_string()), sum));
            }
        }
    }
    rows
}

struct Walk<'t> {
    trace: &'t Trace,
    attribution: &'t Attribution,
    tree: &'t Tree,
    waits: &'t Waits,
    communicates: &'t [bool],
    all: Sum,
    regions: HashMap<u32, Sum>,
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
                what(self.regions.entry(here).or_default());
                node = self.tree.nodes[here as usize].parent;
            }
        }
    }

    /// Through time once: busy stretches, the gaps between them, overlaps.
    fn gaps(&mut self, order: &[u32]) {
        let activities = &self.trace.activities;
        let mut until = None;
        let (mut kernels, mut copies, mut communication, mut computing) = (None, None, None, None);
        for activity in order {
            let at = *activity as usize;
            let (begin, end) = (activities.begin[at], activities.end[at].max(activities.begin[at]));
            let mut found = Sum::default();
            if let Some(until) = until
                && until < begin
            {
                found.causes = self.causes(*activity, until, begin);
            }
            found.busy_ns = extend(&mut until, begin, end);
            match activities.kind[at] {
                ActivityKind::Kernel => {
                    found.kernel_ns = end - begin;
                    found.copy_overlap_ns = shared(copies, begin, end);
                    found.kernel_busy_ns = extend(&mut kernels, begin, end);
                    if self.communicates[activities.detail[at] as usize] {
                        found.communication_overlap_ns = shared(computing, begin, end);
                        found.communication_ns = extend(&mut communication, begin, end);
                    } else {
                        found.communication_overlap_ns = shared(communication, begin, end);
                        extend(&mut computing, begin, end);
                    }
                }
                ActivityKind::Copy | ActivityKind::Fill => {
                    found.copy_overlap_ns = shared(kernels, begin, end);
                    extend(&mut copies, begin, end);
                }
                ActivityKind::Graph => found.kernel_busy_ns = extend(&mut kernels, begin, end),
            }
            let call = self.attribution.call[at];
            if call != NONE {
                found.delays = 1;
                found.delay_ns = begin.saturating_sub(self.trace.calls.begin[call as usize]).max(0);
                found.delay_max_ns = found.delay_ns;
            }
            self.each(*activity, |sum| {
                sum.busy_ns = sum.busy_ns.saturating_add(found.busy_ns);
                sum.kernel_ns = sum.kernel_ns.saturating_add(found.kernel_ns);
                sum.kernel_busy_ns = sum.kernel_busy_ns.saturating_add(found.kernel_busy_ns);
                sum.causes.add(found.causes);
                sum.delays += found.delays;
                sum.delay_ns = sum.delay_ns.saturating_add(found.delay_ns);
                sum.delay_max_ns = sum.delay_max_ns.max(found.delay_max_ns);
                sum.copy_overlap_ns = sum.copy_overlap_ns.saturating_add(found.copy_overlap_ns);
                sum.communication_ns = sum.communication_ns.saturating_add(found.communication_ns);
                sum.communication_overlap_ns =
                    sum.communication_overlap_ns.saturating_add(found.communication_overlap_ns);
            });
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
        causes.launch_ns = to - called;
        let thread = self.trace.calls.thread[call as usize];
        (causes.sync_ns, causes.copy_ns) = self.waits.within(thread, from, called);
        causes.host_ns = (called - from).saturating_sub(causes.sync_ns).saturating_sub(causes.copy_ns).max(0);
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

/// Adds an interval to a union that is walked in order of begins; returns what is new.
fn extend(until: &mut Option<i64>, begin: i64, end: i64) -> i64 {
    let fresh = end.saturating_sub(until.map_or(begin, |until| until.max(begin))).max(0);
    *until = Some(until.map_or(end, |until| until.max(end)));
    fresh
}

/// What an interval shares with a union that began before it.
fn shared(until: Option<i64>, begin: i64, end: i64) -> i64 {
    until.map_or(0, |until| until.min(end).saturating_sub(begin).max(0))
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
