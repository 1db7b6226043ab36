//! Launches that are alike: one kernel in one shape, started in one region, as ncu sees it: by the ranges of the
//! launching thread.

use std::collections::{HashMap, HashSet};

use nvtx::{Kind, RegionPath};
use trace::{ActivityKind, NONE, Trace, in_windows};

use super::attribution::{Attribution, attribute_as_gates_do};
use super::regions::Region;

/// All launches of one kernel in one shape and region.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchGroup {
    /// With template arguments and parameters.
    pub name: String,
    pub short_name: String,
    /// Empty if unknown.
    pub mangled: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Shared memory of a block, static and dynamic.
    pub shared: u32,
    /// The innermost region open on the launching thread: of the default domain, otherwise of the first
    /// that has one.
    pub region: Option<RegionPath>,
    pub launches: u64,
    pub gpu_ns: i64,
}

/// Every launch in the order in which the program made them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaunchGroups {
    /// The one with the most time first.
    pub groups: Vec<LaunchGroup>,
    /// By launch: its group.
    pub sequence: Vec<u32>,
    /// By launch: the kernel's time.
    pub gpu_ns: Vec<i64>,
    /// By launch: when it was made, as the trace counts.
    pub at_ns: Vec<i64>,
    /// By launch: its row in [`trace::Activities`].
    pub activity: Vec<u32>,
}

impl LaunchGroups {
    pub fn total_ns(&self) -> i64 {
        self.gpu_ns.iter().sum()
    }

    /// Only some of the launches, by their number.
    #[must_use]
    pub fn only(&self, keep: impl Fn(usize) -> bool) -> Self {
        let mut kept = Self::default();
        let mut place: HashMap<u32, u32> = HashMap::new();
        for launch in (0..self.sequence.len()).filter(|launch| keep(*launch)) {
            let old = self.sequence[launch];
            let group = *place.entry(old).or_insert_with(|| {
                kept.groups.push(LaunchGroup { launches: 0, gpu_ns: 0, ..self.groups[old as usize].clone() });
                kept.groups.len() as u32 - 1
            });
            kept.push(group, self.gpu_ns[launch], self.at_ns[launch], self.activity[launch]);
        }
        by_time(kept)
    }

    fn push(&mut self, group: u32, gpu_ns: i64, at_ns: i64, activity: u32) {
        self.groups[group as usize].launches += 1;
        self.groups[group as usize].gpu_ns += gpu_ns;
        self.sequence.push(group);
        self.gpu_ns.push(gpu_ns);
        self.at_ns.push(at_ns);
        self.activity.push(activity);
    }
}

/// Kernels that are hidden are left out.
pub fn launch_groups(trace: &Trace) -> LaunchGroups {
    let attribution = attribute_as_gates_do(trace);
    let activities = &trace.activities;
    let started = |activity: usize| match attribution.call[activity] {
        NONE => activities.begin[activity],
        call => trace.calls.begin[call as usize],
    };
    let mut order: Vec<usize> = (0..activities.len())
        .filter(|activity| {
            activities.kind[*activity] == ActivityKind::Kernel && activities.is_shown_kernel(*activity)
        })
        .collect();
    // Kernels of one graph launch have one call.
    order.sort_by_key(|activity| (started(*activity), activities.begin[*activity]));
    let mut known: HashMap<(u32, u32), u32> = HashMap::new();
    let mut all = LaunchGroups::default();
    for activity in order {
        let key = (activities.detail[activity], region_of(trace, &attribution, activity));
        let group = *known.entry(key).or_insert_with(|| {
            all.groups.push(group(trace, &attribution, key));
            all.groups.len() as u32 - 1
        });
        all.push(group, activities.duration(activity), started(activity), activity as u32);
    }
    by_time(all)
}

fn by_time(mut all: LaunchGroups) -> LaunchGroups {
    let mut order: Vec<u32> = (0..all.groups.len() as u32).collect();
    order.sort_by_key(|group| (std::cmp::Reverse(all.groups[*group as usize].gpu_ns), *group));
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, group)| place[*group as usize] = at as u32);
    all.groups = order.iter().map(|group| all.groups[*group as usize].clone()).collect();
    all.sequence.iter_mut().for_each(|group| *group = place[*group as usize]);
    all
}

/// The node of the innermost range, or [`NONE`]. The default domain's name is empty, and counts
/// first.
pub(crate) fn region_of(trace: &Trace, attribution: &Attribution, activity: usize) -> u32 {
    let planes = attribution.planes.iter().filter(|plane| plane.range[activity] != NONE);
    let first = planes.min_by_key(|plane| !trace.strings.text(plane.domain).is_empty());
    first.map_or(NONE, |plane| attribution.tree.node_of[plane.range[activity] as usize])
}

fn group(trace: &Trace, attribution: &Attribution, (launch, node): (u32, u32)) -> LaunchGroup {
    let launch = &trace.activities.launches[launch as usize];
    let text = |id| trace.strings.text(id).to_owned();
    LaunchGroup {
        name: text(launch.name),
        short_name: text(launch.short_name),
        mangled: text(launch.mangled),
        grid: launch.grid,
        block: launch.block,
        shared: launch.static_shared.saturating_add(launch.dynamic_shared),
        region: (node != NONE).then(|| attribution.tree.path(trace, node)),
        launches: 0,
        gpu_ns: 0,
    }
}

/// By launch: whether it was made in one of these regions, or below it. ncu looks at the stack of the
/// launching thread; `any_thread` counts what any thread of the process did meanwhile.
pub fn launches_in(
    trace: &Trace,
    launches: &LaunchGroups,
    regions: &[&Region],
    any_thread: bool,
) -> Vec<bool> {
    let attribution = attribute_as_gates_do(trace);
    let tree = &attribution.tree;
    let wanted: HashSet<(Kind, &RegionPath)> =
        regions.iter().map(|region| (region.kind, &region.path)).collect();
    let is_it: Vec<bool> = (0..tree.nodes.len() as u32)
        .map(|node| wanted.contains(&(tree.nodes[node as usize].kind, &tree.path(trace, node))))
        .collect();
    let by_time = |node: usize| is_it[node] && (tree.nodes[node].kind == Kind::StartEnd || any_thread);
    let mut stretches: HashMap<u32, Vec<(i64, i64)>> = HashMap::new();
    for range in (0..trace.ranges.len()).filter(|range| by_time(tree.node_of[*range] as usize)) {
        let process = trace.process_of(trace.ranges.thread[range]);
        stretches.entry(process).or_default().push((trace.ranges.begin[range], trace.ranges.end[range]));
    }
    let windows: HashMap<u32, Vec<(i64, i64)>> =
        stretches.into_iter().map(|(process, of)| (process, Trace::windows_of(of))).collect();
    let mut below = vec![false; tree.nodes.len()];
    for node in 0..tree.nodes.len() {
        // Parents come first.
        below[node] = is_it[node] && !by_time(node)
            || tree.nodes[node].parent.is_some_and(|parent| below[parent as usize]);
    }
    let inside = |(activity, at): (&u32, &i64)| {
        let process = trace.activities.process[*activity as usize];
        windows.get(&process).is_some_and(|windows| in_windows(windows, *at))
            || attribution.planes.iter().any(|plane| match plane.range[*activity as usize] {
                NONE => false,
                range => below[tree.node_of[range as usize] as usize],
            })
    };
    launches.activity.iter().zip(&launches.at_ns).map(inside).collect()
}
