//! What every region adds up to, in numbers alone: names are for the rows that are shown.

use std::collections::{BTreeSet, HashMap};

use trace::{NONE, OPEN, Trace};

use super::work::{Meter, Sum, Work};
use crate::attribute::{Attribution, Started, Tree};
use crate::scope::{Scope, Split};

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

/// A region, or a part of it where processes or devices are split.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) node: u32,
    pub(crate) split: Split,
    pub(crate) sum: Sum,
}

#[derive(Debug)]
pub(crate) struct Sums<'t> {
    tree: &'t Tree,
    pub(crate) scope: Scope,
    /// By region: its row where nothing is split, or [`NONE`].
    whole: Vec<u32>,
    parts: HashMap<(u32, Split), u32>,
    pub(crate) all: Vec<Row>,
}

impl<'t> Sums<'t> {
    pub(crate) fn new(trace: &Trace, attribution: &'t Attribution, scope: Scope, started: &Started) -> Self {
        let tree = &attribution.tree;
        let whole = vec![NONE; tree.nodes.len()];
        let mut sums = Self { tree, scope, whole, parts: HashMap::new(), all: Vec::new() };
        let first = first_of_call(trace, attribution);
        sums.ranges(trace, attribution);
        sums.exclusive(trace, attribution, &first);
        sums.busy(trace, attribution);
        sums.start_end(trace, started, &first);
        sums.spans(trace, attribution);
        sums.inclusive();
        if scope.by_device {
            sums.spread();
        }
        sums
    }

    fn row(&mut self, node: u32, split: Split) -> usize {
        let all = &mut self.all;
        let place = match split == Split::default() {
            true => &mut self.whole[node as usize],
            false => self.parts.entry((node, split)).or_insert(NONE),
        };
        if *place == NONE {
            *place = all.len() as u32;
            all.push(Row { node, split, sum: Sum::default() });
        }
        *place as usize
    }

    /// The row of a region, or of a part of it.
    pub(crate) fn find(&self, node: u32, split: Split) -> Option<u32> {
        let whole = split == Split::default();
        let row = if whole { self.whole.get(node as usize) } else { self.parts.get(&(node, split)) };
        row.copied().filter(|row| *row != NONE)
    }

    /// The row of the region around it.
    pub(crate) fn parent(&self, row: &Row) -> Option<u32> {
        self.find(self.tree.nodes[row.node as usize].parent?, row.split)
    }

    /// Of what a device did.
    pub(crate) fn row_of(&self, trace: &Trace, node: u32, activity: usize) -> Option<u32> {
        let (process, device) = (trace.activities.process[activity], trace.activities.device[activity]);
        self.find(node, self.scope.split(process, device))
    }

    /// By region: whether any of its rows is shown.
    pub(crate) fn shown_nodes(&self, shown: impl Fn(u32) -> bool) -> Vec<bool> {
        let mut nodes = vec![false; self.tree.nodes.len()];
        for (row, Row { node, .. }) in self.all.iter().enumerate() {
            nodes[*node as usize] |= shown(row as u32);
        }
        nodes
    }

    /// Instances and time on the host: no device is known there.
    fn ranges(&mut self, trace: &Trace, attribution: &Attribution) {
        let ranges = &trace.ranges;
        let mut last = (NONE, NONE, 0);
        let is_region = |range: &usize| !attribution.libraries.leaves_out(ranges.domain[*range]);
        for range in (0..ranges.len()).filter(is_region) {
            let (node, thread) = (self.tree.node_of[range], ranges.thread[range]);
            if (last.0, last.1) != (node, thread) {
                let process = trace.process_of(thread);
                let split = self.scope.host_split(process);
                let row = self.row(node, split);
                self.all[row].sum.places.add_process(process);
                last = (node, thread, row);
            }
            let sum = &mut self.all[last.2].sum;
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
            // A library works for the thread that calls it.
            let is_own = !attribution.libraries.has(plane.domain);
            let nodes = plane.range.iter().enumerate().filter(|(_, range)| **range != NONE);
            for (activity, range) in nodes {
                let work = Work::of_activity(trace, activity, first[activity]);
                let marked = is_own && attribution.by_other_thread[activity];
                let work = if marked { work.by_other_thread() } else { work };
                self.count(trace, activity, tree.node_of[*range as usize], work);
            }
        }
    }

    fn count(&mut self, trace: &Trace, activity: usize, node: u32, work: Work) {
        let activities = &trace.activities;
        let (process, device) = (activities.process[activity], activities.device[activity]);
        let row = self.row(node, self.scope.split(process, device));
        let sum = &mut self.all[row].sum;
        sum.places.add(process, device);
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
                    meter.pour_into(&mut self.all[row].sum);
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
                    let sum = &mut sums.all[row].sum;
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
            let sum = &mut self.all[row].sum;
            sum.span_ns = sum.span_ns.saturating_add(last[range].saturating_sub(first[range]));
        }
    }

    /// Children into their parents, from the leaves up.
    fn inclusive(&mut self) {
        // Every ancestor has a row before any is added up.
        let mut row = 0;
        while row < self.all.len() {
            let Row { node, split, .. } = self.all[row];
            if let Some(parent) = self.tree.nodes[node as usize].parent {
                self.row(parent, split);
            }
            row += 1;
        }
        for Row { sum, .. } in &mut self.all {
            sum.inclusive = sum.exclusive;
        }
        let mut order: Vec<u32> = (0..self.all.len() as u32).collect();
        order.sort_by_key(|row| std::cmp::Reverse(self.all[*row as usize].node));
        for row in order {
            let below = &self.all[row as usize];
            let Some(above) = self.parent(below) else { continue };
            let (work, places) = (below.sum.inclusive, below.sum.places);
            let sum = &mut self.all[above as usize].sum;
            sum.inclusive.add(work);
            sum.places.join(places);
        }
    }

    /// Ranges have no device: where rows are split by device, each has what is known of
    /// the ranges, and there is none without a device beside them.
    fn spread(&mut self) {
        let host = |split: Split| Split { device: None, ..split };
        let mut is_spread = vec![false; self.all.len()];
        for row in 0..self.all.len() {
            let Row { node, split, .. } = self.all[row];
            let known = self.find(node, host(split)).filter(|_| split.device.is_some());
            if let Some(known) = known {
                is_spread[known as usize] = true;
                let Sum { instances, open, wall_ns, span_ns, .. } = self.all[known as usize].sum;
                let sum = &mut self.all[row].sum;
                (sum.instances, sum.open, sum.wall_ns, sum.span_ns) = (instances, open, wall_ns, span_ns);
            }
        }
        let mut is_spread = is_spread.into_iter();
        self.all.retain(|_| !is_spread.next().unwrap_or(false));
        self.whole.fill(NONE);
        self.parts.clear();
        for (at, Row { node, split, .. }) in self.all.iter().enumerate() {
            if *split == Split::default() {
                self.whole[*node as usize] = at as u32;
            } else {
                self.parts.insert((*node, *split), at as u32);
            }
        }
    }
}
