//! What the time of a loop is made of, by name, and the loop with other times of it.

use std::cmp::Reverse;
use std::collections::HashMap;

use nvtx::RegionPattern;
use trace::{ActivityKind, Direction, StringId, Trace};

use super::super::case::Case;
use super::change::{Change, ChangeOf};
use crate::replay::{Call, Graph};

/// Names that are told when nothing has the one that was typed.
const MOST_NAMED: usize = 4;
/// A name that is longer is told by its beginning.
const LONGEST: usize = 60;

/// Something that can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// Its full and its short name.
    Kernel(StringId, StringId),
    Copy(Direction),
    Call(StringId),
    /// Between calls, by the innermost region.
    Host(Option<u32>),
}

/// All of one part, in all iterations.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) times: u64,
    pub(super) time_ns: i64,
    /// Of that, calls that wait for the device.
    pub(super) waited_ns: i64,
}

impl Sum {
    pub(super) fn add(&mut self, other: Self) {
        self.times += other.times;
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
    }
}

/// By part, what its time is multiplied by.
pub(super) type Factors = HashMap<Part, f64>;

pub(super) struct Parts<'c, 't> {
    case: &'c Case<'t>,
    sums: HashMap<Part, Sum>,
    /// By call: how the time before it is divided among regions.
    gaps: Vec<Vec<(Option<u32>, i64)>>,
}

impl<'c, 't> Parts<'c, 't> {
    pub(super) fn of(case: &'c Case<'t>) -> Self {
        let gaps: Vec<_> = case.graph.calls.iter().map(|call| gap(case, call)).collect();
        let mut sums: HashMap<Part, Sum> = HashMap::new();
        let mut add = |part, time_ns, waited_ns| {
            sums.entry(part).or_default().add(Sum { times: 1, time_ns, waited_ns });
        };
        for activity in case.graph.works.iter().flat_map(|work| case.graph.activities(work)) {
            if let Some(part) = part(case.trace, *activity) {
                add(part, case.trace.activities.duration(*activity as usize), 0);
            }
        }
        for (call, gap) in case.graph.calls.iter().zip(&gaps) {
            gap.iter().for_each(|(node, time)| add(Part::Host(*node), *time, 0));
            let (name, took) = (case.trace.calls.name[call.call as usize], case.taken(call));
            add(Part::Call(name), took, call.waited);
        }
        Self { case, sums, gaps }
    }

    /// What a change is about; nothing if no part has its name.
    pub(super) fn meant(&self, change: &Change) -> Vec<(Part, Sum)> {
        let case = self.case;
        let text = |name: StringId| case.trace.strings.text(name);
        let in_region = if change.of == ChangeOf::Host { self.regions(change) } else { Vec::new() };
        let is_meant = |part: &Part| match (change.of, *part) {
            (ChangeOf::Kernel, Part::Kernel(name, short)) => {
                change.means(text(name)) || change.means(text(short))
            }
            (ChangeOf::Copy, Part::Copy(direction)) => change.means(direction.as_str()),
            // nsys adds the version of the interface.
            (ChangeOf::Call, Part::Call(name)) => {
                change.means(text(name)) || change.means(trace::names::call(text(name)))
            }
            (ChangeOf::Host, Part::Host(node)) => {
                change.means_everywhere() || node.is_some_and(|node| in_region[node as usize])
            }
            _ => false,
        };
        self.sums.iter().filter(|(part, _)| is_meant(part)).map(|(part, sum)| (*part, *sum)).collect()
    }

    /// By node: whether it is the region of a change, or is inside it.
    fn regions(&self, change: &Change) -> Vec<bool> {
        let (trace, tree) = (self.case.trace, &self.case.attribution.tree);
        let path = change.path();
        let mut meant: Vec<bool> = Vec::with_capacity(tree.nodes.len());
        for (at, node) in (0u32..).zip(&tree.nodes) {
            let has_path = |path: &RegionPattern| {
                let above = std::iter::successors(Some(at), |node| tree.nodes[*node as usize].parent);
                // Only a path of as many names: some trees are very deep.
                above.take(path.names().len() + 1).count() == path.names().len()
                    && path.matches(&tree.path(trace, at))
            };
            // Parents come first.
            let is_inside = node.parent.is_some_and(|parent| meant[parent as usize]);
            let is_meant = is_inside
                || change.means(trace.strings.text(node.name))
                || path.as_ref().is_some_and(has_path);
            meant.push(is_meant);
        }
        meant
    }

    /// Whether it has graphs whose kernels are not known.
    pub(super) fn has_whole_graphs(&self) -> bool {
        self.case.graph.works.iter().any(|work| self.case.kind(work) == ActivityKind::Graph)
    }

    /// The names there are, those like the typed one first, then those with the most time; none if there are none.
    pub(super) fn names(&self, change: &Change) -> Option<String> {
        let mut times: HashMap<Part, i64> = HashMap::new();
        for (part, sum) in &self.sums {
            // Kernels of one short name may have several full ones.
            let part = if let Part::Kernel(_, short) = *part { Part::Kernel(short, short) } else { *part };
            let time = times.entry(part).or_default();
            *time = time.saturating_add(sum.time_ns);
        }
        let mut all: Vec<(Part, &str, i64)> = times
            .into_iter()
            .filter_map(|(part, time)| Some((part, self.name(change.of, part)?, time)))
            .collect();
        all.sort_by_key(|(_, name, time)| (Reverse((change.is_like(name), *time)), *name));
        let shown = |(part, name, _): &(Part, &str, i64)| {
            let name =
                if let Part::Host(Some(node)) = *part { self.case.path(node) } else { (*name).to_owned() };
            match name.char_indices().nth(LONGEST) {
                Some((end, _)) => format!("`{}…`", &name[..end]),
                None => format!("`{name}`"),
            }
        };
        let names: Vec<String> = all.iter().take(MOST_NAMED).map(shown).collect();
        let more = match all.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!names.is_empty()).then(|| names.join(", ") + &more)
    }

    /// Of a region only its own name; none if a change of this kind cannot mean it.
    fn name(&self, of: ChangeOf, part: Part) -> Option<&'t str> {
        let text = |name: StringId| self.case.trace.strings.text(name);
        match (of, part) {
            (ChangeOf::Kernel, Part::Kernel(_, short)) => Some(text(short)),
            (ChangeOf::Copy, Part::Copy(direction)) => Some(direction.as_str()),
            (ChangeOf::Call, Part::Call(name)) => Some(text(name)),
            (ChangeOf::Host, Part::Host(Some(node))) => {
                Some(text(self.case.attribution.tree.nodes[node as usize].name))
            }
            _ => None,
        }
    }

    /// Gives every part of the graph its new time.
    pub(super) fn change(&self, graph: &mut Graph, factors: &Factors) {
        let factor = |part: Part| factors.get(&part).copied();
        for (call, gap) in graph.calls.iter_mut().zip(&self.gaps) {
            for (node, time) in gap {
                if let Some(factor) = factor(Part::Host(*node)) {
                    call.gap = call.gap.saturating_add(scaled(*time, factor).saturating_sub(*time));
                }
            }
            if let Some(factor) = factor(Part::Call(self.case.trace.calls.name[call.call as usize])) {
                call.own = scaled(call.own, factor);
                // The clocks of host and device may differ a little.
                call.tail = if call.tail > 0 { scaled(call.tail, factor) } else { call.tail };
                if factor <= 0.0 {
                    call.awaits = None;
                }
            }
        }
        for work in &mut graph.works {
            let activities = self.case.graph.activities(work);
            let factors: Vec<f64> = activities
                .iter()
                .map(|activity| part(self.case.trace, *activity).and_then(factor).unwrap_or(1.0))
                .collect();
            work.duration = match factors[..] {
                [factor] => scaled(work.duration, factor),
                _ => self.graph_duration(work.duration, activities, &factors),
            };
        }
    }

    /// Of a graph in which activities may overlap: while several run, it takes as long as the one that gains least.
    fn graph_duration(&self, duration: i64, activities: &[u32], factors: &[f64]) -> i64 {
        let mut slowest_first: Vec<f64> = factors.to_vec();
        slowest_first.sort_by(|a, b| b.total_cmp(a));
        slowest_first.dedup();
        let (mut counted, mut then) = (0i64, 0.0);
        for factor in slowest_first {
            let so_far = activities.iter().zip(factors).filter(|(_, other)| **other >= factor);
            let times = so_far.map(|(activity, _)| {
                let begin = self.case.trace.activities.begin[*activity as usize];
                (begin, self.case.trace.activities.end[*activity as usize].max(begin))
            });
            let run = Trace::windows_of(times.collect());
            let run: i64 = run.iter().map(|(begin, end)| end - begin).sum();
            then += (run - counted) as f64 * factor;
            counted = run;
        }
        // Between activities nothing changes.
        (duration - counted).max(0).saturating_add(then.round() as i64)
    }
}

fn part(trace: &Trace, activity: u32) -> Option<Part> {
    let at = activity as usize;
    let detail = trace.activities.detail[at] as usize;
    match trace.activities.kind[at] {
        ActivityKind::Kernel => {
            let launch = &trace.activities.launches[detail];
            Some(Part::Kernel(launch.name, launch.short_name))
        }
        ActivityKind::Copy | ActivityKind::Fill => {
            Some(Part::Copy(trace.activities.transfers[detail].direction))
        }
        _ => None,
    }
}

/// The time before a call, by region.
fn gap(case: &Case<'_>, call: &Call) -> Vec<(Option<u32>, i64)> {
    let at = call.call as usize;
    let (thread, begin) = (case.trace.calls.thread[at], case.trace.calls.begin[at]);
    if call.gap > 0 { case.open.between(thread, begin.saturating_sub(call.gap), begin) } else { Vec::new() }
}

fn scaled(time: i64, factor: f64) -> i64 {
    (time as f64 * factor).round() as i64
}
