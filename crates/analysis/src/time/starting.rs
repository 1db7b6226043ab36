//! Samples of a process before its stacks can be read, because its interpreter is not there yet.

use std::collections::HashMap;

use trace::Trace;

use super::host_places::is_readable;

/// So long after its first sample, a process that is read later may still have been starting.
const LONGEST_NS: i64 = 200_000_000;

/// Of each process that is read at some time, until when it was starting.
#[derive(Debug)]
pub(crate) struct Starting(HashMap<u32, i64>);

impl Starting {
    pub(crate) fn of(trace: &Trace) -> Self {
        let samples = &trace.stacks.samples;
        let mut readable: HashMap<u32, bool> = HashMap::new();
        let mut first: HashMap<u32, i64> = HashMap::new();
        let mut read: HashMap<u32, i64> = HashMap::new();
        for row in 0..samples.len() {
            let (process, stack, at) =
                (trace.process_of(samples.thread[row]), samples.stack[row], samples.at[row]);
            first.entry(process).and_modify(|first| *first = at.min(*first)).or_insert(at);
            if *readable.entry(stack).or_insert_with(|| is_readable(trace, stack)) {
                read.entry(process).and_modify(|read| *read = at.min(*read)).or_insert(at);
            }
        }
        let until =
            |(process, read): (u32, i64)| (process, read.min(first[&process].saturating_add(LONGEST_NS)));
        Self(read.into_iter().map(until).collect())
    }

    pub(crate) fn has(&self, trace: &Trace, row: usize) -> bool {
        let samples = &trace.stacks.samples;
        self.0.get(&trace.process_of(samples.thread[row])).is_some_and(|until| samples.at[row] < *until)
    }
}
