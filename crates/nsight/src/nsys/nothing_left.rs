//! Verdicts on captures that left no usable report.

use std::time::Duration;

use process::Finished;
use record::{Cause, Reason, Tool, Verdict, advice};

use super::command::Gate;
use super::export::ExportError;
use super::importer::Importer;
use super::judge::Ending;
use super::log::clues;
use super::range_end::RangeEnd;
use crate::ask::last_lines;
use crate::clue::Clue;
use crate::proof::Proof;

const TOOL: Tool = Tool::Nsys;
/// SIGTERM, as a shell counts it.
const TERMINATED: i32 = 143;

/// How a pass under nsys ended, given what should happen when its gate closed.
pub fn ending(finished: &Finished, gate: &Gate, range_end: RangeEnd) -> Ending {
    let shuts_down =
        *gate != Gate::None && matches!(range_end, RangeEnd::StopShutdown | RangeEnd::RepeatShutdown(_));
    match finished.ended_by_us {
        Some(Reason::Interrupted) => Ending::Interrupted,
        Some(Reason::Timeout) => Ending::TimedOut,
        Some(Reason::Stopped) => Ending::Stopped,
        None if finished.ending.success() && shuts_down => Ending::WellOrAfterRange,
        None if finished.ending.success() => Ending::Well,
        None if shuts_down && finished.ending.shell_code() == TERMINATED => Ending::AfterRange,
        None if finished.ending.is_signal() => Ending::ToolKilled(finished.ending.to_string()),
        None => Ending::WorkloadFailed(finished.ending.to_string()),
    }
}

/// What is known about a capture that left nothing.
#[derive(Debug)]
pub struct NoReport<'a> {
    pub gate: &'a Gate,
    pub finished: &'a Finished,
    pub log: &'a str,
    pub clues: &'a [Clue],
    /// For the gate, if there was a rehearsal.
    pub proof: Option<&'a Proof>,
    /// Then the log may be missing as well.
    pub disk_is_full: bool,
    /// How long nsys was to wait before it records.
    pub delay: Option<Duration>,
    /// How long the workload takes, as far as that is known.
    pub took: Duration,
}

pub fn no_report(case: &NoReport<'_>) -> Verdict {
    let finished = case.finished;
    let code = finished.ending.shell_code();
    let says = |cause: Cause| case.clues.iter().any(|clue| clue.cause == cause);
    let failed = |cause: Cause, text: &str| Verdict::failed(TOOL, cause, text);
    // After what it rejects, nsys prints how to use it.
    let rejected = case.clues.iter().find(|clue| clue.cause == Cause::Refused);
    let said = rejected.map_or_else(|| last_lines(case.log), |clue| clue.line.clone());
    let evidence = [format!("nsys ended with {}", finished.ending), said];
    let verdict = match (case.gate, finished.ended_by_us) {
        (_, Some(Reason::Timeout)) => {
            failed(Cause::TimedOut, "the capture exceeded `workload.timeout` and left no report")
        }
        (_, Some(Reason::Interrupted)) => {
            failed(Cause::Interrupted, "the capture was interrupted before it left a report")
        }
        (Gate::Range { .. }, Some(Reason::Stopped)) => never_opened(case),
        (_, Some(Reason::Stopped)) => {
            failed(Cause::NoReport, "the capture was stopped before it left a report")
        }
        (_, None) if says(Cause::DiskFull) || case.disk_is_full => {
            failed(Cause::DiskFull, "the disk is full: there is no report")
        }
        (_, None) if says(Cause::Refused) => {
            failed(Cause::Refused, "nsys rejected the command and did not run the workload")
        }
        (Gate::Range { .. }, None) if code == 0 => never_opened(case),
        (Gate::ProfilerApi, None) if code == 0 => Verdict::missed(
            TOOL,
            Cause::GateNeverOpened,
            "the program never called cudaProfilerStart, but nsys still ended with exit code 0",
        )
        .with_remedy(advice::CALL_THE_PROFILER_API),
        (_, None) if code == 1 && !case.log.contains("Generated:") => {
            failed(Cause::Refused, "nsys refused to run the workload")
        }
        (_, None) if finished.ending.is_signal() => {
            let text = format!("nsys itself was killed by {} and left no report", finished.ending);
            failed(Cause::ToolError, &text)
        }
        (_, None) if !finished.ending.success() => {
            let text = format!("the workload ended with {} and there is no report", finished.ending);
            failed(Cause::WorkloadFailed, &text)
        }
        (_, None) => match case.delay.filter(|delay| case.took < *delay) {
            Some(delay) => {
                let took = case.took.as_secs_f64();
                let text = format!(
                    "the workload ended after {took:.1} s, before `capture.delay={delay:?}` had passed: nothing was \
                     recorded"
                );
                failed(Cause::EndedTooSoon, &text)
            }
            None => failed(Cause::NoReport, "nsys left no report"),
        },
    };
    verdict.with_evidence(evidence)
}

/// With a rehearsal the proof says why.
fn never_opened(case: &NoReport<'_>) -> Verdict {
    let still = "but nsys still ended with exit code 0";
    // The proof is about the gate as typed, and may have corrected it since.
    let is_typed = |proof: &Proof| match case.gate {
        Gate::Range { name, register_only_off } => *name == proof.typed && !register_only_off,
        Gate::None | Gate::ProfilerApi => false,
    };
    match case.proof.map(|proof| (proof, proof.nsys.problem.as_ref().filter(|_| is_typed(proof)))) {
        Some((_, Some(problem))) => {
            let text = format!("the gate never opened, {still}: {problem}");
            Verdict::missed(TOOL, problem.nsys_cause(), text)
        }
        Some((proof, None)) => {
            let seen = record::counted(proof.nsys.meant_instances(), "instance");
            let text = format!("the gate never opened, {still}; the rehearsal saw {seen}");
            Verdict::missed(TOOL, Cause::GateNeverOpened, text).with_remedy(advice::RECORD_WITHOUT_A_GATE)
        }
        None => Verdict::missed(TOOL, Cause::GateNeverOpened, format!("the gate never opened, {still}")),
    }
}

/// There is a stream, but it could not be imported.
pub fn import_failed(importer: &Importer, why: &str, log: &str) -> Verdict {
    let cause = match importer.path {
        _ if says_disk_full(why, log) => Cause::DiskFull,
        None => Cause::ImporterNotFound,
        Some(_) => Cause::ImporterBroken,
    };
    Verdict::failed(TOOL, cause, why).with_evidence([last_lines(log)])
}

pub fn export_failed(error: &ExportError, log: &str) -> Verdict {
    let why = error.to_string();
    let cause = match error {
        _ if says_disk_full(&why, log) => Cause::DiskFull,
        ExportError::Failed(_) => Cause::ExportFailed,
        ExportError::Unreadable(_) => Cause::ReportUnreadable,
    };
    Verdict::failed(TOOL, cause, why)
}

fn says_disk_full(why: &str, log: &str) -> bool {
    clues(why, "").iter().chain(&clues(log, "")).any(|clue| clue.cause == Cause::DiskFull)
}
