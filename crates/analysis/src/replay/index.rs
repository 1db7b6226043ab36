//! Calls and work of each process, in the order of the calls: what a stretch of time is found by.

use trace::{ActivityKind, NONE, Trace};

use crate::attribute::Attribution;

pub(crate) struct Index {
    /// By process: its calls.
    calls: Vec<Vec<u32>>,
    /// By process: what calls started, in the order of the calls.
    works: Vec<Vec<u32>>,
    /// By process: work whose calls were not recorded, as it began.
    uncalled: Vec<Vec<u32>>,
}

impl Index {
    pub(crate) fn of(trace: &Trace, attribution: &Attribution) -> Self {
        let mut calls: Vec<Vec<u32>> = vec![Vec::new(); trace.processes.len()];
        for (call, thread) in trace.calls.thread.iter().enumerate() {
            calls[trace.process_of(*thread) as usize].push(call as u32);
        }
        let begin = |call: &u32| trace.calls.begin[*call as usize];
        calls.iter_mut().for_each(|calls| sort_by(calls, begin));
        let mut works: Vec<Vec<u32>> = vec![Vec::new(); trace.processes.len()];
        let mut uncalled: Vec<Vec<u32>> = vec![Vec::new(); trace.processes.len()];
        for (activity, call) in attribution.call.iter().enumerate() {
            let process = trace.activities.process[activity];
            if *call == NONE {
                // Nobody calls for a migration.
                if trace.activities.kind[activity] != ActivityKind::Migration {
                    uncalled[process as usize].push(activity as u32);
                }
                continue;
            }
            // A damaged file may name a call of another process.
            if trace.process_of(trace.calls.thread[*call as usize]) == process {
                works[process as usize].push(activity as u32);
            }
        }
        let called = |activity: &u32| begin(&attribution.call[*activity as usize]);
        works.iter_mut().for_each(|works| sort_by(works, called));
        let began = |activity: &u32| trace.activities.begin[*activity as usize];
        uncalled.iter_mut().for_each(|works| sort_by(works, began));
        Self { calls, works, uncalled }
    }

    /// Calls that begin in a stretch of time.
    pub(crate) fn calls(&self, trace: &Trace, process: u32, from: i64, to: i64) -> &[u32] {
        let begin = |call: &u32| trace.calls.begin[*call as usize];
        between(&self.calls[process as usize], begin, from, to)
    }

    /// What they started.
    pub(super) fn works(
        &self,
        trace: &Trace,
        attribution: &Attribution,
        process: u32,
        from: i64,
        to: i64,
    ) -> &[u32] {
        let called = |activity: &u32| trace.calls.begin[attribution.call[*activity as usize] as usize];
        between(&self.works[process as usize], called, from, to)
    }

    /// Work whose calls were not recorded, as it began: what was in the queue when the recording began.
    pub(super) fn uncalled(&self, process: u32) -> &[u32] {
        &self.uncalled[process as usize]
    }
}

/// They are in order already, for the most part.
fn sort_by(all: &mut [u32], time: impl Fn(&u32) -> i64) {
    if !all.is_sorted_by_key(&time) {
        all.sort_by_key(&time);
    }
}

fn between(all: &[u32], time: impl Fn(&u32) -> i64, from: i64, to: i64) -> &[u32] {
    let first = all.partition_point(|one| time(one) < from);
    let end = all.partition_point(|one| time(one) < to);
    &all[first..end.max(first)]
}
