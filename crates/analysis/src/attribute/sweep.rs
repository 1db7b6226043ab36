//! What was open when something happened.

use trace::{NONE, Trace};

/// Walks the calls and the intervals of one thread side by side, both in the order of their
/// begins, and finds for each call the innermost interval open when it began, or [`NONE`].
pub(crate) fn innermost(
    calls: &[u32],
    call_begins: &[i64],
    intervals: &[u32],
    begins: &[i64],
    ends: &[i64],
    mut found: impl FnMut(u32, u32),
) {
    let mut open: Vec<u32> = Vec::new();
    let mut next = intervals.iter().copied().peekable();
    for call in calls {
        let time = call_begins[*call as usize];
        while let Some(interval) = next.next_if(|interval| begins[*interval as usize] <= time) {
            while open.last().is_some_and(|last| ends[*last as usize] <= begins[interval as usize]) {
                open.pop();
            }
            open.push(interval);
        }
        while open.last().is_some_and(|last| ends[*last as usize] <= time) {
            open.pop();
        }
        found(*call, open.last().copied().unwrap_or(NONE));
    }
}

/// The calls of each thread, in the order in which they began.
pub(crate) fn by_thread(trace: &Trace) -> Vec<Vec<u32>> {
    let mut threads: Vec<Vec<u32>> = vec![Vec::new(); trace.threads.len()];
    for (call, thread) in trace.calls.thread.iter().enumerate() {
        threads[*thread as usize].push(call as u32);
    }
    let begin = |call: &u32| trace.calls.begin[*call as usize];
    for calls in &mut threads {
        if !calls.is_sorted_by_key(begin) {
            calls.sort_by_key(begin);
        }
    }
    threads
}
