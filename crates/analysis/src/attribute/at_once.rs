//! When several start/end ranges are open at once, as ncu's `--nvtx-include A,B` requires.

use std::collections::{BTreeMap, HashMap};

use nvtx::{Kind, NcuGate};
use trace::{StringId, Trace, in_windows};

use super::launch_groups::LaunchGroups;

/// By process: the times when all ranges named by the gate are open. Start/end ranges
/// count for the whole process, whichever thread began them.
fn stretches(trace: &Trace, gate: &NcuGate) -> BTreeMap<u32, Vec<(i64, i64)>> {
    let ranges = &trace.ranges;
    let mut named: HashMap<(StringId, StringId), Vec<usize>> = HashMap::new();
    let mut changes: BTreeMap<u32, Vec<(i64, i8, usize)>> = BTreeMap::new();
    for range in (0..ranges.len()).filter(|range| ranges.kind[*range] == Kind::StartEnd) {
        // Measured on 2025.3.1: a wide string opens nothing for ncu, unless it is registered.
        if ranges.wide[range] && !ranges.registered[range] {
            continue;
        }
        let (domain, name) = (ranges.domain[range], ranges.name[range]);
        let text = |id| trace.strings.text(id);
        let which = named.entry((domain, name)).or_insert_with(|| gate.started_as(text(domain), text(name)));
        let of_process = changes.entry(trace.process_of(ranges.thread[range])).or_default();
        for at in which {
            of_process.extend([(ranges.begin[range], 1, *at), (ranges.end[range], -1, *at)]);
        }
    }
    changes.into_iter().map(|(process, changes)| (process, all_open(changes, gate.started_names()))).collect()
}

/// A time, the change in the number of open ranges of a name, and the name.
fn all_open(mut changes: Vec<(i64, i8, usize)>, names: usize) -> Vec<(i64, i64)> {
    // At the same time, ends come before begins.
    changes.sort_unstable();
    let mut open = vec![0_i64; names];
    let (mut since, mut stretches) = (None, Vec::new());
    for (time, change, name) in changes {
        open[name] += i64::from(change);
        match (since, open.iter().all(|open| *open > 0)) {
            (None, true) => since = Some(time),
            (Some(begin), false) => {
                stretches.push((begin, time));
                since = None;
            }
            _ => {}
        }
    }
    stretches
}

/// How often all ranges of such a gate are open at once.
pub fn times_at_once(trace: &Trace, gate: &NcuGate) -> u64 {
    stretches(trace, gate).values().map(|of| of.len() as u64).sum()
}

/// By launch: whether it was made while they were.
pub fn launches_at_once(trace: &Trace, launches: &LaunchGroups, gate: &NcuGate) -> Vec<bool> {
    let stretches = stretches(trace, gate);
    let inside = |(activity, at): (&u32, &i64)| {
        let process = trace.activities.process[*activity as usize];
        stretches.get(&process).is_some_and(|of| in_windows(of, *at))
    };
    launches.activity.iter().zip(&launches.at_ns).map(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{OPEN, Process, Range, Thread};

    /// Name, thread, begin, end. The first two threads are of one process.
    fn trace(ranges: &[(&str, u32, i64, i64)]) -> Trace {
        let thread = |process| Thread { process, id: 0, name: None };
        let mut trace = Trace {
            processes: vec![Process::default(), Process::default()],
            threads: [0, 0, 1].map(thread).to_vec(),
            ..Trace::default()
        };
        let domain = trace.strings.intern("");
        for (name, thread, begin, end) in ranges.iter().copied() {
            let name = trace.strings.intern(name);
            let range = Range { thread, domain, name, begin, end, ..Range::default() };
            trace.ranges.push(Range { kind: Kind::StartEnd, ..range });
        }
        trace.finish();
        trace
    }

    fn stretches_of(gate: &str, ranges: &[(&str, u32, i64, i64)]) -> Vec<(i64, i64)> {
        let trace = trace(ranges);
        let gate = NcuGate::parse(gate).unwrap();
        assert_eq!(times_at_once(&trace, &gate), stretches(&trace, &gate).values().flatten().count() as u64);
        stretches(&trace, &gate).into_values().flatten().collect()
    }

    #[test]
    fn both_must_be_open() {
        let both = [("sx", 0, 0, 10), ("sy", 1, 5, 20)];
        assert_eq!(stretches_of("sx,sy", &both), [(5, 10)]);
        assert_eq!(stretches_of("sy,sx", &both), [(5, 10)]);
        assert_eq!(stretches_of("sx", &both), [(0, 10)]);
        assert_eq!(stretches_of("sx,sz", &both), []);
        assert_eq!(stretches_of("regex:x$,y$", &both), [(5, 10)]);
        // One after the other, and in two processes.
        assert_eq!(stretches_of("sx,sy", &[("sx", 0, 0, 5), ("sy", 0, 5, 9)]), []);
        assert_eq!(stretches_of("sx,sy", &[("sx", 0, 0, 5), ("sy", 2, 0, 9)]), []);
    }

    #[test]
    fn each_time_counts() {
        let again = [("sx", 0, 0, 30), ("sy", 0, 5, 10), ("sy", 0, 8, 12), ("sy", 0, 20, OPEN)];
        assert_eq!(stretches_of("sx,sy", &again), [(5, 12), (20, 30)]);
        assert_eq!(stretches_of("sx,sy/", &again), [], "that is a name of a push/pop range");
    }
}
