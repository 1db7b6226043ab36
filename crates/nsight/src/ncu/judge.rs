//! What a capture really was: the report compared with the plan.

use std::collections::BTreeSet;

use analysis::Region;
use counters::{Measured, Report, Subject};
use nvtx::{Kind, RegionPath};
use process::Finished;
use record::{Cause, Coverage, Outcome, Reason, Tool, Verdict, counted};

use super::command::ReplayMode;
use super::log::unsupported_call;
use super::plan::Chosen;
use super::target::Target;
use crate::clue::Clue;

const TOOL: Tool = Tool::Ncu;

/// How many missing kinds are listed.
const MOST_NAMED: usize = 3;

/// What was to be measured as one.
#[derive(Debug, Clone)]
pub struct WantedTarget {
    pub target: Target,
    /// Kernels launched in it, if known.
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
    /// We ended it when the budget was used up.
    BudgetSpent,
}

impl Ending {
    /// `on_purpose`: it was stopped by the configuration, not by the budget.
    pub fn of(finished: &Finished, on_purpose: bool) -> Self {
        match finished.ended_by_us {
            Some(Reason::Interrupted) => Self::Interrupted,
            Some(Reason::Timeout) => Self::TimedOut,
            Some(Reason::Stopped) if on_purpose => Self::Well,
            Some(Reason::Stopped) => Self::BudgetSpent,
            None if finished.ending.success() => Self::Well,
            None => Self::Failed(finished.ending.shell_code()),
        }
    }
}

/// The basis of the verdict.
#[derive(Debug)]
pub struct Case<'a> {
    pub replay: ReplayMode,
    /// None if there is no readable file.
    pub report: Option<&'a Report>,
    pub clues: &'a [Clue],
    pub ending: Ending,
    /// Results that the plan expects.
    pub planned: Option<u64>,
    /// Kinds of launches that it selected.
    pub chosen: &'a [Chosen],
    pub targets: &'a [WantedTarget],
    /// Kernels in the whole program, if known.
    pub kernels: Option<u64>,
    /// Its rehearsals differ.
    pub varies: bool,
    /// An ncu error with no known cause.
    pub error: Option<String>,
    /// Ranges on other threads counted as well.
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
    let coverage: Vec<Coverage> = case.targets.iter().map(|target| covered(target, &fitting, case)).collect();
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
        text.push_str(&format!(", nothing from {}", empty.join(", ")));
    }
    let (there, missing): (Vec<&Chosen>, Vec<&Chosen>) = case
        .chosen
        .iter()
        .partition(|kind| fitting.iter().any(|result| is_of(result, kind, case.any_thread)));
    if !case.chosen.is_empty() {
        // The sum of an empty iterator is -0.0.
        let share = there.iter().map(|kind| kind.share).sum::<f64>() + 0.0;
        text.push_str(&format!(", representing {:.0} % of the GPU's time", share * 100.0));
    }
    let fewer =
        case.planned.is_some_and(|planned| count < planned) || !empty.is_empty() || !missing.is_empty();
    let cause = cause_of_few(case, fewer);
    let damaged = case.report.is_some_and(|report| report.damage.is_some());
    // Without a plan, nobody knows what an aborted capture would still have measured.
    let complete = case.planned.is_some() && case.ending == Ending::Well;
    let whole = !fewer && !damaged && (cause.is_none() || complete);
    let outcome = if whole { Outcome::Captured } else { Outcome::Partial };
    let mut verdict = Verdict::new(TOOL, outcome, cause, text);
    verdict.coverage = coverage;
    if outcome != Outcome::Captured {
        verdict = verdict.with_evidence(case.clues.iter().map(|clue| clue.line.clone()));
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
    verdict.with_evidence(case.report.iter().flat_map(|report| {
        let damage = report.damage.iter().map(ToString::to_string);
        damage.chain(report.notes.iter().cloned())
    }))
}

/// Why there is less than planned, or what was unusual.
fn cause_of_few(case: &Case<'_>, fewer: bool) -> Option<Cause> {
    match case.ending {
        Ending::Interrupted => return Some(Cause::Interrupted),
        Ending::TimedOut => return Some(Cause::TimedOut),
        Ending::BudgetSpent => return Some(Cause::BudgetSpent),
        Ending::Well | Ending::Failed(_) => {}
    }
    if let Some(clue) = case.clues.first() {
        return Some(clue.cause);
    }
    if let Ending::Failed(_) = case.ending {
        return Some(if case.error.is_some() { Cause::ToolError } else { Cause::WorkloadFailed });
    }
    // If two rehearsals differ, the program varies; otherwise the cause is unknown.
    fewer.then_some(if case.varies { Cause::CountVaries } else { Cause::FewerMeasured })
}

/// Nothing that was wanted was measured.
fn nothing(case: &Case<'_>) -> Verdict {
    let what = if case.replay.of_ranges() { "range" } else { "kernel" };
    let evidence = || match case.clues {
        [] => vec![case.log.clone()],
        clues => clues.iter().map(|clue| clue.line.clone()).collect(),
    };
    let (outcome, cause, text) = match (case.clues.first(), case.ending) {
        (_, Ending::Interrupted) => {
            (Outcome::Failed, Cause::Interrupted, format!("interrupted before a {what} was measured"))
        }
        (Some(clue), _) if clue.cause == Cause::WrongKind => {
            (Outcome::Missed, clue.cause, reported(clue, what))
        }
        (Some(clue), _) => (Outcome::Failed, clue.cause, reported(clue, what)),
        (None, Ending::TimedOut) => {
            (Outcome::Failed, Cause::TimedOut, format!("it timed out before a {what} was measured"))
        }
        (None, Ending::BudgetSpent) => (
            Outcome::Failed,
            Cause::BudgetSpent,
            format!("the time budget was used up before a {what} was measured"),
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
            (Outcome::Missed, cause, format!("ncu ran, but no {what} was measured: {}", cause.meaning()))
        }
    };
    Verdict::new(TOOL, outcome, Some(cause), text).with_evidence(evidence())
}

/// ncu only reports that nothing was profiled.
fn silent(case: &Case<'_>) -> Cause {
    match case.kernels {
        Some(0) => Cause::NoKernels,
        _ if case.replay.of_ranges() => Cause::NoContext,
        _ if case.targets.iter().any(|target| target.launches == Some(0)) => Cause::NoKernels,
        _ if !case.targets.is_empty() => Cause::GateNeverOpened,
        Some(_) => Cause::SkippedAll,
        None => Cause::NoKernels,
    }
}

fn reported(clue: &Clue, what: &str) -> String {
    match clue.cause {
        Cause::UnsupportedCall => match unsupported_call(&clue.line) {
            Some(call) => format!("the range calls {call}, which cannot be replayed"),
            None => "the range makes a call that cannot be replayed".to_owned(),
        },
        cause => format!("no {what} was measured: {}", cause.meaning()),
    }
}

fn covered(wanted: &WantedTarget, results: &[&Measured], case: &Case<'_>) -> Coverage {
    let WantedTarget { target, launches } = wanted;
    let lies_in_it = |result: &&&Measured| target.regions.iter().any(|region| lies_in(result, region, case));
    let captured = results.iter().filter(lies_in_it).count() as u64;
    let expected = match case.replay.of_ranges() {
        true => target.instances(),
        // Without launches it cannot be measured.
        false => u64::from(*launches != Some(0)),
    };
    Coverage { region: target.name.clone(), captured, expected, expected_most: expected.max(captured) }
}

/// Whether a result was launched in a region or one below it, or covers the whole region.
fn lies_in(result: &Measured, region: &Region, case: &Case<'_>) -> bool {
    let fits = |path: &RegionPath| match case.replay.of_ranges() {
        true => *path == region.path,
        false => path.domain == region.path.domain && path.names.starts_with(&region.path.names),
    };
    match region.kind {
        Kind::PushPop => paths(result, case.any_thread).iter().any(fits),
        Kind::StartEnd => result.started_paths().contains(&region.path),
    }
}

/// The regions around a launch: on its own thread, or on all.
fn paths(result: &Measured, any_thread: bool) -> Vec<RegionPath> {
    if !any_thread {
        return result.region_paths();
    }
    result.nvtx.threads.iter().flat_map(|thread| result.nvtx.stacks_of(thread.id)).collect()
}

/// Whether a result is of a kind. The tools agree on mangled names; if one does not have them, on the
/// function name and the shape.
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

    use crate::seen::regions;
    use crate::wish::wanted;

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
        targets: &[WantedTarget],
        ending: Ending,
    ) -> Verdict {
        let report = Report { results, ..Report::default() };
        judge(&Case {
            replay: ReplayMode::Kernel,
            report: Some(&report),
            clues: &[],
            ending,
            planned: Some(chosen.len() as u64),
            chosen,
            targets,
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
        assert_eq!(verdict.text, "2 launches of 2 planned, 2 kernels, representing 90 % of the GPU's time");
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
        let seen = regions(&[("", &["decode"], Kind::PushPop), ("", &["prefill"], Kind::PushPop)]);
        let region = |name: &str, launches| {
            let target = wanted(name, &seen).iter().flat_map(Target::of).next().unwrap();
            WantedTarget { target, launches }
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

    /// The steps of a loop whose names are numbered: one launch stands for all.
    #[test]
    fn what_a_pattern_matches_is_one() {
        let steps = ["step 1", "step 2", "step 3"];
        let ranges: Vec<_> =
            steps.iter().map(|step| ("", std::slice::from_ref(step), Kind::PushPop)).collect();
        let seen = regions(&ranges);
        let targets: Vec<Target> = wanted("step *", &seen).iter().flat_map(Target::of).collect();
        assert_eq!(targets.iter().map(|target| target.name.as_str()).collect::<Vec<_>>(), ["step *"]);
        assert_eq!(targets[0].includes(&seen).into_iter().collect::<Vec<_>>(), ["regex:^step .*$/"]);
        let wanted = [WantedTarget { target: targets[0].clone(), launches: Some(9) }];
        let verdict =
            judged(vec![kernel("gemm", 8, "step 2")], &[chosen("gemm", 8, 0.7)], &wanted, Ending::Well);
        assert_eq!(verdict.outcome, Outcome::Captured, "{verdict:?}");
        let [row] = verdict.coverage.as_slice() else { panic!("{verdict:?}") };
        assert_eq!((row.region.as_str(), row.captured), ("step *", 1));
    }
}
