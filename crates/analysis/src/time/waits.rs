//! When threads waited for a device, or for a copy.

use std::collections::HashMap;

use trace::Trace;

use crate::attribute::{copies, synchronises};

/// Calls that wait, by thread, in order of time.
pub(crate) struct Waits {
    threads: HashMap<u32, Vec<(i64, i64, bool)>>,
}

impl Waits {
    pub(crate) fn of(trace: &Trace) -> Self {
        // By name: there are many calls, and few names.
        let mut kinds: Vec<Option<(bool, bool)>> = Vec::new();
        let mut threads: HashMap<u32, Vec<(i64, i64, bool)>> = HashMap::new();
        for call in 0..trace.calls.len() {
            let name = trace.calls.name[call];
            if kinds.len() <= name.index() {
                kinds.resize(name.index() + 1, None);
            }
            let (syncs, copies) = *kinds[name.index()].get_or_insert_with(|| {
                let name = trace.strings.text(name);
                (synchronises(name), copies(name))
            });
            if syncs || copies {
                let wait = (trace.calls.begin[call], trace.calls.end[call], syncs);
                threads.entry(trace.calls.thread[call]).or_default().push(wait);
            }
        }
        for waits in threads.values_mut() {
            if !waits.is_sorted() {
                waits.sort_unstable();
            }
        }
        Self { threads }
    }

    /// Time that a thread waited for the device, and for copies.
    pub(crate) fn within(&self, thread: u32, from: i64, to: i64) -> (i64, i64) {
        let (mut syncs, mut copies) = (0, 0);
        let Some(waits) = self.threads.get(&thread) else { return (0, 0) };
        // Calls of one thread do not overlap, so only the one before may reach in.
        let first = waits.partition_point(|(begin, _, _)| *begin < from).saturating_sub(1);
        let mut done = from;
        for (begin, end, sync) in &waits[first..] {
            if *begin >= to {
                break;
            }
            let part = (*end).min(to).saturating_sub((*begin).max(done)).max(0);
            done = done.max((*end).min(to));
            *(if *sync { &mut syncs } else { &mut copies }) += part;
        }
        (syncs, copies)
    }
}
