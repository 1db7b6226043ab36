//! Launches of graphs whose nodes were recorded, among others of the same graph that were recorded as a whole.
//!
//! They take longer on the host, and their kernels say nothing about how many kernels ran: in the trace they are
//! whole graphs, too, and their nodes are set apart.

use std::collections::{HashMap, HashSet};

use crate::count::counted;
use crate::model::{Activity, ActivityKind, Diagnostic, NONE, Trace};

/// A launch: its process and its correlation.
type Key = (u32, u32);
/// When a launch begins and ends, and which it is if it was recorded node by node.
type Extent = (i64, i64, Option<Key>);

pub(super) fn set_apart(trace: &mut Trace) {
    let activities = &trace.activities;
    let is_whole = |at: &usize| activities.kind[*at] == ActivityKind::Graph;
    let graph = |at: usize| (activities.process[at], activities.detail[at]);
    let whole: HashSet<(u32, u32)> = (0..activities.len()).filter(is_whole).map(graph).collect();
    let is_sample = |at: usize| {
        let node = activities.node[at];
        node != 0 && whole.contains(&(activities.process[at], (node >> 32) as u32))
    };
    let keep: Vec<bool> = (0..activities.len()).map(|at| !is_sample(at)).collect();
    if keep.iter().all(|keep| *keep) {
        return;
    }
    let mut launches: HashMap<Key, Activity> = HashMap::new();
    for at in (0..activities.len()).filter(|at| !keep[*at]) {
        let row = activities.row(at);
        // What the device launched itself belongs to a launch that is known by its other nodes.
        if row.correlation != NONE {
            let launch = launches.entry((row.process, row.correlation)).or_insert(Activity {
                kind: ActivityKind::Graph,
                detail: (row.node >> 32) as u32,
                ..row
            });
            (launch.begin, launch.end) = (launch.begin.min(row.begin), launch.end.max(row.end));
        }
    }
    let wrong = overtaken(trace, &launches);
    for at in (0..activities.len()).filter(|at| !keep[*at]) {
        if !wrong.contains(&(activities.process[at], activities.correlation[at])) {
            trace.graph_samples.push(activities.row(at));
        }
    }
    trace.activities.retain_rows(&keep);
    launches.retain(|key, _| !wrong.contains(key));
    let mut launches: Vec<Activity> = launches.into_values().collect();
    launches.sort_by_key(|launch| (launch.begin, launch.process, launch.correlation));
    launches.into_iter().for_each(|launch| trace.activities.push(launch));
    if let Some(text) = slower_since(trace) {
        trace.diagnostics.push(Diagnostic { text, lost: false });
    }
    if !wrong.is_empty() {
        let text = format!(
            "{} of a CUDA graph, during which the recording of its kernels ended, left out: CUPTI gave it wrong times",
            counted(wrong.len() as u64, "launch")
        );
        trace.diagnostics.push(Diagnostic { text, lost: false });
    }
}

/// What CUPTI puts into a graph to record its kernels stays there: launches as a whole take longer afterwards.
fn slower_since(trace: &Trace) -> Option<String> {
    const ENOUGH: usize = 5;
    const SLOWER: f64 = 1.02;
    let activities = &trace.activities;
    let mut first_sample: HashMap<(u32, u32), i64> = HashMap::new();
    let mut sampled: HashSet<Key> = HashSet::new();
    for at in 0..trace.graph_samples.len() {
        let row = trace.graph_samples.row(at);
        sampled.insert((row.process, row.correlation));
        let first = first_sample.entry((row.process, (row.node >> 32) as u32)).or_insert(i64::MAX);
        *first = row.begin.min(*first);
    }
    let mut times: HashMap<(u32, u32), [Vec<i64>; 2]> = HashMap::new();
    for at in (0..activities.len()).filter(|at| activities.kind[*at] == ActivityKind::Graph) {
        let graph = (activities.process[at], activities.detail[at]);
        let Some(first) = first_sample.get(&graph) else { continue };
        if sampled.contains(&(activities.process[at], activities.correlation[at])) {
            continue;
        }
        let (begin, end) = (activities.begin[at], activities.end[at]);
        times.entry(graph).or_default()[usize::from(begin >= *first)].push(end.saturating_sub(begin));
    }
    let median = |mut times: Vec<i64>| {
        times.sort_unstable();
        (times.len() >= ENOUGH).then(|| times[times.len() / 2] as f64)
    };
    let changes = times.into_iter().filter_map(|((_, graph), [before, after])| {
        let (before, after) = (median(before)?, median(after)?);
        (after > before * SLOWER).then_some((graph, before, after))
    });
    let (graph, before, after) =
        changes.max_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1)).then(b.0.cmp(&a.0)))?;
    Some(format!(
        "recording the kernels of CUDA graph {graph} has made it slower for good: {:.1} us a launch on the GPU before, \
         {:.1} us after; for times without that, set `rehearsal.graph_nodes=false`",
        before / 1e3,
        after / 1e3
    ))
}

/// Launches that seem to last until after the next one of the same stream has begun. Seen with CUPTI 13: the last one
/// of which the nodes are recorded has the times of a later flush.
fn overtaken(trace: &Trace, launches: &HashMap<Key, Activity>) -> HashSet<Key> {
    let activities = &trace.activities;
    let mut streams: HashMap<(u32, u16, u32), Vec<Extent>> = HashMap::new();
    let mut add = |row: &Activity, key: Option<Key>| {
        streams.entry((row.process, row.device, row.stream)).or_default().push((row.begin, row.end, key));
    };
    let whole = (0..activities.len()).filter(|at| activities.kind[*at] == ActivityKind::Graph);
    whole.for_each(|at| add(&activities.row(at), None));
    launches.iter().for_each(|(key, launch)| add(launch, Some(*key)));
    let mut wrong = HashSet::new();
    for launches in streams.values_mut() {
        launches.sort_unstable_by_key(|(begin, ..)| *begin);
        for pair in launches.windows(2) {
            if let [(_, end, Some(key)), (begin, ..)] = pair
                && end > begin
            {
                wrong.insert(*key);
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Launch, Process};

    /// A launch of graph 2 from `begin` to `end`, as a whole, or of two nodes.
    fn launched(trace: &mut Trace, correlation: u32, begin: i64, end: i64, nodes: bool) {
        let row = Activity { correlation, begin, end, in_graph: true, ..Activity::default() };
        if nodes {
            let middle = i64::midpoint(begin, end);
            trace.activities.push(Activity { end: middle, node: 2 << 32, ..row });
            trace.activities.push(Activity { begin: middle, node: 2 << 32 | 1, ..row });
        } else {
            trace.activities.push(Activity { kind: ActivityKind::Graph, detail: 2, ..row });
        }
    }

    fn trace_of(launches: &[(i64, i64, bool)]) -> Trace {
        let mut trace = Trace { processes: vec![Process::default()], ..Trace::default() };
        trace.activities.launches.push(Launch::default());
        for (correlation, (begin, end, nodes)) in (1..).zip(launches) {
            launched(&mut trace, correlation, *begin, *end, *nodes);
        }
        set_apart(&mut trace);
        trace
    }

    #[test]
    fn some_of_many() {
        let trace = trace_of(&[(0, 10, false), (20, 32, true), (40, 50, false)]);
        let shown =
            |at: usize| (trace.activities.begin[at], trace.activities.end[at], trace.activities.node[at]);
        assert_eq!(
            (0..trace.activities.len()).map(shown).collect::<Vec<_>>(),
            [(0, 10, 0), (40, 50, 0), (20, 32, 2 << 32)]
        );
        assert!(trace.activities.kind.iter().all(|kind| *kind == ActivityKind::Graph));
        assert_eq!(trace.graph_samples.node, [2 << 32, 2 << 32 | 1]);
        assert!(trace.diagnostics.is_empty());
    }

    #[test]
    fn all_are_what_they_are() {
        let trace = trace_of(&[(0, 10, true), (20, 32, true)]);
        assert_eq!((trace.activities.len(), trace.graph_samples.len()), (4, 0));
    }

    #[test]
    fn times_that_cannot_be() {
        let trace = trace_of(&[(0, 10, false), (20, 32, true), (35, 900, true), (50, 60, false)]);
        assert_eq!((trace.activities.len(), trace.graph_samples.len()), (3, 2));
        assert_eq!(trace.diagnostics.len(), 1);
    }

    #[test]
    fn a_graph_that_became_slower_is_told() {
        let launches = |after: i64| -> Vec<(i64, i64, bool)> {
            (0..30).map(|at| (at * 1000, at * 1000 + if at < 10 { 100 } else { after }, at == 10)).collect()
        };
        let told = |after: i64| {
            let trace = trace_of(&launches(after));
            trace.diagnostics.into_iter().map(|row| row.text).collect::<Vec<_>>()
        };
        assert!(told(101).is_empty());
        let told = told(120);
        assert!(
            told.len() == 1 && told[0].contains("graph 2 has made it slower for good: 0.1 us"),
            "{told:?}"
        );
    }
}
