//! One walk through the work of a device: busy stretches, and the gaps between them.

use trace::{ActivityKind, NONE, Trace};

use super::waits::Waits;
use crate::attribute::{Attribution, Tree};
use crate::idle_causes::Causes;

/// From kernel to kernel a device takes a microsecond or two; a queued one that takes
/// longer than this waits for something.
const LAUNCH_LATENCY_NS: i64 = 10_000;

/// What adds up for a device or a region on it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    /// The ends of its own work so far, and of its own kernels.
    pub(super) until: Option<i64>,
    pub(super) kernels_until: Option<i64>,
    pub(super) busy_ns: i64,
    pub(super) kernel_busy_ns: i64,
    pub(super) kernel_ns: i64,
    pub(super) causes: Causes,
    pub(super) delays: u64,
    pub(super) delay_ns: i64,
    pub(super) delay_max_ns: i64,
    pub(super) starts: u64,
    pub(super) ahead: u64,
    pub(super) ahead_max: u64,
}

pub(super) struct Walk<'t> {
    pub(super) trace: &'t Trace,
    pub(super) attribution: &'t Attribution,
    pub(super) tree: &'t Tree,
    pub(super) waits: &'t Waits,
    pub(super) all: Sum,
    pub(super) regions: &'t mut ByNode,
}

/// Sums of those regions that had anything, of one device after another.
pub(super) struct ByNode {
    /// By region: its place, or [`NONE`].
    place: Vec<u32>,
    sums: Vec<(u32, Sum)>,
}

impl ByNode {
    pub(super) fn new(nodes: usize) -> Self {
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
    pub(super) fn take(&mut self) -> Vec<(u32, Sum)> {
        let sums = std::mem::take(&mut self.sums);
        sums.iter().for_each(|(node, _)| self.place[*node as usize] = NONE);
        sums
    }
}

impl Sum {
    /// One activity, and the gap before it.
    fn add(&mut self, begin: i64, end: i64, is_kernel: bool, delay: Option<i64>, causes: Causes) {
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
    fn for_each_sum(&mut self, activity: u32, mut change: impl FnMut(&mut Sum)) {
        change(&mut self.all);
        for plane in &self.attribution.planes {
            let mut node = match plane.range[activity as usize] {
                NONE => None,
                range => Some(self.tree.node_of[range as usize]),
            };
            while let Some(here) = node {
                change(self.regions.sum(here));
                node = self.tree.nodes[here as usize].parent;
            }
        }
    }

    /// Through time once: busy stretches and the gaps between them. While the device was busy with work that was
    /// `left_out`, it was not idle: a gap begins when that work ended.
    pub(super) fn gaps(&mut self, order: &[u32], left_out: &[(i64, i64)]) {
        let mut left_out = left_out.iter().peekable();
        let mut other_until = i64::MIN;
        let activities = &self.trace.activities;
        let ranges = &self.trace.ranges;
        for activity in order {
            let at = *activity as usize;
            let (begin, end) = (activities.begin[at], activities.end[at].max(activities.begin[at]));
            let recorded = recorded_since(&self.trace.windows, begin);
            while let Some((_, end)) = left_out.next_if(|(other, _)| *other < begin) {
                other_until = *end;
            }
            let since = self.all.until.map(|until| until.max(recorded).max(other_until));
            let gap = since.filter(|since| *since < begin);
            let is_kernel = activities.kind[at] == ActivityKind::Kernel;
            let call = self.attribution.call[at];
            let delay =
                (call != NONE).then(|| begin.saturating_sub(self.trace.calls.begin[call as usize]).max(0));
            let causes = gap.map(|from| self.causes(*activity, from, begin)).unwrap_or_default();
            self.all.add(begin, end, is_kernel, delay, causes);
            for plane in &self.attribution.planes {
                let mut range = Some(plane.range[at]).filter(|range| *range != NONE);
                while let Some(here) = range {
                    let node = self.tree.node_of[here as usize];
                    range = ranges.parent[here as usize];
                    let from =
                        gap.map(|from| from.max(ranges.begin[here as usize])).filter(|from| *from < begin);
                    let causes = from.map(|from| self.causes(*activity, from, begin)).unwrap_or_default();
                    self.regions.sum(node).add(begin, end, is_kernel, delay, causes);
                }
            }
        }
    }

    fn causes(&self, activity: u32, from: i64, to: i64) -> Causes {
        gap_causes(self.trace, self.attribution, self.waits, activity, from, to)
    }

    /// How much was under way at each start.
    pub(super) fn ahead(&mut self, order: &[u32]) {
        let activities = &self.trace.activities;
        let called = |activity: &u32| match self.attribution.call[*activity as usize] {
            NONE => None,
            call => Some(self.trace.calls.begin[call as usize]),
        };
        let mut starts: Vec<(i64, u32)> =
            order.iter().filter_map(|activity| Some((called(activity)?, *activity))).collect();
        let mut ends: Vec<i64> =
            starts.iter().map(|(_, activity)| activities.end[*activity as usize]).collect();
        // Almost in order: what is stable is quicker here.
        starts.sort();
        ends.sort();
        let mut ended = 0;
        for (number, (time, activity)) in starts.iter().enumerate() {
            while ends.get(ended).is_some_and(|end| end <= time) {
                ended += 1;
            }
            let under_way = (number + 1).saturating_sub(ended) as u64;
            self.for_each_sum(*activity, |sum| {
                sum.starts += 1;
                sum.ahead += under_way;
                sum.ahead_max = sum.ahead_max.max(under_way);
            });
        }
    }
}

/// Why nothing ran from `from` to `to`, when `activity` began.
pub(crate) fn gap_causes(
    trace: &Trace,
    attribution: &Attribution,
    waits: &Waits,
    activity: u32,
    from: i64,
    to: i64,
) -> Causes {
    let mut causes = Causes::default();
    let gap = to.saturating_sub(from);
    let call = attribution.call[activity as usize];
    if call == NONE {
        causes.unknown_ns = gap;
        return causes;
    }
    let called = trace.calls.begin[call as usize];
    if called <= from {
        let place = if gap <= LAUNCH_LATENCY_NS { &mut causes.launch_ns } else { &mut causes.true_gap_ns };
        *place = gap;
        return causes;
    }
    let called = called.min(to);
    causes.launch_ns = to.saturating_sub(called);
    let thread = trace.calls.thread[call as usize];
    (causes.sync_ns, causes.copy_ns) = waits.within(thread, from, called);
    causes.host_ns =
        called.saturating_sub(from).saturating_sub(causes.sync_ns).saturating_sub(causes.copy_ns).max(0);
    causes
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
