//! The host waits: for the device, for a copy, or for the driver's memory.

use std::collections::BTreeMap;

use trace::{Direction, counted};

use super::super::case::{Candidate, Case, Then, largest, milliseconds};
use super::super::finding::{Cause, Sureness};
use super::copies::pinned_rate;
use crate::attribute::is_async;
use crate::replay::{Call, CallKind, QUICK};

/// What a framework does before it makes a call.
const LEADS_TO_IT: i64 = 10_000;
/// Copies to the host that are no larger read a value back, to decide by.
const A_VALUE: u64 = 4_096;
/// A wait comes of the copy before it when no more time lies between.
const AT_ONCE: i64 = 30_000;

/// Candidates by cause and region.
pub(in super::super) fn candidates(case: &Case<'_>) -> Vec<Candidate> {
    let mut groups: BTreeMap<(Cause, Option<u32>), Vec<usize>> = BTreeMap::new();
    for at in 0..case.graph.calls.len() {
        if let Some(cause) = cause(case, at) {
            groups.entry((cause, case.node_of_call[at])).or_default().push(at);
        }
    }
    let took = |calls: &Vec<usize>| {
        calls.iter().fold(0, |sum: i64, at| sum.saturating_add(case.taken(&case.graph.calls[*at])))
    };
    let groups = largest(groups, took).into_iter();
    groups.map(|((cause, node), calls)| candidate(case, cause, node, &calls)).collect()
}

fn cause(case: &Case<'_>, at: usize) -> Option<Cause> {
    let call = &case.graph.calls[at];
    match call.kind {
        CallKind::Memory => Some(Cause::Allocation),
        CallKind::Copy => of_copy(case, call),
        CallKind::Launch => call.awaits_own().then_some(Cause::Sync),
        CallKind::Wait => {
            let before = at.checked_sub(1).map(|before| &case.graph.calls[before]);
            let copy = before.filter(|before| before.kind == CallKind::Copy && call.gap < AT_ONCE);
            match copy.and_then(|copy| Some((copy, direction(case, copy)?))) {
                Some((_, (Direction::DeviceToHost, bytes))) if bytes <= A_VALUE => Some(Cause::Sync),
                Some((copy, (Direction::DeviceToHost | Direction::HostToDevice, _))) => {
                    Some(of_copy(case, copy).unwrap_or(Cause::BlockingCopy))
                }
                _ => Some(Cause::Sync),
            }
        }
        _ => None,
    }
}

fn direction(case: &Case<'_>, call: &Call) -> Option<(Direction, u64)> {
    case.works(call).first().and_then(|work| case.transfer(work))
}

/// Of a copy that the host waits for by itself.
fn of_copy(case: &Case<'_>, call: &Call) -> Option<Cause> {
    match direction(case, call).filter(|_| call.awaits_own())? {
        (Direction::DeviceToHost, bytes) if bytes <= A_VALUE => Some(Cause::Sync),
        (Direction::DeviceToHost | Direction::HostToDevice, _) => {
            Some(if is_async(case.call_name(call)) { Cause::PageableCopy } else { Cause::BlockingCopy })
        }
        _ => None,
    }
}

fn candidate(case: &Case<'_>, cause: Cause, node: Option<u32>, calls: &[usize]) -> Candidate {
    let waited: i64 = calls.iter().map(|at| case.graph.calls[*at].waited).sum();
    let took: i64 = calls.iter().map(|at| case.taken(&case.graph.calls[*at])).sum();
    let rate = (cause == Cause::PageableCopy).then(|| pinned_rate(case));
    let with = |quicker: f64| {
        case.changed(|graph| {
            for at in calls {
                let call = &mut graph.calls[*at];
                call.awaits = None;
                // What starts work is still asked for; the others go, with the little that leads to them.
                if matches!(call.kind, CallKind::Copy | CallKind::Launch) {
                    call.own = call.own.min(QUICK);
                } else {
                    (call.own, call.gap) = (0, (call.gap - LEADS_TO_IT).max(0));
                }
                if let Some(rate) = rate {
                    for work in call.works.clone() {
                        let bytes =
                            case.transfer(&case.graph.works[work as usize]).map_or(0, |(_, bytes)| bytes);
                        let pinned = (bytes as f64 / rate * 1e9) as i64;
                        let work = &mut graph.works[work as usize];
                        let saved = (work.duration - pinned).max(0) as f64;
                        work.duration -= (saved * quicker) as i64;
                    }
                }
            }
        })
    };
    let then = match cause {
        // At worst only the wait goes away.
        Cause::PageableCopy => {
            let then = Then::of(case, with(1.0));
            let best = then.likely;
            then.between(case.replayed(&with(0.0)), best)
        }
        _ => Then::of(case, with(0.0)),
    };
    let each = case.iterations();
    let often = case.times(calls.len());
    let region = case.in_region(node);
    let names = names(case, calls);
    let are_launches = calls.iter().all(|at| case.graph.calls[*at].kind == CallKind::Launch);
    let (title, advice) = match cause {
        Cause::Sync => (
            format!("the host waits for the GPU {often}{region}, then the GPU waits for the host"),
            match case.is_whole {
                _ if are_launches => {
                    "do not wait for each launch: unset `CUDA_LAUNCH_BLOCKING`, or whatever else makes launches wait for what they start"
                }
                true => {
                    "do not wait there: keep the value on the GPU (`.item()`, `.cpu()`, `print` and `if tensor:` read it back), or remove a `synchronize()` that was left from a measurement"
                }
                false => {
                    "do not wait there: keep the value on the GPU (`.item()`, `.cpu()`, `print` and `if tensor:` read it back), look at it only every so many iterations, or remove a `synchronize()` that was left from a measurement"
                }
            },
        ),
        Cause::PageableCopy => (
            format!("copies from memory that is not pinned hold up the host {often}{region}"),
            "pin the memory (`pin_memory()`, `DataLoader(pin_memory=True)`, `cudaHostAlloc`) and copy with `non_blocking=True`",
        ),
        Cause::BlockingCopy => (
            format!("the host waits for a copy {often}{region}, then the GPU waits for the host"),
            "copy with `non_blocking=True` or `cudaMemcpyAsync`; the order of the stream is enough",
        ),
        _ => (
            format!("memory is taken from the driver or given back {often}{region}"),
            match case.is_whole {
                true => {
                    "take the memory once and use it again; `cudaMallocAsync` or a pool where sizes change"
                }
                false => {
                    "take the memory once and use it again: no `empty_cache()` and no `cudaMalloc`/`cudaFree` in the loop; `cudaMallocAsync` or a pool where sizes change"
                }
            },
        ),
    };
    let mut told =
        format!("{names}{}: {} {}", case.in_iterations(), milliseconds(took as f64 / each), case.each());
    if waited > 0 {
        told.push_str(&format!(", {} of it waiting for the GPU", milliseconds(waited as f64 / each)));
    }
    let mut evidence = vec![told];
    if let Some(rate) = rate {
        evidence.push(format!("with pinned memory a copy runs at about {:.0} GB/s", rate / 1e9));
    }
    Candidate {
        cause,
        node,
        kernel: None,
        title,
        evidence,
        advice,
        confidence: Sureness::Shown,
        then: Some(then),
        time_ns: took,
        during: Vec::new(),
    }
}

/// `60 x cudaStreamSynchronize, 60 x cudaMemcpyAsync`
fn names(case: &Case<'_>, calls: &[usize]) -> String {
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    calls.iter().for_each(|at| *names.entry(case.call_name(&case.graph.calls[*at])).or_default() += 1);
    let mut names: Vec<(&str, u64)> = names.into_iter().collect();
    names.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let shown = names.iter().take(3).map(|(name, count)| counted(*count, &format!("`{name}` call")));
    shown.collect::<Vec<_>>().join(", ")
}
