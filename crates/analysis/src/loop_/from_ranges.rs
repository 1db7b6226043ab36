//! The loop of a program that opens ranges: the outermost region that repeats and has most of the work.

use nvtx::Kind;
use trace::{ActivityKind, NONE, OPEN, Trace};

use super::from_launches::FEWEST;
use crate::attribute::{Attribution, is_library};

/// So much of a process's work is in its loop.
const MOST: f64 = 0.5;
/// A loop beside the main one has at least this much.
const WORTH_A_WORD: f64 = 0.05;

/// A region of one process that repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repeating {
    pub(super) node: u32,
    /// Its ranges, in order.
    pub(super) ranges: Vec<u32>,
    /// Of kernels, where there are any; else of the host.
    pub(super) work_ns: i64,
}

/// The loops of a process, the one with the most work first.
pub(super) fn repeating(trace: &Trace, attribution: &Attribution, process: u32) -> Vec<Repeating> {
    let tree = &attribution.tree;
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); tree.nodes.len()];
    for (range, node) in tree.node_of.iter().enumerate() {
        let is_of_program = !is_library(trace.strings.text(trace.ranges.domain[range]));
        let ended = trace.ranges.end[range] != OPEN && trace.ranges.kind[range] == Kind::PushPop;
        if is_of_program && ended && trace.process_of(trace.ranges.thread[range]) == process {
            members[*node as usize].push(range as u32);
        }
    }
    let (work, total) = work(trace, attribution, process, &members);
    // Outermost first: what is below a loop is part of it.
    let mut covered = vec![false; tree.nodes.len()];
    let mut found: Vec<Repeating> = Vec::new();
    for (node, ranges) in members.into_iter().enumerate() {
        let parent = tree.nodes[node].parent;
        covered[node] = parent.is_some_and(|parent| covered[parent as usize]);
        let repeats = ranges.len() >= FEWEST && work[node] as f64 >= WORTH_A_WORD * total as f64;
        if repeats && !covered[node] && total > 0 {
            covered[node] = true;
            found.push(Repeating { node: node as u32, ranges: in_order(trace, ranges), work_ns: work[node] });
        }
    }
    found.sort_by_key(|repeating| std::cmp::Reverse(repeating.work_ns));
    // Prefill and decode are two loops of one program: together they must have most of it.
    let together: i64 = found.iter().map(|repeating| repeating.work_ns).sum();
    if together as f64 >= MOST * total as f64 { found } else { Vec::new() }
}

/// By node, the work in it and below it, and all of the process: of kernels, or of the host where there are none.
fn work(trace: &Trace, attribution: &Attribution, process: u32, members: &[Vec<u32>]) -> (Vec<i64>, i64) {
    let tree = &attribution.tree;
    let mut work = vec![0i64; tree.nodes.len()];
    let mut total = 0i64;
    let is_work = |activity: &usize| {
        trace.activities.process[*activity] == process
            && matches!(trace.activities.kind[*activity], ActivityKind::Kernel | ActivityKind::Graph)
    };
    for activity in (0..trace.activities.len()).filter(is_work) {
        let duration = trace.activities.duration(activity);
        total = total.saturating_add(duration);
        for plane in &attribution.planes {
            if plane.range[activity] != NONE {
                work[tree.node_of[plane.range[activity] as usize] as usize] += duration;
            }
        }
    }
    if total > 0 {
        for node in (0..work.len()).rev() {
            if let Some(parent) = tree.nodes[node].parent {
                work[parent as usize] = work[parent as usize].saturating_add(work[node]);
            }
        }
        return (work, total);
    }
    let duration = |range: &u32| {
        trace.ranges.end[*range as usize].saturating_sub(trace.ranges.begin[*range as usize]).max(0)
    };
    for (node, ranges) in members.iter().enumerate() {
        work[node] = ranges.iter().map(duration).fold(0, i64::saturating_add);
        if tree.nodes[node].parent.is_none() {
            total = total.saturating_add(work[node]);
        }
    }
    (work, total)
}

fn in_order(trace: &Trace, mut ranges: Vec<u32>) -> Vec<u32> {
    ranges.sort_by_key(|range| trace.ranges.begin[*range as usize]);
    ranges
}
