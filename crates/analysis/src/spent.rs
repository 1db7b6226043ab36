//! Device time as a tree: regions, in them operators of a framework, in those kernels, copies and graphs.
//!
//! Every activity is in one place, so that the parts of a bar add up to it. One that lies in ranges of several domains
//! is in those of the domain that has the most device time.

use std::cmp::Reverse;
use std::collections::HashMap;

use trace::{ActivityKind, Direction, NONE, StringId, Trace};

use crate::attribute::{Attribution, Node, Tree, attribute};
use crate::steady_state::SteadyState;
use crate::time::{above, parents, running_operators};

/// Where device time is spent. Nodes come after those around them.
#[derive(Debug, Default)]
pub struct Spent {
    pub nodes: Vec<SpentNode>,
    /// Of the regions, if ranges of several domains have device time.
    pub domain: Option<StringId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpentNode {
    pub around: Option<u32>,
    pub on: SpentOn,
    /// With everything in it.
    pub ns: i64,
    pub activities: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpentOn {
    /// By its name, in its domain.
    Region {
        domain: StringId,
        name: StringId,
    },
    /// In no range.
    Outside,
    Operator(StringId),
    Kernel(StringId),
    Transfer(Direction),
    /// Whole graphs, whose kernels were not recorded one by one.
    Graphs,
}

impl Spent {
    /// Of everything at the top.
    pub fn ns(&self) -> i64 {
        self.nodes
            .iter()
            .filter(|node| node.around.is_none())
            .fold(0, |sum, node| sum.saturating_add(node.ns))
    }

    fn inside(&mut self, known: &mut Known, around: Option<u32>, on: SpentOn) -> u32 {
        *known.entry((around, on)).or_insert_with(|| {
            self.nodes.push(SpentNode { around, on, ns: 0, activities: 0 });
            self.nodes.len() as u32 - 1
        })
    }
}

type Known = HashMap<(Option<u32>, SpentOn), u32>;

/// Of the whole recording, or of its steady iterations, as their table of kernels has it.
pub fn spent(trace: &Trace, steady: Option<&SteadyState>) -> Spent {
    let attribution = attribute(trace);
    let activities = &trace.activities;
    let is_meant = |activity: usize| {
        let is_work = match activities.kind[activity] {
            ActivityKind::Kernel => activities.is_shown_kernel(activity),
            ActivityKind::Migration => false,
            ActivityKind::Copy | ActivityKind::Fill | ActivityKind::Graph => true,
        };
        is_work && steady.is_none_or(|steady| steady.has(trace, activity))
    };
    let planes = planes(trace, &attribution);
    let operators = Operators::of(trace);
    let mut spent =
        Spent { nodes: Vec::new(), domain: (planes.len() > 1).then(|| attribution.planes[planes[0]].domain) };
    let mut known = Known::new();
    let mut place = vec![NONE; attribution.tree.nodes.len()];
    for activity in (0..activities.len()).filter(|activity| is_meant(*activity)) {
        let in_plane = |plane: &usize| attribution.planes[*plane].range[activity];
        let range = planes.iter().map(in_plane).find(|range| *range != NONE);
        let mut at = match range {
            None => spent.inside(&mut known, None, SpentOn::Outside),
            Some(range) => {
                let node = attribution.tree.node_of[range as usize];
                region(&attribution.tree, &mut spent, &mut known, &mut place, node)
            }
        };
        let since = range.map_or(i64::MIN, |range| trace.ranges.begin[range as usize]);
        for name in operators.around(trace, attribution.call[activity], since) {
            at = spent.inside(&mut known, Some(at), SpentOn::Operator(name));
        }
        let detail = activities.detail[activity] as usize;
        let on = match activities.kind[activity] {
            ActivityKind::Kernel => SpentOn::Kernel(activities.launches[detail].name),
            ActivityKind::Graph => SpentOn::Graphs,
            _ => SpentOn::Transfer(activities.transfers[detail].direction),
        };
        let at = spent.inside(&mut known, Some(at), on);
        let node = &mut spent.nodes[at as usize];
        node.ns = node.ns.saturating_add(activities.duration(activity));
        node.activities += 1;
    }
    // Those around others come first.
    for at in (0..spent.nodes.len()).rev() {
        let SpentNode { around, ns, activities, .. } = spent.nodes[at];
        if let Some(around) = around {
            let around = &mut spent.nodes[around as usize];
            around.ns = around.ns.saturating_add(ns);
            around.activities += activities;
        }
    }
    spent
}

/// Those that have device time, the one with the most first.
fn planes(trace: &Trace, attribution: &Attribution) -> Vec<usize> {
    let time = |plane: usize| {
        let ranges = attribution.planes[plane].range.iter().enumerate();
        let inside = ranges.filter(|(_, range)| **range != NONE);
        inside.fold(0i64, |sum, (activity, _)| sum.saturating_add(trace.activities.duration(activity)))
    };
    let mut planes: Vec<(usize, i64)> = (0..attribution.planes.len())
        .map(|plane| (plane, time(plane)))
        .filter(|(_, time)| *time > 0)
        .collect();
    planes.sort_by_key(|(plane, time)| (Reverse(*time), *plane));
    planes.into_iter().map(|(plane, _)| plane).collect()
}

/// `place` has those that are known already. Ranges may be nested deeper than a thread's stack is.
fn region(tree: &Tree, spent: &mut Spent, known: &mut Known, place: &mut [u32], node: u32) -> u32 {
    let mut missing = Vec::new();
    let mut next = Some(node);
    while let Some(node) = next.filter(|node| place[*node as usize] == NONE) {
        missing.push(node);
        next = tree.nodes[node as usize].parent;
    }
    let mut around = next.map(|node| place[node as usize]);
    for node in missing.into_iter().rev() {
        let Node { domain, name, .. } = tree.nodes[node as usize];
        let at = spent.inside(known, around, SpentOn::Region { domain, name });
        place[node as usize] = at;
        around = Some(at);
    }
    place[node as usize]
}

/// Operators around each call.
struct Operators {
    parents: Vec<Option<u32>>,
    running: Vec<Option<u32>>,
}

impl Operators {
    fn of(trace: &Trace) -> Self {
        match trace.operators.begin.is_empty() {
            true => Self { parents: Vec::new(), running: Vec::new() },
            false => Self { parents: parents(trace), running: running_operators(trace) },
        }
    }

    /// Their names, the outermost first; those that were called before the innermost range began are around it,
    /// not in it. An operator that only calls its like is one.
    fn around(&self, trace: &Trace, call: u32, since: i64) -> Vec<StringId> {
        let Some(innermost) = self.running.get(call as usize).copied().flatten() else { return Vec::new() };
        let all = std::iter::once(innermost).chain(above(&self.parents, innermost));
        let inside = all.take_while(|at| trace.operators.begin[*at as usize] >= since);
        let mut names: Vec<StringId> = inside.map(|at| trace.operators.name[at as usize]).collect();
        names.dedup();
        names.reverse();
        names
    }
}
