//! Regions: all ranges with one path, and how long they took on the host.

use std::collections::BTreeSet;

use nvtx::{Kind, RegionPath};
use serde::Serialize;
use trace::{OPEN, Trace};

use super::tree::Tree;
use crate::statistics::percentile;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    pub path: RegionPath,
    pub kind: Kind,
    pub registered: Registered,
    /// Given as wide characters, at least once.
    pub wide: bool,
    pub threads: u32,
    pub processes: u32,
    /// Instances in processes that came from a fork without an exec.
    pub forked: u64,
    pub instances: u64,
    /// Of those, still open when the recording ended; not in the times.
    pub open: u64,
    /// When the first one began, from the start of the recording.
    pub first_begin_ns: i64,
    /// When the last one began.
    pub last_begin_ns: i64,
    /// When the last one to end did, or the recording, if one is open.
    pub last_end_ns: i64,
    /// None when every instance is open.
    pub times: Option<Times>,
    /// What the first one took, unless it is open.
    pub first_ns: Option<i64>,
    /// Without the first instance: the steady state.
    pub steady: Option<Times>,
}

/// Whether the program registered the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Registered {
    Yes,
    No,
    /// Some instances do, some do not.
    Mixed,
}

/// How long ranges took, in nanoseconds of the host's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Times {
    pub count: u64,
    pub total_ns: i64,
    pub mean_ns: i64,
    pub std_ns: i64,
    pub min_ns: i64,
    pub p50_ns: i64,
    pub p95_ns: i64,
    pub max_ns: i64,
}

impl Times {
    /// None when there are none.
    pub fn of(durations: &[i64]) -> Option<Self> {
        let mut sorted = durations.to_vec();
        sorted.sort_unstable();
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len();
        // A damaged trace may hold any times at all.
        let total = sorted.iter().fold(0i64, |total, duration| total.saturating_add(*duration));
        let mean = total as f64 / count as f64;
        let spread: f64 = sorted.iter().map(|duration| (*duration as f64 - mean).powi(2)).sum();
        let deviation = if count > 1 { (spread / (count - 1) as f64).sqrt() } else { 0.0 };
        Some(Self {
            count: count as u64,
            total_ns: total,
            mean_ns: mean.round() as i64,
            std_ns: deviation.round() as i64,
            min_ns: min,
            p50_ns: percentile(&sorted, 50)?,
            p95_ns: percentile(&sorted, 95)?,
            max_ns: max,
        })
    }
}

/// Every region of a trace, those of libraries too, parents before their children, in the order of first
/// appearance.
pub fn regions(trace: &Trace) -> Vec<Region> {
    let tree = Tree::of(trace);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); tree.nodes.len()];
    for (range, node) in tree.node_of.iter().enumerate() {
        members[*node as usize].push(range as u32);
    }
    tree.order(trace).into_iter().map(|node| region(trace, &tree, node, &members[node as usize])).collect()
}

fn region(trace: &Trace, tree: &Tree, node: u32, members: &[u32]) -> Region {
    let ranges = &trace.ranges;
    let mut members = members.to_vec();
    members.sort_by_key(|range| ranges.begin[*range as usize]);
    let duration = |range: &u32| {
        let (begin, end) = (ranges.begin[*range as usize], ranges.end[*range as usize]);
        (end != OPEN).then(|| (end - begin).max(0))
    };
    let durations: Vec<i64> = members.iter().filter_map(duration).collect();
    let threads: BTreeSet<u32> = members.iter().map(|range| ranges.thread[*range as usize]).collect();
    let processes: BTreeSet<u32> = threads.iter().map(|thread| trace.process_of(*thread)).collect();
    let in_fork = |range: &u32| {
        let thread = &trace.threads[ranges.thread[*range as usize] as usize];
        trace.processes[thread.process as usize].forked
    };
    let registered = members.iter().filter(|range| ranges.registered[**range as usize]).count();
    let last_end = members.iter().map(|range| ranges.end[*range as usize].min(trace.end)).max().unwrap_or(0);
    let begin = |range: Option<&u32>| {
        range.map_or(0, |range| ranges.begin[*range as usize].saturating_sub(trace.begin))
    };
    Region {
        path: tree.path(trace, node),
        kind: tree.nodes[node as usize].kind,
        registered: match registered {
            0 => Registered::No,
            all if all == members.len() => Registered::Yes,
            _ => Registered::Mixed,
        },
        wide: members.iter().any(|range| ranges.wide[*range as usize]),
        threads: threads.len() as u32,
        processes: processes.len() as u32,
        forked: members.iter().filter(|range| in_fork(range)).count() as u64,
        instances: members.len() as u64,
        open: (members.len() - durations.len()) as u64,
        first_begin_ns: begin(members.first()),
        last_begin_ns: begin(members.last()),
        last_end_ns: last_end.saturating_sub(trace.begin),
        times: Times::of(&durations),
        first_ns: members.first().and_then(duration),
        steady: Times::of(&members.iter().skip(1).filter_map(duration).collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Process, Range, Thread};

    /// `(thread, name, begin, end, parent)`, all push/pop in the default domain.
    fn trace_of(rows: &[(u32, &str, i64, i64, Option<u32>)]) -> Trace {
        let mut trace = Trace::default();
        trace.processes.push(Process { pid: 1, ..Process::default() });
        for id in 0..2 {
            trace.threads.push(Thread { process: 0, id, name: None });
        }
        let domain = trace.strings.intern("");
        for (thread, name, begin, end, parent) in rows {
            let name = trace.strings.intern(name);
            let (thread, begin, end) = (*thread, *begin, *end);
            trace.ranges.push(Range { thread, domain, name, begin, end, ..Range::default() });
            trace.ranges.parent.push(*parent);
        }
        trace
    }

    #[test]
    fn paths_counts_and_open_ranges() {
        let trace = trace_of(&[
            (0, "decode", 0, 100, None),
            (0, "step", 10, 20, Some(0)),
            (0, "step", 30, 60, Some(0)),
            (1, "step", 5, 15, None),
            (0, "decode", 200, OPEN, None),
        ]);
        let found = regions(&trace);
        let shown: Vec<(String, u64, u64, u32)> = found
            .iter()
            .map(|region| (region.path.to_string(), region.instances, region.open, region.threads))
            .collect();
        let expected = [(":decode", 2, 1, 1), (":decode/step", 2, 0, 1), (":step", 1, 0, 1)];
        assert_eq!(
            shown,
            expected.map(|(path, instances, open, threads)| (path.to_owned(), instances, open, threads))
        );
        let steps = found[1].times.unwrap();
        assert_eq!((steps.total_ns, steps.mean_ns, steps.min_ns, steps.max_ns), (40, 20, 10, 30));
        assert_eq!(found[1].steady.unwrap().total_ns, 30);
    }

    #[test]
    fn percentiles_are_values_that_happened() {
        let times = Times::of(&(1..=100).collect::<Vec<i64>>()).unwrap();
        assert_eq!((times.p50_ns, times.p95_ns, times.mean_ns), (50, 95, 51));
        assert_eq!(Times::of(&[]), None);
        assert_eq!(Times::of(&[7]).unwrap().p95_ns, 7);
    }
}
