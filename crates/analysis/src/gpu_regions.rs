//! What each region made the devices do.
//!
//! Push/pop regions of one domain share out every activity: a parent includes its
//! children, and what lies in no region of the domain is unattributed. Start/end
//! regions overlap anything, so each counts for itself what was started while it was
//! open in its process, once for all its instances.

use std::collections::{BTreeSet, HashMap};

use nvtx::Kind;
use serde::Serialize;
use trace::{NONE, OPEN, StringId, Trace};

use crate::attribute::Attribution;
use crate::scope::{Place, Scope, Split};
use crate::start_end::Started;
use crate::tree::Tree;
use crate::unattributed::{Unattributed, unattributed};
use crate::work::{Meter, Sum, Work};

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

/// Regions in the order of the tree, and what is in none.
pub fn gpu_regions(trace: &Trace, attribution: &Attribution, scope: Scope) -> (Vec<GpuRegion>, Unattributed) {
    let tree = &attribution.tree;
    let mut sums = Sums { tree, scope, rows: HashMap::new(), all: Vec::new() };
    let started = Started::of(trace, attribution);
    let first = first_of_call(trace, attribution);
    sums.ranges(trace);
    sums.exclusive(trace, attribution, &first);
    sums.busy(trace, attribution);
    sums.start_end(trace, &started, &first);
    sums.spans(trace, attribution);
    sums.inclusive();
    let unattributed = unattributed(trace, attribution, &started.inside);
    (sums.rows(trace), unattributed)
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
                let process = trace.process_of(thread);
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
    fn exclusive(&mut self, trace: &Trace, attribution: &Attribution, first: &[bool]) {
        let tree = self.tree;
        for plane in &attribution.planes {
            let nodes = plane.range.iter().enumerate().filter(|(_, range)| **range != NONE);
            for (activity, range) in nodes {
                self.count(trace, activity, tree.node_of[*range as usize], first[activity]);
            }
        }
    }

    fn count(&mut self, trace: &Trace, activity: usize, node: u32, launch: bool) {
        let activities = &trace.activities;
        let (process, device) = (activities.process[activity], activities.device[activity]);
        let row = self.row(node, self.scope.split(process, device));
        let sum = &mut self.all[row].2;
        sum.places.add(process, device);
        let (work, kernel) = Work::of(trace, activity, launch);
        if let Some(name) = kernel {
            sum.add_kernel(name, 1, work.kernel_ns);
        }
        sum.exclusive.add(work);
    }

    /// Region by region: what was started while it was open, and how long a device was at it.
    fn start_end(&mut self, trace: &Trace, started: &Started, first: &[bool]) {
        let activities = &trace.activities;
        let begin = |activity: &u32| activities.begin[*activity as usize];
        let place = |activity: &u32| {
            let at = *activity as usize;
            (activities.process[at], activities.device[at])
        };
        let mut meters: HashMap<Split, Meter> = HashMap::new();
        for node in started.regions() {
            let mut here: BTreeSet<Split> = BTreeSet::new();
            let mut order = started.activities(node);
            if !order.is_sorted_by_key(begin) {
                order.sort_unstable_by_key(begin);
            }
            let mut rest = order.as_slice();
            // Most follow another of their process and device.
            while let Some(next) = rest.first() {
                let (process, device) = place(next);
                let alike = rest.iter().take_while(|other| place(other) == (process, device)).count();
                let split = Split { device: Some(device), ..self.scope.host_split(process) };
                here.insert(split);
                let meter = meters.entry(split).or_default();
                meter.places.add(process, device);
                for activity in &rest[..alike] {
                    meter.add(trace, *activity as usize, first[*activity as usize]);
                }
                rest = &rest[alike..];
            }
            for split in here {
                let row =
                    self.row(node, Split { device: split.device.filter(|_| self.scope.by_device), ..split });
                if let Some(meter) = meters.get_mut(&split) {
                    meter.pour_into(&mut self.all[row].2);
                }
            }
        }
    }

    /// The union of intervals, region by region, in one walk through time.
    fn busy(&mut self, trace: &Trace, attribution: &Attribution) {
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
            let process = trace.process_of(ranges.thread[range]);
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
                sum.add_kernel(name, calls, total);
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
