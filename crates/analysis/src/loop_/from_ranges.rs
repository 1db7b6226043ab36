//! The loop of a program that opens ranges: the outermost region that repeats and has most of the work.

use nvtx::Kind;
use trace::{ActivityKind, NONE, OPEN, Trace};

use super::from_launches::FEWEST;
use super::launched::total_of;
use crate::attribute::Attribution;

/// So much of a process's work is in its loop.
const MOST: f64 = 0.5;
/// A region's iterations hold another region if so many of them do.
const HOLDS: f64 = 0.5;
/// A loop beside the main one has at least this much.
const WORTH_A_WORD: f64 = 0.05;

/// So many of the iterations begin while another thread is in one, if several run at once.
const AT_ONCE: f64 = 0.2;

/// A region of one process that repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeating {
    pub(super) node: u32,
    /// Its ranges, in order.
    pub(super) ranges: Vec<u32>,
    /// Of kernels, where there are any; else of the host.
    pub(super) work_ns: i64,
}

/// The loops of each process, the one with the most work first: of the program's own ranges, or of libraries'.
pub(super) fn repeating(trace: &Trace, attribution: &Attribution, of_libraries: bool) -> Vec<Vec<Repeating>> {
    let (mut ranges, mut activities) =
        (vec![Vec::new(); trace.processes.len()], vec![Vec::new(); trace.processes.len()]);
    for range in 0..trace.ranges.len() {
        let is_wanted = attribution.libraries.has(trace.ranges.domain[range]) == of_libraries;
        let ended = trace.ranges.end[range] != OPEN && trace.ranges.kind[range] == Kind::PushPop;
        if is_wanted && ended {
            ranges[trace.process_of(trace.ranges.thread[range]) as usize].push(range as u32);
        }
    }
    for activity in 0..trace.activities.len() {
        if matches!(trace.activities.kind[activity], ActivityKind::Kernel | ActivityKind::Graph) {
            activities[trace.activities.process[activity] as usize].push(activity as u32);
        }
    }
    let mut sums = Sums::new(trace, attribution);
    ranges
        .into_iter()
        .zip(activities)
        .map(|(ranges, activities)| sums.repeating(ranges, &activities))
        .collect()
}

/// By node, of one process after the other: only what a process has is touched, since a trace of many processes
/// has many more nodes.
struct Sums<'t> {
    trace: &'t Trace,
    attribution: &'t Attribution,
    members: Vec<Vec<u32>>,
    work: Vec<i64>,
}

impl<'t> Sums<'t> {
    fn new(trace: &'t Trace, attribution: &'t Attribution) -> Self {
        let nodes = attribution.tree.nodes.len();
        Self { trace, attribution, members: vec![Vec::new(); nodes], work: vec![0; nodes] }
    }

    fn repeating(&mut self, ranges: Vec<u32>, activities: &[u32]) -> Vec<Repeating> {
        let mut nodes: Vec<u32> = Vec::new();
        for range in ranges {
            let node = self.attribution.tree.node_of[range as usize];
            if self.members[node as usize].is_empty() {
                nodes.push(node);
            }
            self.members[node as usize].push(range);
        }
        // Parents before their children.
        nodes.sort_unstable();
        let (worked, total) = self.add_up(activities, &nodes);
        let mut found: Vec<Repeating> = Vec::new();
        for node in nodes {
            let ranges = std::mem::take(&mut self.members[node as usize]);
            let work_ns = self.work[node as usize];
            // What is below a loop is part of it.
            let is_inside =
                self.above(node).skip(1).any(|above| found.iter().any(|outer| outer.node == above));
            let repeats = ranges.len() >= FEWEST && work_ns as f64 >= WORTH_A_WORD * total as f64;
            if repeats && !is_inside && total > 0 {
                found.push(Repeating { node, ranges: in_order(self.trace, ranges), work_ns });
            }
        }
        worked.into_iter().for_each(|node| self.work[node as usize] = 0);
        found.sort_by_key(|repeating| std::cmp::Reverse(repeating.work_ns));
        // Phases of a program, one behind the other, are loops of their own: together they must have most of it.
        let together = total_of(found.iter().map(|repeating| repeating.work_ns));
        if together as f64 >= MOST * total as f64 { self.apart(found) } else { Vec::new() }
    }

    /// Prefill and the decode steps behind it are one loop: an iteration reaches to the next one, and what lies between is
    /// part of it. Of such regions the one with the most work stays, so that no time belongs to two loops.
    fn apart(&self, found: Vec<Repeating>) -> Vec<Repeating> {
        let mut kept: Vec<(Repeating, Vec<i64>)> = Vec::new();
        for repeating in found {
            let begins: Vec<i64> =
                repeating.ranges.iter().map(|range| self.trace.ranges.begin[*range as usize]).collect();
            if !kept.iter().any(|(_, other)| holds(other, &begins) || holds(&begins, other)) {
                kept.push((repeating, begins));
            }
        }
        kept.into_iter().map(|(repeating, _)| repeating).collect()
    }

    /// A node and all above it.
    fn above(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let nodes = &self.attribution.tree.nodes;
        std::iter::successors(Some(node), |node| nodes[*node as usize].parent)
    }

    /// The work in each node and below it: of kernels, or of the host where they take no time. Returns the nodes
    /// that have any, and all work of the process.
    fn add_up(&mut self, activities: &[u32], nodes: &[u32]) -> (Vec<u32>, i64) {
        let total = total_of(activities.iter().map(|at| self.trace.activities.duration(*at as usize)));
        if total == 0 {
            for node in nodes {
                let duration = |range: &u32| {
                    let (begin, end) =
                        (self.trace.ranges.begin[*range as usize], self.trace.ranges.end[*range as usize]);
                    end.saturating_sub(begin).max(0)
                };
                self.work[*node as usize] = total_of(self.members[*node as usize].iter().map(duration));
            }
            let is_outermost = |node: &&u32| self.above(**node).nth(1).is_none();
            let total = total_of(nodes.iter().filter(is_outermost).map(|node| self.work[*node as usize]));
            return (nodes.to_vec(), total);
        }
        let mut worked: Vec<u32> = Vec::new();
        for activity in activities.iter().map(|activity| *activity as usize) {
            let duration = self.trace.activities.duration(activity);
            for plane in self.attribution.planes.iter().filter(|plane| plane.range[activity] != NONE) {
                let node = self.attribution.tree.node_of[plane.range[activity] as usize];
                let own = &mut self.work[node as usize];
                if *own == 0 {
                    worked.push(node);
                }
                *own = own.saturating_add(duration);
            }
        }
        let mut all: Vec<u32> = worked.iter().flat_map(|node| self.above(*node)).collect();
        all.sort_unstable();
        all.dedup();
        // Children before their parents.
        for node in all.iter().rev() {
            if let Some(parent) = self.attribution.tree.nodes[*node as usize].parent {
                self.work[parent as usize] =
                    self.work[parent as usize].saturating_add(self.work[*node as usize]);
            }
        }
        (all, total)
    }
}

/// Whether instances of another region lie inside most iterations, from one beginning to the next. Both are in order.
fn holds(begins: &[i64], others: &[i64]) -> bool {
    let has_one = |pair: &&[i64]| {
        others.get(others.partition_point(|other| *other < pair[0])).is_some_and(|other| *other < pair[1])
    };
    let holding = begins.windows(2).filter(has_one).count();
    holding as f64 >= HOLDS * begins.len().saturating_sub(1).max(1) as f64
}

/// Whether several threads are in such ranges at once: a good part of them begins while another thread is in one.
pub(super) fn run_at_once(trace: &Trace, in_order: &[u32]) -> bool {
    let (mut until, mut thread, mut at_once) = (i64::MIN, NONE, 0usize);
    for range in in_order.iter().map(|range| *range as usize) {
        let (begin, end) = (trace.ranges.begin[range], trace.ranges.end[range]);
        at_once += usize::from(trace.ranges.thread[range] != thread && begin < until);
        if end > until {
            (until, thread) = (end, trace.ranges.thread[range]);
        }
    }
    at_once > 0 && at_once as f64 >= AT_ONCE * in_order.len() as f64
}

fn in_order(trace: &Trace, mut ranges: Vec<u32>) -> Vec<u32> {
    ranges.sort_by_key(|range| trace.ranges.begin[*range as usize]);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_that_lie_between_each_other() {
        let prefill: Vec<i64> = (0..5).map(|at| at * 100).collect();
        let decode: Vec<i64> = (0..5).flat_map(|at| (1..9).map(move |step| at * 100 + step * 10)).collect();
        // From one prefill to the next there are steps of decoding, but between most of these is no prefill.
        assert!(holds(&prefill, &decode) && !holds(&decode, &prefill));
        // Epochs of training and evaluation: each has many of its own iterations in a row.
        let training: Vec<i64> =
            (0..3).flat_map(|epoch| (0..50).map(move |at| epoch * 1_000 + at * 10)).collect();
        let evaluation: Vec<i64> = training.iter().map(|at| at + 500).collect();
        assert!(!holds(&training, &evaluation) && !holds(&evaluation, &training));
        assert!(!holds(&[], &training) && !holds(&training, &[]));
    }
}
