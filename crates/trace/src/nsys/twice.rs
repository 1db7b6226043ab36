//! Calls that were recorded twice.
//!
//! Older versions of nsys export a call of the runtime and the driver's call inside it with one
//! correlation, or one call in two rows. They are one call: the outer one, which the program made.

use std::collections::{HashMap, HashSet};

use crate::model::{NONE, Trace};

/// Leaves out every call that lies within another of the same thread and correlation.
pub(super) fn once(trace: &mut Trace) {
    let repeated = repeated(trace);
    if repeated.is_empty() {
        return;
    }
    let mut groups: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
    for call in 0..trace.calls.len() {
        let (thread, correlation) = (trace.calls.thread[call], trace.calls.correlation[call]);
        if repeated.contains(&(trace.process_of(thread), correlation)) {
            groups.entry((thread, correlation)).or_default().push(call);
        }
    }
    let mut inner = HashSet::new();
    for mut calls in groups.into_values() {
        let (begin, end) = (&trace.calls.begin, &trace.calls.end);
        // The outer one first, of equal ones the first.
        calls.sort_by_key(|call| (begin[*call], std::cmp::Reverse(end[*call]), *call));
        let mut outer = calls[0];
        for call in calls.into_iter().skip(1) {
            if end[call] <= end[outer] {
                inner.insert(call);
            } else {
                outer = call;
            }
        }
    }
    if !inner.is_empty() {
        let keep: Vec<bool> = (0..trace.calls.len()).map(|call| !inner.contains(&call)).collect();
        trace.calls.retain_rows(&keep);
    }
}

/// Processes and correlations that more than one call has.
fn repeated(trace: &Trace) -> HashSet<(u32, u32)> {
    let mut seen: Vec<Seen> = Vec::new();
    seen.resize_with(trace.processes.len(), Seen::default);
    let mut repeated = HashSet::new();
    for (thread, correlation) in trace.calls.thread.iter().zip(&trace.calls.correlation) {
        let process = trace.process_of(*thread);
        if *correlation != NONE && !seen[process as usize].insert(*correlation) {
            repeated.insert((process, *correlation));
        }
    }
    repeated
}

/// A set of correlations: almost without gaps, as a rule; a damaged file may jump.
#[derive(Default)]
struct Seen {
    dense: Vec<u64>,
    sparse: HashSet<u32>,
}

/// As many words as bits for half a billion calls take.
const MOST_WORDS: usize = 1 << 23;

impl Seen {
    /// Whether it is new.
    fn insert(&mut self, correlation: u32) -> bool {
        let (word, bit) = (correlation as usize / 64, 1 << (correlation % 64));
        if word >= MOST_WORDS {
            return self.sparse.insert(correlation);
        }
        if word >= self.dense.len() {
            self.dense.resize((word + 1).next_power_of_two(), 0);
        }
        let is_new = self.dense[word] & bit == 0;
        self.dense[word] |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Call, Process, Thread};

    /// Begin, end, thread, correlation.
    fn left(calls: &[(i64, i64, u32, u32)]) -> Vec<(i64, i64, u32, u32)> {
        let thread = |process| Thread { process, id: 0, name: None };
        let mut trace = Trace {
            processes: vec![Process::default(), Process::default()],
            threads: [0, 0, 1].map(thread).to_vec(),
            ..Trace::default()
        };
        let name = trace.strings.intern("cudaLaunchKernel");
        for (begin, end, thread, correlation) in calls.iter().copied() {
            trace.calls.push(Call { begin, end, thread, name, correlation, ..Call::default() });
        }
        once(&mut trace);
        let calls = &trace.calls;
        (0..calls.len())
            .map(|at| (calls.begin[at], calls.end[at], calls.thread[at], calls.correlation[at]))
            .collect()
    }

    #[test]
    fn the_outer_call_stays() {
        let outer = (0, 10, 0, 7);
        for inner in [(2, 8, 0, 7), (0, 10, 0, 7), (0, 5, 0, 7), (10, 10, 0, 7)] {
            assert_eq!(left(&[outer, inner]), [outer], "{inner:?}");
            assert_eq!(left(&[inner, outer]), [outer], "{inner:?}, in the other order");
        }
    }

    #[test]
    fn what_is_not_the_same_call_stays() {
        for other in
            [(2, 8, 0, 8), (2, 8, 1, 7), (2, 8, 2, 7), (20, 30, 0, 7), (2, 18, 0, 7), (2, 8, 0, NONE)]
        {
            assert_eq!(left(&[(0, 10, 0, 7), other]), [(0, 10, 0, 7), other]);
        }
        assert_eq!(left(&[(0, 1, 0, NONE), (0, 1, 0, NONE)]).len(), 2);
        let far = u32::MAX - 1;
        assert_eq!(left(&[(0, 9, 0, far), (1, 2, 0, far), (0, 9, 0, 7)]), [(0, 9, 0, far), (0, 9, 0, 7)]);
    }
}
