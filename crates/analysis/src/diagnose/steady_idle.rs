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
        let gap = until.map_or(0, |until| work.began - until);
        if gap > 0 {
            let from = work.began - gap;
            let call = case.graph.calls[work.call as usize].call as usize;
            let called = case.trace.calls.begin[call];
            if called <= from {
                *(if gap <= LAUNCH_LATENCY_NS { &mut causes.launch_ns } else { &mut causes.true_gap_ns }) +=
                    gap;
            } else {
                causes.launch_ns += work.began - called.min(work.began);
                let to = called.min(work.began);
                let (sync, copy) = waited(case, work.call as usize, from, to);
                causes.sync_ns += sync;
                causes.copy_ns += copy;
                causes.host_ns += to - from - sync - copy;
            }
        }
        until = Some(until.unwrap_or(i64::MIN).max(work.began + work.duration));
    }
    causes.shares((case.graph.measured * case.iterations()) as i64)
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
