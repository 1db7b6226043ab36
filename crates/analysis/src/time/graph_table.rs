//! What runs inside CUDA graphs: by the ranges in which it was captured, and by graph.

use std::collections::HashMap;

use serde::Serialize;
use trace::{ActivityKind, NONE, StringId, Trace};

use crate::attribute::{Attribution, Captured, Replay, Replayed, region_of, replays};
use crate::limit::{Limit, MoreRows};
use crate::statistics::Statistics;

/// What was recorded of the replays of CUDA graphs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CudaGraphs {
    /// Longest total first.
    pub graphs: Vec<GraphRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_graphs: Option<MoreRows>,
    /// Regions in which nodes were captured, parents before their children.
    pub captured: Vec<CapturedRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_captured: Option<MoreRows>,
    /// Kernels that were recorded one by one.
    pub kernels: u64,
    pub kernel_ns: i64,
    /// Of those, captured while no range was open.
    pub outside: u64,
    pub outside_ns: i64,
    /// Of those, with a node whose capture was not recorded.
    pub unseen: u64,
    pub unseen_ns: i64,
}

/// One graph, as it is launched.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphRow {
    /// As CUDA numbers it, within its process; 0 if that was not recorded.
    pub graph: u32,
    pub process: u32,
    /// The region that launches it, where there is one.
    pub region: Option<String>,
    /// The region that all its nodes were captured in, where there is one.
    pub captured_in: Option<String>,
    /// Launches that were recorded as a whole, without disturbing it.
    pub whole: Option<Statistics>,
    /// Launches of which every node was recorded, from the first to the last of them; that makes a launch longer.
    pub by_node: Option<Statistics>,
    /// In one launch of those.
    #[serde(serialize_with = "crate::statistics::rounded")]
    pub kernels: f64,
    #[serde(serialize_with = "crate::statistics::rounded")]
    pub kernel_ns: f64,
}

impl GraphRow {
    /// How often it was launched.
    pub fn launches(&self) -> u64 {
        [&self.whole, &self.by_node].into_iter().flatten().map(|times| times.calls).sum()
    }

    /// The time of all launches.
    pub fn total_ns(&self) -> i64 {
        [&self.whole, &self.by_node]
            .into_iter()
            .flatten()
            .fold(0, |sum, times| sum.saturating_add(times.total_ns))
    }
}

/// All nodes that were captured in one region.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CapturedRow {
    pub path: String,
    pub domain: String,
    pub name: String,
    /// Of [`CudaGraphs::captured`].
    pub parent: Option<u32>,
    pub depth: u32,
    /// Graph launches in which any of its nodes ran.
    pub replays: u64,
    pub kernels: u64,
    pub kernels_exclusive: u64,
    pub gpu_ns: i64,
    pub gpu_exclusive_ns: i64,
    pub copies: u64,
    pub copy_ns: i64,
    /// Kernels in one replay, and their time.
    pub kernels_a_replay: f64,
    #[serde(serialize_with = "crate::statistics::rounded")]
    pub ns_a_replay: f64,
    /// Of the time of all kernels inside graphs.
    pub share: f64,
    pub longest_kernel: Option<String>,
}

/// None if nothing was recorded of any graph.
pub(crate) fn cuda_graphs(trace: &Trace, attribution: &Attribution, limit: Limit) -> Option<CudaGraphs> {
    let activities = &trace.activities;
    if !activities.in_graph.contains(&true) && !activities.kind.contains(&ActivityKind::Graph) {
        return None;
    }
    let replays = replays(trace, attribution);
    let captured = Captured::of(trace, attribution, &replays);
    let mut found = CudaGraphs::default();
    for (at, replay) in replays.iter().enumerate() {
        let Replayed::Kernel(_) = replay.work else { continue };
        let add = |count: &mut u64, sum: &mut i64| {
            *count += 1;
            *sum = sum.saturating_add(replay.ns());
        };
        add(&mut found.kernels, &mut found.kernel_ns);
        let node = captured.as_ref().and_then(|captured| Some((captured, captured.node(at)?)));
        match node {
            None => add(&mut found.unseen, &mut found.unseen_ns),
            Some((captured, node)) if captured.region(node).is_none() => {
                add(&mut found.outside, &mut found.outside_ns);
            }
            Some(_) => {}
        }
    }
    if let Some(captured) = &captured {
        (found.captured, found.more_captured) =
            captured_rows(trace, &replays, captured, found.kernel_ns, limit);
    }
    found.graphs = graph_rows(trace, attribution, &replays, captured.as_ref(), limit);
    let more = limit.cut(&mut found.graphs, |row| {
        row.region.as_ref().map_or(0, String::len) + row.captured_in.as_ref().map_or(0, String::len)
    });
    found.more_graphs = MoreRows::add_up(more.iter().map(|row| (row.launches(), row.total_ns())));
    Some(found)
}

/// Kernels, and copies and fills.
#[derive(Debug, Default, Clone, Copy)]
struct Work {
    kernels: u64,
    kernel_ns: i64,
    copies: u64,
    copy_ns: i64,
}

impl Work {
    fn add(&mut self, replay: &Replay) {
        let (count, ns) = match replay.work {
            Replayed::Kernel(_) => (&mut self.kernels, &mut self.kernel_ns),
            Replayed::Copy => (&mut self.copies, &mut self.copy_ns),
            Replayed::HiddenKernel => return,
        };
        *count += 1;
        *ns = ns.saturating_add(replay.ns());
    }
}

/// What one region adds up to.
#[derive(Debug, Default)]
struct Sum {
    exclusive: Work,
    inclusive: Work,
    launches: u64,
    last: Option<(u32, u32)>,
    /// Without a launch: replays of one of its nodes.
    first_node: Option<u64>,
    alone: u64,
    kernels: HashMap<StringId, i64>,
}

fn captured_rows(
    trace: &Trace,
    replays: &[Replay],
    captured: &Captured,
    all_ns: i64,
    limit: Limit,
) -> (Vec<CapturedRow>, Option<MoreRows>) {
    let tree = &captured.tree;
    let mut sums: Vec<Sum> = Vec::new();
    sums.resize_with(tree.nodes.len(), Sum::default);
    for (at, replay) in replays.iter().enumerate() {
        let Some(node) = captured.node(at) else { continue };
        for region in captured.regions(node) {
            sums[region as usize].exclusive.add(replay);
            if let Replayed::Kernel(name) = replay.work {
                let ns = sums[region as usize].kernels.entry(name).or_default();
                *ns = ns.saturating_add(replay.ns());
            }
            for around in std::iter::successors(Some(region), |at| tree.nodes[*at as usize].parent) {
                let sum = &mut sums[around as usize];
                sum.inclusive.add(replay);
                match replay.launch {
                    launch @ Some(_) if sum.last == launch => {}
                    launch @ Some(_) => (sum.launches, sum.last) = (sum.launches + 1, launch),
                    None => {
                        let first = *sum.first_node.get_or_insert(replay.node);
                        sum.alone += u64::from(first == replay.node);
                    }
                }
            }
        }
    }
    let order = tree.order_by(&captured.begins);
    let mut row_of: HashMap<u32, u32> = HashMap::new();
    let (mut rows, mut more, mut bytes) = (Vec::new(), Vec::new(), 0usize);
    for region in
        order.into_iter().filter(|region| sums[*region as usize].launches + sums[*region as usize].alone > 0)
    {
        let (sum, node) = (&sums[region as usize], tree.nodes[region as usize]);
        bytes = bytes.saturating_add(tree.path_bytes(trace, region));
        if rows.len() >= limit.rows || bytes > limit.text_bytes {
            more.push((sum.exclusive.kernels, sum.exclusive.kernel_ns));
            continue;
        }
        let parent = node.parent.and_then(|parent| row_of.get(&parent).copied());
        row_of.insert(region, rows.len() as u32);
        let replays = sum.launches + sum.alone;
        let longest = sum.kernels.iter().max_by_key(|(name, ns)| (**ns, std::cmp::Reverse(name.index())));
        let text = |id: StringId| trace.strings.text(id).to_owned();
        rows.push(CapturedRow {
            path: tree.path(trace, region).to_string(),
            domain: text(node.domain),
            name: text(node.name),
            parent,
            depth: std::iter::successors(node.parent, |at| tree.nodes[*at as usize].parent).count() as u32,
            replays,
            kernels: sum.inclusive.kernels,
            kernels_exclusive: sum.exclusive.kernels,
            gpu_ns: sum.inclusive.kernel_ns,
            gpu_exclusive_ns: sum.exclusive.kernel_ns,
            copies: sum.inclusive.copies,
            copy_ns: sum.inclusive.copy_ns,
            kernels_a_replay: sum.inclusive.kernels as f64 / replays.max(1) as f64,
            ns_a_replay: sum.inclusive.kernel_ns as f64 / replays.max(1) as f64,
            share: sum.inclusive.kernel_ns as f64 / all_ns.max(1) as f64,
            longest_kernel: longest.map(|(name, _)| text(*name)),
        });
    }
    (rows, MoreRows::add_up(more.into_iter()))
}

/// One launch of a graph whose nodes were recorded.
#[derive(Debug, Clone, Copy)]
struct Launch {
    launch: (u32, u32),
    /// Process and graph.
    graph: (u32, u32),
    begin: i64,
    end: i64,
}

/// All launches of one graph.
#[derive(Debug, Default)]
struct Launches {
    whole: Vec<i64>,
    by_node: Vec<i64>,
    work: Work,
    region: Only,
    /// The region that all nodes so far were captured in, if there is one.
    captured_in: Option<Option<u32>>,
}

/// What all have in common.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Only {
    #[default]
    Nothing,
    One(Option<u32>),
    Several,
}

impl Only {
    fn add(&mut self, one: Option<u32>) {
        *self = match *self {
            Self::Nothing => Self::One(one),
            Self::One(known) if known == one => Self::One(one),
            _ => Self::Several,
        };
    }

    fn get(self) -> Option<u32> {
        match self {
            Self::One(one) => one,
            Self::Nothing | Self::Several => None,
        }
    }
}

fn graph_rows(
    trace: &Trace,
    attribution: &Attribution,
    replays: &[Replay],
    captured: Option<&Captured>,
    limit: Limit,
) -> Vec<GraphRow> {
    let activities = &trace.activities;
    let mut graphs: HashMap<(u32, u32), Launches> = HashMap::new();
    for at in (0..activities.len()).filter(|at| activities.kind[*at] == ActivityKind::Graph) {
        let launches = graphs.entry((activities.process[at], activities.detail[at])).or_default();
        launches.region.add(Some(region_of(trace, attribution, at)).filter(|region| *region != NONE));
        // Otherwise its nodes were recorded, and made it longer.
        if activities.node[at] == 0 {
            launches.whole.push(activities.duration(at));
        }
    }
    let mut last: Option<Launch> = None;
    for (at, replay) in replays.iter().enumerate() {
        let graph = (replay.process, replay.graph());
        let launches = graphs.entry(graph).or_default();
        if let Some(captured) = captured
            && let Some(node) = captured.node(at)
        {
            let region = captured.region(node);
            launches.captured_in = Some(match launches.captured_in {
                None => region,
                Some(known) => known.zip(region).and_then(|(one, other)| captured.tree.common(one, other)),
            });
        }
        // What the device launches is part of a launch that nothing names.
        let Some(launch) = replay.launch else { continue };
        let is_new = last.is_none_or(|last| last.launch != launch);
        if is_new && let Some(done) = last.take() {
            graphs.entry(done.graph).or_default().by_node.push(done.end.saturating_sub(done.begin).max(0));
        }
        let (begin, end) =
            last.map_or((replay.begin, replay.end), |last| (last.begin, last.end.max(replay.end)));
        last = Some(Launch { launch, graph, begin, end });
        let launches = graphs.entry(graph).or_default();
        if is_new && replay.region.is_some() {
            launches.region.add(replay.region);
        }
        launches.work.add(replay);
    }
    if let Some(done) = last {
        graphs.entry(done.graph).or_default().by_node.push(done.end.saturating_sub(done.begin).max(0));
    }
    let mut bytes = 0usize;
    let mut rows: Vec<GraphRow> = graphs
        .into_iter()
        .map(|((process, graph), mut launches)| {
            let count = launches.by_node.len().max(1) as f64;
            GraphRow {
                graph,
                process: trace.processes[process as usize].pid,
                region: launches.region.get().map(|at| attribution.tree.path(trace, at).to_string()),
                captured_in: captured
                    .zip(launches.captured_in.flatten())
                    .filter(|(captured, at)| {
                        bytes = bytes.saturating_add(captured.tree.path_bytes(trace, *at));
                        bytes <= limit.text_bytes
                    })
                    .map(|(captured, at)| captured.tree.path(trace, at).to_string()),
                kernels: launches.work.kernels as f64 / count,
                kernel_ns: launches.work.kernel_ns as f64 / count,
                whole: Statistics::of(&mut launches.whole),
                by_node: Statistics::of(&mut launches.by_node),
            }
        })
        .filter(|row| row.launches() > 0)
        .collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.total_ns()), row.process, row.graph));
    rows
}
