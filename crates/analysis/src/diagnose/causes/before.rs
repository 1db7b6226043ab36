//! What happens before the loop is steady: start-up and warm-up, judged by the whole time.

use trace::{Trace, counted};

use super::super::case::milliseconds;
use super::super::finding::{Cause, Finding, FoundAt, Sureness};
use super::super::open_ranges::OpenRanges;
use crate::attribute::Attribution;
use crate::loop_::Loop;
use crate::replay::{CallKind, Index};
use crate::time::{HostLine, listed, own_places};

/// Less than this would be shown as 0 us.
const SHOWN: i64 = 500;
/// Shorter than this, or a smaller part of the recording, it is not worth a word.
const A_WHILE: i64 = 200_000_000;
const WORTH_A_WORD: f64 = 0.1;
/// Fewer samples do not say where it was.
const FEWEST: usize = 20;
/// So much of the time has one reason, if that is the reason.
const MOST: f64 = 0.5;

/// Start-up, and warm-up.
pub(in super::super) fn findings(
    trace: &Trace,
    attribution: &Attribution,
    (index, open): (&Index, &OpenRanges<'_>),
    found: &Loop,
) -> Vec<Finding> {
    let begin = found.recorded_since();
    let whole = trace.end.saturating_sub(begin);
    let matters = |time: i64| time >= A_WHILE && time as f64 >= WORTH_A_WORD * whole as f64;
    let mut all = Vec::new();
    let first = begin.saturating_add(found.start_up_ns);
    let steady = trace.begin.saturating_add(found.begin_ns);
    if matters(found.start_up_ns) {
        let sums = time_in(trace, index, found, (begin, first));
        all.push(start_up(trace, attribution, open, found, &sums, (begin, first)));
    }
    let usual = found.period_ns.map_or(0, |period| period.p50).saturating_mul(found.warm_up as i64);
    let warm_up = steady.saturating_sub(first).saturating_sub(usual).max(0);
    if matters(warm_up) {
        let sums = time_in(trace, index, found, (first, steady));
        all.push(warming(found, &sums, (first, steady), warm_up));
    }
    all.sort_by_key(|finding| std::cmp::Reverse(finding.time_ns));
    all
}

/// Whether it says where the time goes, and not only that it passes.
pub(in super::super) fn is_known(finding: &Finding) -> bool {
    finding.cause != Cause::StartUp || finding.place.region.is_some()
}

/// Kinds of calls, the time in them, and how many they are.
type Sums = [(CallKind, i64, u64); 6];

/// Time in calls of a kind, those inside others not counted again.
fn time_in(trace: &Trace, index: &Index, found: &Loop, (from, to): (i64, i64)) -> Sums {
    let kinds =
        [CallKind::Load, CallKind::Memory, CallKind::Copy, CallKind::Wait, CallKind::Launch, CallKind::Other];
    let mut sums = kinds.map(|kind| (kind, 0i64, 0u64));
    let mut calls = index.calls(trace, found.steady.process, from, to).to_vec();
    // Still by time in each thread.
    calls.sort_by_key(|call| trace.calls.thread[*call as usize]);
    let (mut thread, mut until) = (u32::MAX, i64::MIN);
    for at in calls.into_iter().map(|call| call as usize) {
        if trace.calls.thread[at] != thread {
            (thread, until) = (trace.calls.thread[at], i64::MIN);
        }
        let kind = CallKind::of(trace.strings.text(trace.calls.name[at]));
        let (begin, end) = (trace.calls.begin[at].max(until), trace.calls.end[at].min(to));
        if let Some(sum) = sums.iter_mut().find(|(same, _, _)| *same == kind) {
            sum.1 = sum.1.saturating_add(end.saturating_sub(begin).max(0));
            sum.2 += 1;
        }
        until = until.max(end);
    }
    sums
}

/// `loading code 3.75 ms (1 call)`, of each kind that takes at least so long.
fn told(sums: &Sums, at_least: i64) -> Vec<String> {
    let name = |kind: CallKind| match kind {
        CallKind::Load => "loading code",
        CallKind::Memory => "taking memory",
        CallKind::Copy => "copies",
        CallKind::Wait => "waiting for the GPU",
        CallKind::Launch => "launches",
        CallKind::Other => "other CUDA calls",
    };
    let long = sums.iter().filter(|(_, time, _)| *time >= at_least.max(SHOWN));
    long.map(|(kind, time, calls)| {
        format!("{} {} ({})", name(*kind), milliseconds(*time as f64), counted(*calls, "call"))
    })
    .collect()
}

fn start_up(
    trace: &Trace,
    attribution: &Attribution,
    open: &OpenRanges<'_>,
    found: &Loop,
    sums: &Sums,
    (from, to): (i64, i64),
) -> Finding {
    let time = to.saturating_sub(from);
    let process = found.steady.process;
    let of = |kind: CallKind| {
        sums.iter().find(|(same, _, _)| *same == kind).map_or((0, 0), |(_, time, calls)| (*time, *calls))
    };
    let (loading, loads) = of(CallKind::Load);
    let in_calls: i64 = sums.iter().map(|(_, time, _)| *time).fold(0, i64::saturating_add);
    let host = time.saturating_sub(in_calls).max(0);
    let mut parts = told(sums, SHOWN);
    parts.push(format!("no CUDA call {}", milliseconds(host as f64)));
    let has_work = trace.activities.process.contains(&process);
    let mut evidence = vec![format!("in this time: {}", parts.join(", "))];
    evidence.retain(|_| has_work);
    if loading as f64 >= MOST * time as f64 {
        return Finding {
            cause: Cause::ModuleLoading,
            place: FoundAt::default(),
            device: None,
            title: format!("{} of the {} before the GPU's first work in the loop go into loading GPU code ({})", milliseconds(loading as f64), milliseconds(time as f64), counted(loads, "call")),
            evidence,
            advice: "load code when it is first used (`CUDA_MODULE_LOADING=LAZY`, which is the default since CUDA 12.2), and import fewer libraries".to_owned(),
            confidence: Sureness::Shown,
            gain: None,
            time_ns: loading,
            also_in: 0,
        };
    }
    // Where the thread that made the first calls is for the most part.
    let thread = (0..trace.calls.len())
        .find(|at| trace.process_of(trace.calls.thread[*at]) == process)
        .map(|at| trace.calls.thread[at]);
    evidence.extend(sampled(trace, thread, process, (from, to)));
    let parts = thread.map(|thread| open.between(thread, from, to)).unwrap_or_default();
    // The host is in the first iteration before the device is: that is no region before the loop.
    let in_loop = |node: u32| found.steady.node.is_some_and(|of| attribution.tree.is_within(node, of));
    let (inside, outside): (Vec<_>, Vec<_>) =
        parts.iter().filter_map(|(node, part)| Some(((*node)?, *part))).partition(|(node, _)| in_loop(*node));
    let first_iteration = inside.iter().fold(0i64, |sum, (_, part)| sum.saturating_add(*part));
    if first_iteration as f64 >= WORTH_A_WORD * time as f64 {
        let part = milliseconds(first_iteration as f64);
        evidence.push(format!("{part} of it pass in the loop's first iteration, before its first work"));
    }
    let region = outside.into_iter().find(|(_, part)| *part as f64 > MOST * time as f64);
    let path = region.map(|(node, _)| attribution.tree.path(trace, node).to_string());
    let where_ = path.as_ref().map(|path| format!(", most of it in `{path}`")).unwrap_or_default();
    Finding {
        cause: Cause::StartUp,
        place: FoundAt { region: path.clone(), capture_path: path, ..FoundAt::default() },
        device: None,
        title: format!(
            "{} pass before {}{where_}",
            milliseconds(time as f64),
            if has_work { "the GPU's first work in the loop" } else { "the loop's first iteration" }
        ),
        evidence,
        advice: "if the program is started often, make this shorter: load and prepare less, do it in parallel, or do it once for several runs".to_owned(),
        confidence: Sureness::Shown,
        gain: None,
        time_ns: time,
        also_in: 0,
    }
}

/// Where a thread was, by its samples; where none made a call, the first thread of the process.
fn sampled(trace: &Trace, thread: Option<u32>, process: u32, (from, to): (i64, i64)) -> Option<String> {
    let is_first = |thread: &trace::Thread| {
        thread.process == process && thread.id == trace.processes[process as usize].pid
    };
    let first = || trace.threads.iter().position(is_first).map(|thread| thread as u32);
    let thread = thread.or_else(first)?;
    let samples = &trace.stacks.samples;
    let rows: Vec<usize> = (0..samples.len())
        .filter(|row| samples.thread[*row] == thread && (from..to).contains(&samples.at[*row]))
        .collect();
    if rows.len() < FEWEST {
        return None;
    }
    let places: Vec<HostLine> = own_places(trace, &rows, &rows).into_iter().map(|place| place.line).collect();
    (!places.is_empty())
        .then(|| format!("by {} of its thread: {}", counted(rows.len() as u64, "sample"), listed(&places)))
}

fn warming(found: &Loop, sums: &Sums, (from, to): (i64, i64), more: i64) -> Finding {
    let parts = told(sums, (0.05 * to.saturating_sub(from) as f64) as i64);
    let usual = found.period_ns.map_or(0, |period| period.p50);
    Finding {
        cause: Cause::WarmUp,
        place: FoundAt { region: found.region.clone(), capture_path: found.region.clone(), ..FoundAt::default() },
        device: None,
        title: match found.warm_up {
            1 => format!("the first iteration takes {} instead of {}", milliseconds(to.saturating_sub(from) as f64), milliseconds(usual as f64)),
            some => format!("the first {some} iterations take {} together instead of {}", milliseconds(to.saturating_sub(from) as f64), milliseconds(usual as f64 * some as f64)),
        },
        evidence: (!parts.is_empty()).then(|| format!("in them: {}", parts.join(", "))).into_iter().collect(),
        advice: if parts.is_empty() { "it happens once; where runs are short, do it once for several of them" } else { "it happens once; where runs are short, keep what is tried out or compiled for the next run (autotuning, `torch.compile`'s cache), or turn it off" }.to_owned(),
        confidence: Sureness::Shown,
        gain: None,
        time_ns: more,
        also_in: 0,
    }
}
