//! Nodes of CUDA graphs, each time they ran.

use trace::{Activities, ActivityKind, NONE, StringId, Trace};

use super::attribution::{Attribution, calls_of};
use super::launch_groups::region_of;

/// One node of one launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replay {
    /// Its place in [`Trace::activities`]; None for what is set apart as a sample.
    pub(crate) activity: Option<u32>,
    pub(crate) process: u32,
    pub(crate) device: u16,
    pub(crate) stream: u32,
    /// Its id; 0 if it was not recorded.
    pub(crate) node: u64,
    /// The launch, as a number that no other launch has; None for what the device launched itself.
    pub(crate) launch: Option<(u32, u32)>,
    pub(crate) begin: i64,
    pub(crate) end: i64,
    pub(crate) work: Replayed,
    /// The region that launched it.
    pub(crate) region: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replayed {
    /// By its bare name.
    Kernel(StringId),
    /// One that tables do not count.
    HiddenKernel,
    Copy,
}

impl Replay {
    pub(crate) fn ns(&self) -> i64 {
        self.end.saturating_sub(self.begin).max(0)
    }

    /// The instance of the graph.
    pub(crate) fn graph(&self) -> u32 {
        (self.node >> 32) as u32
    }
}

/// All of them, launch by launch; also those that are set apart as samples.
pub(crate) fn replays(trace: &Trace, attribution: &Attribution) -> Vec<Replay> {
    let mut all = Vec::new();
    let region =
        |activity: usize| Some(region_of(trace, attribution, activity)).filter(|region| *region != NONE);
    let own = |activity: usize| (Some(activity as u32), region(activity));
    add(trace, &trace.activities, &attribution.call, own, &mut all);
    let samples = &trace.graph_samples;
    // The launch as a whole has its region.
    add(trace, samples, &calls_of(trace, samples), |_| (None, None), &mut all);
    all.sort_by_key(|replay| (replay.launch, replay.begin));
    all
}

fn add(
    trace: &Trace,
    activities: &Activities,
    calls: &[u32],
    place: impl Fn(usize) -> (Option<u32>, Option<u32>),
    all: &mut Vec<Replay>,
) {
    let is_node = |at: &usize| activities.in_graph[*at] && activities.kind[*at] != ActivityKind::Graph;
    all.extend((0..activities.len()).filter(is_node).map(|at| {
        let (process, call) = (activities.process[at], calls[at]);
        let launch = trace.activities.launches.get(activities.detail[at] as usize);
        let work = match (activities.kind[at], launch) {
            (ActivityKind::Kernel, Some(launch)) if !launch.hidden => Replayed::Kernel(launch.short_name),
            (ActivityKind::Kernel, _) => Replayed::HiddenKernel,
            _ => Replayed::Copy,
        };
        let (activity, region) = place(at);
        Replay {
            activity,
            process,
            device: activities.device[at],
            stream: activities.stream[at],
            node: activities.node[at],
            launch: match (call, activities.correlation[at]) {
                (NONE, NONE) => None,
                (NONE, correlation) => Some((process, correlation)),
                (call, _) => Some((u32::MAX, call)),
            },
            begin: activities.begin[at],
            end: activities.end[at],
            work,
            region,
        }
    }));
}
