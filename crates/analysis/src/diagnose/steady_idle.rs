//! What the device waits for in the steady iterations of a loop.

use super::case::Case;
use crate::replay::CallKind;
use crate::time::{Causes, IdleCause, LAUNCH_LATENCY_NS};

/// Parts of the steady time, the largest first. Gaps are told apart as in [`idle`](crate::idle()).
pub(super) fn steady_idle(case: &Case<'_>) -> Vec<(IdleCause, f64)> {
    let mut order: Vec<usize> = (0..case.graph.works.len()).collect();
    order.sort_by_key(|at| case.graph.works[*at].began);
    let mut causes = Causes::default();
    let mut until: Option<i64> = None;
    for work in order.into_iter().map(|at| &case.graph.works[at]) {
        let call = case.graph.calls[work.call as usize].call as usize;
        let called = case.trace.calls.begin[call];
        gap(case, &mut causes, until.unwrap_or(work.began), (work.began, called, work.call as usize));
        until = Some(until.unwrap_or(i64::MIN).max(work.began + work.duration));
    }
    // From the last work to the first of the iteration behind it.
    if let Some((until, (began, called))) = until.zip(next(case)) {
        gap(case, &mut causes, until, (began, called, case.graph.calls.len()));
    }
    causes.shares((case.graph.measured * case.iterations()) as i64)
}

/// What a device waited for until a work began that was called for at a time, by the call at this place of the graph.
fn gap(case: &Case<'_>, causes: &mut Causes, from: i64, (began, called, call): (i64, i64, usize)) {
    let gap = began.saturating_sub(from);
    if gap <= 0 {
        return;
    }
    if called <= from {
        *(if gap <= LAUNCH_LATENCY_NS { &mut causes.launch_ns } else { &mut causes.true_gap_ns }) += gap;
        return;
    }
    let to = called.min(began);
    let (sync, copy) = waited(case, call, from, to);
    causes.launch_ns += began - to;
    causes.sync_ns += sync;
    causes.copy_ns += copy;
    causes.host_ns += to - from - sync - copy;
}

/// When the first work behind the iterations of the graph begins, and when it was called for.
fn next(case: &Case<'_>) -> Option<(i64, i64)> {
    let began = *case.steady.on_device.get(case.graph.first + case.graph.iterations)?;
    let activities = &case.trace.activities;
    let is_next =
        |at: &usize| activities.begin[*at] == began && activities.process[*at] == case.steady.process;
    let call = case.attribution.call[(0..activities.len()).find(is_next)?];
    Some((began, *case.trace.calls.begin.get(call as usize)?))
}

/// Time in calls before one that waited for the device, and for copies.
fn waited(case: &Case<'_>, call: usize, from: i64, to: i64) -> (i64, i64) {
    let (mut sync, mut copy) = (0, 0);
    for before in case.graph.calls[..call].iter().rev() {
        let at = before.call as usize;
        let (begin, end) = (case.trace.calls.begin[at], case.trace.calls.end[at]);
        if end <= from {
            break;
        }
        let part = (end.min(to) - begin.max(from)).max(0);
        match before.kind {
            CallKind::Wait => sync += part,
            CallKind::Copy if before.awaits.is_some() => copy += part,
            _ => {}
        }
    }
    (sync, copy)
}
