//! What each region made the devices do.
//!
//! Push/pop regions of one domain share out every activity: a parent includes its
//! children, and what lies in no region of the domain is unattributed. Start/end
//! regions overlap anything, so each counts for itself what was started while it was
//! open in its process, once for all its instances.

use std::collections::{BTreeMap, HashMap};

use nvtx::Kind;
use serde::Serialize;
use trace::{ActivityKind, NONE, OPEN, StringId, Trace};

use crate::attribute::Attribution;
use crate::scope::{Place, Places, Scope, Split};
use crate::tree::Tree;

/// Kernels named for each region.
const TOP: usize = 5;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GpuRegion {
    pub path: String,
    pub domain: String,
    pub name: String,
    pub kind: &'static str,
    pub parent: Option<String>,
    pub depth: usize,
    #[serde(flatten)]
    pub place: Place,
    pub instances: u64,
    /// Of those, open when the recording ended: not in `wall_ns`.
    pub open: u64,
    /// On the host, all instances together.
    pub wall_ns: i64,
    /// Of kernels.
    pub gpu_inclusive_ns: i64,
    pub gpu_exclusive_ns: i64,
    /// When a device was at it with kernels, copies, fills or graphs; what overlaps
    /// counts once for each device.
    pub gpu_busy_ns: i64,
    /// From the first activity of an instance to its last, all instances together. None
    /// for start/end regions, whose instances share what they start.
    pub gpu_span_ns: Option<i64>,
    pub kernels_inclusive: u64,
    pub kernels_exclusive: u64,
    /// Calls that started something.
    pub launches: u64,
    pub copies: u64,
    pub copy_ns: i64,
    /// Whole graphs whose kernels were not recorded one by one.
    pub graphs: u64,
    pub graph_ns: i64,
    pub top_kernels: Vec<TopKernel>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TopKernel {
    pub name: String,
    pub calls: u64,
    pub total_ns: i64,
}

/// Kernels in no range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Unattributed {
    /// In no push/pop range of any domain and in no start/end range.
    pub kernels: u64,
    pub gpu_ns: i64,
    /// Of those, with no call that started them.
    pub without_call: u64,
    /// In no push/pop range of a domain.
    pub domains: BTreeMap<String, Outside>,
    /// Threads that started them.
    pub threads: Vec<OutsideThread>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Outside {
    pub kernels: u64,
    pub gpu_ns: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutsideThread {
    pub process: u32,
    pub thread: u32,
    pub name: Option<String>,
    pub kernels: u64,
    pub gpu_ns: i64,
}

/// What one region, or a part of it, adds up to.
#[derive(Debug, Clone, Default)]
struct Sum {
    places: Places,
    instances: u64,
    open: u64,
    wall_ns: i64,
    exclusive: Work,
    inclusive: Work,
    busy_ns: i64,
    span_ns: i64,
    kernels: HashMap<StringId, (u64, i64)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Work {
    kernels: u64,
    kernel_ns: i64,
    launches: u64,
    copies: u64,
    copy_ns: i64,
    graphs: u64,
    graph_ns: i64,
}

impl Work {
    fn add(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.kernel_ns = self.kernel_ns.saturating_add(other.kernel_ns);
        self.launches += other.launches;
        self.copies += other.copies;
        self.copy_ns = self.copy_ns.saturating_add(other.copy_ns);
        self.graphs += other.graphs;
        self.graph_ns = self.graph_ns.saturating_add(other.graph_ns);
    }
}

/// Regions in the order of the tree, and what is in none.
pub fn gpu_regions(trace: &Trace, attribution: &Attribution, scope: Scope) -> (Vec<GpuRegion>, Unattributed) {
    let tree = &attribution.tree;
    let mut sums = Sums { tree, scope, rows: HashMap::new(), all: Vec::new() };
    let started = started(trace, attribution, tree);
    sums.ranges(trace);
    sums.exclusive(trace, attribution, &started);
    sums.busy(trace, attribution, &started);
    sums.spans(trace, attribution);
    sums.inclusive();
    let unattributed = unattributed(trace, attribution, &started);
    (sums.rows(trace), unattributed)
}

/// Activities in start/end regions, each with the region, once.
fn started(trace: &Trace, attribution: &Attribution, tree: &Tree) -> Vec<(u32, u32)> {
    let ranges = &trace.ranges;
    let mut by_process: HashMap<u32, Vec<u32>> = HashMap::new();
    for range in 0..ranges.len() {
        if ranges.kind[range] == Kind::StartEnd {
            let process = trace.threads[ranges.thread[range] as usize].process;
            by_process.entry(process).or_default().push(range as u32);
        }
    }
    let mut found = Vec::new();
    for (process, ranges_here) in by_process {
        let called = |activity: u32| trace.calls.begin[attribution.call[activity as usize] as usize];
        let mut activities: Vec<u32> = (0..trace.activities.len() as u32)
            .filter(|activity| {
                trace.activities.process[*activity as usize] == process
                    && attribution.call[*activity as usize] != NONE
            })
            .collect();
        activities.sort_by_key(|activity| called(*activity));
        let mut next = ranges_here.into_iter().peekable();
        // Open regions, each with the latest end of its instances, and when the next may end.
        let mut open: HashMap<u32, i64> = HashMap::new();
        let mut next_end = i64::MAX;
        for activity in activities {
            let time = called(activity);
            while let Some(range) = next.next_if(|range| ranges.begin[*range as usize] <= time) {
                let (node, end) = (tree.node_of[range as usize], ranges.end[range as usize]);
                let latest = open.entry(node).or_insert(end);
                *latest = end.max(*latest);
                next_end = next_end.min(end);
            }
            if next_end <= time {
                open.retain(|_, end| *end > time);
                next_end = open.values().copied().min().unwrap_or(i64::MAX);
            }
            found.extend(open.keys().map(|node| (activity, *node)));
        }
    }
    found.sort_unstable();
    found
}

/// One activity of every call: a call that starts several is one launch.
fn first_of_call(trace: &Trace, attribution: &Attribution) -> Vec<bool> {
    let mut seen = vec![false; trace.calls.len()];
    let fresh = |call: &u32| match seen.get_mut(*call as usize) {
        Some(seen) => !std::mem::replace(seen, true),
        None => false,
    };
    attribution.call.iter().map(fresh).collect()
}

/// When each region was last busy on each device, for each process where they count
/// apart: a plain table, unless a damaged file makes it one of billions.
struct Until {
    dense: Vec<i64>,
    sparse: HashMap<(u32, u16, u32), i64>,
    devices: usize,
    processes: usize,
}

impl Until {
    const LARGEST: usize = 1 << 22;

    fn new(nodes: usize, trace: &Trace, scope: Scope) -> Self {
        let devices = trace.devices.len().max(1);
        let processes = if scope.by_process { trace.processes.len().max(1) } else { 1 };
        let size = nodes.saturating_mul(devices).saturating_mul(processes);
        let dense = if size <= Self::LARGEST { vec![i64::MIN; size] } else { Vec::new() };
        Self { dense, sparse: HashMap::new(), devices, processes }
    }

    fn place(&mut self, node: u32, device: u16, process: u32) -> &mut i64 {
        let process = if self.processes == 1 { 0 } else { process };
        if self.dense.is_empty() {
            return self.sparse.entry((node, device, process)).or_insert(i64::MIN);
        }
        let at = (node as usize * self.devices + usize::from(device)) * self.processes + process as usize;
        &mut self.dense[at]
    }
}

struct Sums<'t> {
    tree: &'t Tree,
    scope: Scope,
    rows: HashMap<(u32, Split), u32>,
    all: Vec<(u32, Split, Sum)>,
}

impl Sums<'_> {
    fn row(&mut self, node: u32, split: Split) -> usize {
        let all = &mut self.all;
        *self.rows.entry((node, split)).or_insert_with(|| {
            all.push((node, split, Sum::default()));
            all.len() as u32 - 1
        }) as usize
    }

    /// Instances and time on the host: no device is known there.
    fn ranges(&mut self, trace: &Trace) {
        let ranges = &trace.ranges;
        let mut last = (NONE, NONE, 0);
        for range in 0..ranges.len() {
            let (node, thread) = (self.tree.node_of[range], ranges.thread[range]);
            if (last.0, last.1) != (node, thread) {
                let process = trace.threads[thread as usize].process;
                let split = self.scope.host_split(process);
                let row = self.row(node, split);
                self.all[row].2.places.add_process(process);
                last = (node, thread, row);
            }
            let sum = &mut self.all[last.2].2;
            sum.instances += 1;
            match ranges.end[range] {
                OPEN => sum.open += 1,
                end => {
                    let wall = end.saturating_sub(ranges.begin[range]).max(0);
                    sum.wall_ns = sum.wall_ns.saturating_add(wall);
                }
            }
        }
    }

    /// What each region started itself.
    fn exclusive(&mut self, trace: &Trace, attribution: &Attribution, started: &[(u32, u32)]) {
        let tree = self.tree;
        let first = first_of_call(trace, attribution);
        for plane in &attribution.planes {
            let nodes = plane.range.iter().enumerate().filter(|(_, range)| **range != NONE);
            for (activity, range) in nodes {
                self.count(trace, activity, tree.node_of[*range as usize], first[activity]);
            }
        }
        for (activity, node) in started {
            self.count(trace, *activity as usize, *node, first[*activity as usize]);
        }
    }

    fn count(&mut self, trace: &Trace, activity: usize, node: u32, launch: bool) {
        let activities = &trace.activities;
        let (process, device) = (activities.process[activity], activities.device[activity]);
        let row = self.row(node, self.scope.split(process, device));
        let sum = &mut self.all[row].2;
        sum.places.add(process, device);
        let duration = activities.duration(activity);
        let mut work = Work { launches: u64::from(launch), ..Work::default() };
        match activities.kind[activity] {
            ActivityKind::Kernel => {
                let launch = &activities.launches[activities.detail[activity] as usize];
                if !launch.hidden {
                    (work.kernels, work.kernel_ns) = (1, duration);
                    let entry = sum.kernels.entry(launch.name).or_default();
                    *entry = (entry.0 + 1, entry.1.saturating_add(duration));
                }
            }
            ActivityKind::Copy | ActivityKind::Fill => (work.copies, work.copy_ns) = (1, duration),
            ActivityKind::Graph => (work.graphs, work.graph_ns) = (1, duration),
        }
        sum.exclusive.add(work);
    }

    /// The union of intervals, region by region, in one walk through time.
    fn busy(&mut self, trace: &Trace, attribution: &Attribution, started: &[(u32, u32)]) {
        let activities = &trace.activities;
        let mut order: Vec<u32> = (0..activities.len() as u32).collect();
        let begin = |activity: &u32| activities.begin[*activity as usize];
        if !order.is_sorted_by_key(begin) {
            order.sort_by_key(begin);
        }
        let mut until = Until::new(self.tree.nodes.len(), trace, self.scope);
        let tree = self.tree;
        for activity in order {
            let at = activity as usize;
            let (from, to) = (activities.begin[at], activities.end[at]);
            let (process, device) = (activities.process[at], activities.device[at]);
            let split = self.scope.split(process, device);
            let mut extend = |sums: &mut Self, node: u32| {
                let until = until.place(node, device, process);
                let fresh = to.saturating_sub(from.max(*until)).max(0);
                *until = to.max(*until);
                if fresh > 0 {
                    let row = sums.row(node, split);
                    let sum = &mut sums.all[row].2;
                    sum.busy_ns = sum.busy_ns.saturating_add(fresh);
                    sum.places.add(process, device);
                }
            };
            for plane in &attribution.planes {
                let mut node = match plane.range[at] {
                    NONE => None,
                    range => Some(tree.node_of[range as usize]),
                };
                while let Some(here) = node {
                    extend(self, here);
                    node = tree.nodes[here as usize].parent;
                }
            }
            let first = started.partition_point(|(other, _)| *other < activity);
            for (_, node) in started[first..].iter().take_while(|(other, _)| *other == activity) {
                extend(self, *node);
            }
        }
    }

    /// First to last activity of each instance of a push/pop range.
    fn spans(&mut self, trace: &Trace, attribution: &Attribution) {
        let ranges = &trace.ranges;
        let mut first = vec![i64::MAX; ranges.len()];
        let mut last = vec![i64::MIN; ranges.len()];
        for plane in &attribution.planes {
            for (activity, range) in plane.range.iter().enumerate() {
                if *range != NONE {
                    let at = *range as usize;
                    first[at] = first[at].min(trace.activities.begin[activity]);
                    last[at] = last[at].max(trace.activities.end[activity]);
                }
            }
        }
        // Parents come first, so from the end every child is complete.
        for range in (0..ranges.len()).rev() {
            if first[range] > last[range] {
                continue;
            }
            if let Some(parent) = ranges.parent[range] {
                let at = parent as usize;
                first[at] = first[at].min(first[range]);
                last[at] = last[at].max(last[range]);
            }
            let process = trace.threads[ranges.thread[range] as usize].process;
            let split = self.scope.host_split(process);
            let row = self.row(self.tree.node_of[range], split);
            let sum = &mut self.all[row].2;
            sum.span_ns = sum.span_ns.saturating_add(last[range].saturating_sub(first[range]));
        }
    }

    /// Children into their parents, from the leaves up.
    fn inclusive(&mut self) {
        // Every ancestor has a row before any is added up.
        let mut row = 0;
        while row < self.all.len() {
            let (node, split, _) = self.all[row];
            if let Some(parent) = self.tree.nodes[node as usize].parent {
                self.row(parent, split);
            }
            row += 1;
        }
        for (_, _, sum) in &mut self.all {
            sum.inclusive = sum.exclusive;
        }
        let mut order: Vec<u32> = (0..self.all.len() as u32).collect();
        order.sort_by_key(|row| std::cmp::Reverse(self.all[*row as usize].0));
        for row in order {
            let (node, split, _) = self.all[row as usize];
            let Some(parent) = self.tree.nodes[node as usize].parent else { continue };
            let above = self.row(parent, split);
            let below = &self.all[row as usize].2;
            let (work, places) = (below.inclusive, below.places);
            let kernels: Vec<(StringId, (u64, i64))> =
                below.kernels.iter().map(|(name, sum)| (*name, *sum)).collect();
            let sum = &mut self.all[above].2;
            sum.inclusive.add(work);
            sum.places.join(places);
            for (name, (calls, total)) in kernels {
                let entry = sum.kernels.entry(name).or_default();
                *entry = (entry.0 + calls, entry.1.saturating_add(total));
            }
        }
    }

    /// Ranges have no device: where rows are split by device, each has what is known of
    /// the ranges, and there is none without a device beside them.
    fn spread(&mut self) {
        let mut hosts: HashMap<(u32, Option<u32>), (u32, Sum)> = HashMap::new();
        for (row, (node, split, sum)) in self.all.iter().enumerate() {
            if split.device.is_none() {
                hosts.insert((*node, split.process), (row as u32, sum.clone()));
            }
        }
        let mut spread = vec![false; self.all.len()];
        for (node, split, sum) in self.all.iter_mut().filter(|(_, split, _)| split.device.is_some()) {
            if let Some((row, host)) = hosts.get(&(*node, split.process)) {
                sum.instances = host.instances;
                sum.open = host.open;
                sum.wall_ns = host.wall_ns;
                sum.span_ns = host.span_ns;
                spread[*row as usize] = true;
            }
        }
        let mut spread = spread.into_iter();
        self.all.retain(|_| !spread.next().unwrap_or(false));
    }

    fn rows(mut self, trace: &Trace) -> Vec<GpuRegion> {
        if self.scope.by_device {
            self.spread();
        }
        let mut by_node: Vec<Vec<usize>> = vec![Vec::new(); self.tree.nodes.len()];
        for (row, (node, _, _)) in self.all.iter().enumerate() {
            by_node[*node as usize].push(row);
        }
        let mut rows = Vec::new();
        for node in self.tree.order(trace) {
            by_node[node as usize].sort_by_key(|row| self.all[*row].1);
            for row in &by_node[node as usize] {
                rows.push(region(trace, self.tree, node, &self.all[*row].2));
            }
        }
        rows
    }
}

fn region(trace: &Trace, tree: &Tree, node: u32, sum: &Sum) -> GpuRegion {
    let path = tree.path(trace, node);
    let parent = tree.nodes[node as usize].parent.map(|parent| tree.path(trace, parent).to_string());
    let mut top_kernels: Vec<TopKernel> = sum
        .kernels
        .iter()
        .map(|(name, (calls, total_ns))| TopKernel {
            name: trace.strings.text(*name).to_owned(),
            calls: *calls,
            total_ns: *total_ns,
        })
        .collect();
    top_kernels.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)));
    top_kernels.truncate(TOP);
    GpuRegion {
        domain: path.domain.clone(),
        name: path.name().to_owned(),
        kind: tree.nodes[node as usize].kind.as_str(),
        parent,
        depth: path.depth(),
        path: path.to_string(),
        place: sum.places.place(trace),
        instances: sum.instances,
        open: sum.open,
        wall_ns: sum.wall_ns,
        gpu_inclusive_ns: sum.inclusive.kernel_ns,
        gpu_exclusive_ns: sum.exclusive.kernel_ns,
        gpu_busy_ns: sum.busy_ns,
        gpu_span_ns: (tree.nodes[node as usize].kind == Kind::PushPop).then_some(sum.span_ns),
        kernels_inclusive: sum.inclusive.kernels,
        kernels_exclusive: sum.exclusive.kernels,
        launches: sum.inclusive.launches,
        copies: sum.inclusive.copies,
        copy_ns: sum.inclusive.copy_ns,
        graphs: sum.inclusive.graphs,
        graph_ns: sum.inclusive.graph_ns,
        top_kernels,
    }
}

fn unattributed(trace: &Trace, attribution: &Attribution, started: &[(u32, u32)]) -> Unattributed {
    let activities = &trace.activities;
    let mut outside = Unattributed::default();
    let mut threads: BTreeMap<u32, Outside> = BTreeMap::new();
    let mut domains = vec![Outside::default(); attribution.planes.len()];
    for activity in 0..activities.len() {
        if !activities.is_shown_kernel(activity) {
            continue;
        }
        let duration = activities.duration(activity);
        let mut inside = false;
        for (plane, domain) in attribution.planes.iter().zip(&mut domains) {
            match plane.range[activity] {
                NONE => domain.add(duration),
                _ => inside = true,
            }
        }
        if inside || started.binary_search_by_key(&(activity as u32), |(other, _)| *other).is_ok() {
            continue;
        }
        outside.kernels += 1;
        outside.gpu_ns = outside.gpu_ns.saturating_add(duration);
        match attribution.call[activity] {
            NONE => outside.without_call += 1,
            call => threads.entry(trace.calls.thread[call as usize]).or_default().add(duration),
        }
    }
    for (plane, domain) in attribution.planes.iter().zip(domains) {
        outside.domains.insert(trace.strings.text(plane.domain).to_owned(), domain);
    }
    outside.threads = threads
        .into_iter()
        .map(|(index, Outside { kernels, gpu_ns })| {
            let thread = &trace.threads[index as usize];
            OutsideThread {
                process: trace.processes[thread.process as usize].pid,
                thread: thread.id,
                name: thread.name.clone(),
                kernels,
                gpu_ns,
            }
        })
        .collect();
    outside
}

impl Outside {
    fn add(&mut self, duration: i64) {
        self.kernels += 1;
        self.gpu_ns = self.gpu_ns.saturating_add(duration);
    }
}
