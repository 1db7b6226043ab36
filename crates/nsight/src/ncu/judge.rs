//! What a capture really was, told from the report against what was planned.

use std::collections::BTreeSet;

use counters::{Measured, Report, Subject};
use nvtx::{Kind, RegionPath};

use super::command::ReplayMode;
use super::log::unsupported_call;
use super::plan::Chosen;
use crate::verdict::{Cause, Coverage, Outcome, Told, Verdict, counted};

/// So many kinds are named that are missing.
const MOST_NAMED: usize = 3;

/// A region that was to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedRegion {
    pub path: RegionPath,
    pub kind: Kind,
    /// As the rehearsal counted.
    pub instances: u64,
    /// Kernels that were launched in it, where that is known.
    pub launches: Option<u64>,
}

/// How the program ended under ncu.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ending {
    #[default]
    Well,
    Failed(i32),
    Interrupted,
    TimedOut,
    /// We ended it when the budget was spent.
    BudgetSpent,
}

/// What there is to judge by.
#[derive(Debug)]
pub struct Case<'a> {
    pub replay: ReplayMode,
    /// None when there is no file, or none that can be read.
    pub report: Option<&'a Report>,
    pub told: &'a [Told],
    pub ending: Ending,
    /// Results that the plan foresaw.
    pub planned: Option<u64>,
    /// Kinds of launches that it chose.
    pub chosen: &'a [Chosen],
    pub regions: &'a [WantedRegion],
    /// Kernels in the whole program, where that is known.
    pub kernels: Option<u64>,
    /// Its rehearsals differ.
    pub varies: bool,
    /// An error of ncu's own that no cause is known for.
    pub error: Option<String>,
    /// Ranges of other threads counted as well.
    pub any_thread: bool,
    /// The last lines of ncu's log.
    pub log: String,
}

pub fn judge(case: &Case<'_>) -> Verdict {
    let results = case.report.map_or(&[][..], |report| &report.results);
    let fitting: Vec<&Measured> = results
        .iter()
        .filter(|result| matches!(result.subject, Subject::Range) == case.replay.of_ranges())
        .collect();
    if fitting.is_empty() {
        return nothing(case);
    }
    let coverage: Vec<Coverage> = case.regions.iter().map(|region| covered(region, &fitting, case)).collect();
    let what = if case.replay.of_ranges() { "range" } else { "launch" };
    let empty: Vec<&str> = coverage
        .iter()
        .filter(|row| row.captured == 0 && row.expected > 0)
        .map(|row| row.region.as_str())
        .collect();
    let count = fitting.len() as u64;
    let of = case.planned.map(|planned| format!(" of {planned} planned")).unwrap_or_default();
    let kernels: BTreeSet<&str> = fitting.iter().filter_map(|result| name(result)).collect();
    let mut text = format!("{}{of}", counted(count, what));
    if !kernels.is_empty() {
        text.push_str(&format!(", {}", counted(kernels.len() as u64, "kernel")));
    }
    if !empty.is_empty() {
        text.push_str(&format!(", nothing of {}", empty.join(", ")));
    }
    let (there, missing): (Vec<&Chosen>, Vec<&Chosen>) = case
        .chosen
        .iter()
        .partition(|kind| fitting.iter().any(|result| is_of(result, kind, case.any_thread)));
    if !case.chosen.is_empty() {
        // Of none, the sum is minus nothing.
        let share = there.iter().map(|kind| kind.share).sum::<f64>() + 0.0;
        text.push_str(&format!(", which stand for {:.0} % of the GPU's time", share * 100.0));
    }
    let fewer =
        case.planned.is_some_and(|planned| count < planned) || !empty.is_empty() || !missing.is_empty();
    let cause = cause_of_few(case, fewer);
    let damaged = case.report.is_some_and(|report| report.damage.is_some());
    // Without a plan nobody knows what a capture that broke off would still have brought.
    let complete = case.planned.is_some() && case.ending == Ending::Well;
    let whole = !fewer && !damaged && (cause.is_none() || complete);
    let outcome = if whole { Outcome::Captured } else { Outcome::Partial };
    let mut verdict = remedied(Verdict::new(outcome, cause, text));
    verdict.coverage = coverage;
    if outcome != Outcome::Captured {
        verdict = verdict.with_evidence(case.told.iter().map(|told| told.line.clone()));
        verdict = verdict.with_evidence(missing.iter().take(MOST_NAMED).map(|kind| {
            format!(
                "not measured: {} {:?} {:?}, {:.1} % of the GPU's time",
                kind.short_name,
                kind.grid,
                kind.block,
                kind.share * 100.0
            )
        }));
    }
    verdict.with_evidence(case.report.iter().flat_map(|report| report.notes.iter().cloned()))
}

/// Why there is less than was planned, or what was odd.
fn cause_of_few(case: &Case<'_>, fewer: bool) -> Option<Cause> {
    match case.ending {
        Ending::Interrupted => return Some(Cause::Interrupted),
        Ending::TimedOut => return Some(Cause::TimedOut),
        Ending::BudgetSpent => return Some(Cause::BudgetSpent),
        Ending::Well | Ending::Failed(_) => {}
    }
    if let Some(told) = case.told.first() {
        return Some(told.cause);
    }
    if let Ending::Failed(_) = case.ending {
        return Some(if case.error.is_some() { Cause::ToolError } else { Cause::WorkloadFailed });
    }
    // Two rehearsals that differ say that the program does; else nobody knows who counted otherwise.
    fewer.then_some(if case.varies { Cause::CountVaries } else { Cause::FewerMeasured })
}

/// Nothing that was wanted was measured.
fn nothing(case: &Case<'_>) -> Verdict {
    let what = if case.replay.of_ranges() { "range" } else { "kernel" };
    let evidence = || match case.told {
        [] => vec![case.log.clone()],
        told => told.iter().map(|told| told.line.clone()).collect(),
    };
    let (outcome, cause, text) = match (case.told.first(), case.ending) {
        (_, Ending::Interrupted) => {
            (Outcome::Failed, Cause::Interrupted, format!("interrupted before a {what} was measured"))
        }
        (Some(told), _) if told.cause == Cause::WrongKind => (Outcome::Missed, told.cause, said(told, what)),
        (Some(told), _) => (Outcome::Failed, told.cause, said(told, what)),
        (None, Ending::TimedOut) => {
            (Outcome::Failed, Cause::TimedOut, format!("time was up before a {what} was measured"))
        }
        (None, Ending::BudgetSpent) => (
            Outcome::Failed,
            Cause::BudgetSpent,
            format!("the budget was spent before a {what} was measured"),
        ),
        (None, Ending::Failed(_)) if case.error.is_some() => {
            let error = case.error.as_deref().unwrap_or_default();
            (Outcome::Failed, Cause::ToolError, format!("ncu failed: {error}"))
        }
        (None, Ending::Failed(code)) => (
            Outcome::Failed,
            Cause::WorkloadFailed,
            format!("the workload ended with {code} under ncu, and no {what} was measured"),
        ),
        (None, Ending::Well) => {
            let cause = silent(case);
            (Outcome::Missed, cause, format!("ncu ran, and no {what} was measured: {}", why(cause)))
        }
    };
    verdict(outcome, cause, text).with_evidence(evidence())
}

/// ncu says nothing but that nothing was profiled.
fn silent(case: &Case<'_>) -> Cause {
    match case.kernels {
        Some(0) => Cause::NoKernels,
        _ if case.replay.of_ranges() => Cause::NoContext,
        _ if case.regions.iter().any(|region| region.launches == Some(0)) => Cause::NoKernels,
        _ if !case.regions.is_empty() => Cause::GateNeverOpened,
        Some(_) => Cause::SkippedAll,
        None => Cause::NoKernels,
    }
}

fn said(told: &Told, what: &str) -> String {
    match told.cause {
        Cause::UnsupportedCall => match unsupported_call(&told.line) {
            Some(call) => format!("the range calls {call}, which cannot be replayed"),
            None => "the range makes a call that cannot be replayed".to_owned(),
        },
        cause => format!("no {what} was measured: {}", why(cause)),
    }
}

fn why(cause: Cause) -> &'static str {
    match cause {
        Cause::NotPermitted => "this user may not read the GPU's counters",
        Cause::DeviceBusy => "somebody else holds the GPU's counters",
        Cause::NoContext => "the range opened before the program had used the GPU, or never",
        Cause::RangeNotClosed => "the range was not closed",
        Cause::UnsupportedChip => "this ncu does not know the GPU",
        Cause::OutOfMemory => "there was no memory left to save what the kernels write",
        Cause::ReplayDiverged => "the program did something else when it was run again",
        Cause::NoGpu => "there is no GPU, or no driver",
        Cause::CuptiInUse => "another profiler in the workload has CUPTI",
        Cause::DiskFull => "the disk is full",
        Cause::Refused => "ncu did not take the command",
        Cause::NoKernels => "no kernel is launched there",
        Cause::SkippedAll => "fewer kernels were launched than were to be skipped",
        Cause::NoSuchRange => "no range is called that",
        Cause::WrongDomain => "the range is in another domain",
        Cause::WrongKind => "the range is of the other kind",
        Cause::NoSuchKernel => "no kernel is called that",
        _ => "the gate let nothing in",
    }
}

/// A verdict on ncu, with what to do about its cause.
pub fn verdict(outcome: Outcome, cause: Cause, text: impl Into<String>) -> Verdict {
    remedied(Verdict::new(outcome, Some(cause), text))
}

/// What nsys's causes advise is not always what helps with ncu.
fn remedied(verdict: Verdict) -> Verdict {
    let remedy = verdict.cause.and_then(remedy);
    match remedy {
        Some(remedy) => verdict.with_remedy(remedy),
        None => verdict,
    }
}

/// What to do where ncu differs from nsys.
fn remedy(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::NotSupported => "install a newer Nsight Compute, or use `ncu.replay_mode=kernel`",
        Cause::NotInstalled => "install Nsight Compute, or name its `ncu` with `ncu.path` or RANGEFINDER_NCU",
        Cause::ToolBroken => {
            "reinstall it, or name another with `ncu.path`; `rangefinder doctor` shows what it says"
        }
        Cause::Refused => "look at `ncu.extra_args` and at ncu/cmd.txt",
        Cause::WrongDomain => "name the domain: DOMAIN@NAME/",
        Cause::GateNeverOpened => {
            "rehearse (`rehearsal.enable=true`) to learn why, or measure without a gate"
        }
        Cause::NotPermitted => {
            "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root; in a container, add CAP_SYS_ADMIN"
        }
        Cause::WorkloadFailed => {
            "look at the workload's output in ncu/stderr.log: it may not bear being replayed"
        }
        Cause::CountVaries => {
            "the program may do less from run to run; measure what is missing by itself (`ncu.nvtx_include`, `--plan`)"
        }
        Cause::ReportUnreadable => "the raw report is kept: try `ncu --import` on it",
        _ => return None,
    })
}

fn covered(region: &WantedRegion, results: &[&Measured], case: &Case<'_>) -> Coverage {
    let captured = results.iter().filter(|result| lies_in(result, region, case)).count() as u64;
    let expected = match case.replay.of_ranges() {
        true => region.instances,
        // A region without launches cannot be measured.
        false => u64::from(region.launches != Some(0)),
    };
    Coverage { region: region.path.to_string(), captured, expected, expected_most: expected.max(captured) }
}

/// Whether a result was launched in a region or in one below it, or is of the region as a whole.
fn lies_in(result: &Measured, region: &WantedRegion, case: &Case<'_>) -> bool {
    let fits = |path: &RegionPath| match case.replay.of_ranges() {
        true => *path == region.path,
        false => path.domain == region.path.domain && path.names.starts_with(&region.path.names),
    };
    match region.kind {
        Kind::PushPop => paths(result, case.any_thread).iter().any(fits),
        Kind::StartEnd => result.started_paths().contains(&region.path),
    }
}

/// The regions a launch lies in: of its own thread, or of all.
fn paths(result: &Measured, any_thread: bool) -> Vec<RegionPath> {
    if !any_thread {
        return result.region_paths();
    }
    result.nvtx.threads.iter().flat_map(|thread| result.nvtx.stacks_of(thread.id)).collect()
}

/// Whether a result is of a kind. The tools agree in mangled names; where one does not know
/// them, in the function's and the shape.
fn is_of(result: &Measured, kind: &Chosen, any_thread: bool) -> bool {
    let Subject::Kernel(kernel) = &result.subject else { return false };
    let same = |a: [u64; 3], b: [u32; 3]| a == b.map(u64::from);
    let name = if kind.mangled.is_empty() || kernel.mangled.is_empty() {
        kernel.short_name == kind.short_name
    } else {
        kernel.mangled == kind.mangled
    };
    let region = kind
        .region
        .as_ref()
        .is_none_or(|region| paths(result, any_thread).iter().any(|path| path.to_string() == *region));
    name && region && same(kernel.grid, kind.grid) && same(kernel.block, kind.block)
}

fn name(result: &Measured) -> Option<&str> {
    match &result.subject {
        Subject::Kernel(kernel) => Some(&kernel.name),
        Subject::CommandList { name, .. } => Some(name),
        Subject::Graph { .. } | Subject::Range => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use counters::{Kernel, NvtxRange, NvtxState, NvtxThread};

    fn kernel(name: &str, x: u64, region: &str) -> Measured {
        let range = NvtxRange { name: region.to_owned(), ..NvtxRange::default() };
        let thread = NvtxThread { id: 7, stacks: vec![(String::new(), vec![range])] };
        let subject = Subject::Kernel(Kernel {
            name: format!("{name}(float*)"),
            short_name: name.to_owned(),
            mangled: format!("_Z{name}"),
            grid: [x, 1, 1],
            block: [32, 1, 1],
            stream: None,
        });
        Measured {
            thread: Some(7),
            nvtx: NvtxState { threads: vec![thread], started: Vec::new() },
            ..Measured::new(subject, std::sync::Arc::default())
        }
    }

    fn chosen(name: &str, x: u32, share: f64) -> Chosen {
        Chosen {
            kernel: format!("{name}(float *)"),
            mangled: format!("_Z{name}"),
            short_name: name.to_owned(),
            grid: [x, 1, 1],
            block: [32, 1, 1],
            region: None,
            launches: 9,
            share,
            samples: 1,
        }
    }

    fn judged(
        results: Vec<Measured>,
        chosen: &[Chosen],
        regions: &[WantedRegion],
        ending: Ending,
    ) -> Verdict {
        let report = Report { results, ..Report::default() };
        judge(&Case {
            replay: ReplayMode::Kernel,
            report: Some(&report),
            told: &[],
            ending,
            planned: Some(chosen.len() as u64),
            chosen,
            regions,
            kernels: Some(100),
            varies: false,
            error: None,
            any_thread: false,
            log: String::new(),
        })
    }

    #[test]
    fn held_against_the_plan() {
        let plan = [chosen("gemm", 8, 0.7), chosen("norm", 4, 0.2)];
        let both = || vec![kernel("gemm", 8, "decode"), kernel("norm", 4, "decode")];
        let verdict = judged(both(), &plan, &[], Ending::Well);
        assert_eq!((verdict.outcome, verdict.cause), (Outcome::Captured, None));
        assert_eq!(
            verdict.text,
            "2 launches of 2 planned, 2 kernels, which stand for 90 % of the GPU's time"
        );
        // As many, and not the same.
        let other = vec![kernel("gemm", 8, "decode"), kernel("norm", 16, "decode")];
        let verdict = judged(other, &plan, &[], Ending::Well);
        assert_eq!((verdict.outcome, verdict.cause), (Outcome::Partial, Some(Cause::FewerMeasured)));
        assert!(verdict.evidence[0].starts_with("not measured: norm [4, 1, 1]"), "{verdict:?}");
        let verdict = judged(both()[..1].to_vec(), &plan, &[], Ending::BudgetSpent);
        assert_eq!((verdict.outcome, verdict.cause), (Outcome::Partial, Some(Cause::BudgetSpent)));
        let verdict = judged(Vec::new(), &plan, &[], Ending::Well);
        assert_eq!((verdict.outcome, verdict.cause), (Outcome::Missed, Some(Cause::SkippedAll)));
        // What broke off is not whole, unless a plan says what whole is.
        let verdict = judged(both(), &plan, &[], Ending::Failed(3));
        assert_eq!((verdict.outcome, verdict.cause), (Outcome::Partial, Some(Cause::WorkloadFailed)));
        let verdict = judged(Vec::new(), &plan, &[], Ending::Failed(3));
        assert_eq!((verdict.outcome, verdict.cause), (Outcome::Failed, Some(Cause::WorkloadFailed)));
    }

    #[test]
    fn a_region_without_a_launch_is_missing() {
        let region = |name: &str, launches| WantedRegion {
            path: RegionPath::new("", [name]),
            kind: Kind::PushPop,
            instances: 2,
            launches,
        };
        let plan = [chosen("gemm", 8, 0.7)];
        let results = || vec![kernel("gemm", 8, "decode")];
        let verdict =
            judged(results(), &plan, &[region("decode", Some(5)), region("prefill", Some(5))], Ending::Well);
        assert_eq!(verdict.outcome, Outcome::Partial);
        assert_eq!(verdict.coverage.iter().map(|row| row.captured).collect::<Vec<_>>(), [1, 0]);
        // Nothing can be measured where nothing is launched.
        let verdict =
            judged(results(), &plan, &[region("decode", Some(5)), region("prefill", Some(0))], Ending::Well);
        assert_eq!(verdict.outcome, Outcome::Captured);
    }
}
