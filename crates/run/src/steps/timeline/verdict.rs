//! What a capture was, from the report, the rehearsals, the log and how it ended.

use analysis::Region;
use nsight::Proof;
use nsight::nsys::{Case, Ending, Gate, RangeEnd, judge};
use nsight::verdict::{Cause, Told, Verdict};
use trace::Trace;

use super::super::begin::RunError;
use super::super::flow::{Context, Run};
use super::super::rehearse;
use super::Rung;
use crate::ask::last_lines;
use crate::config::Config;
use crate::process::{self, Finished, Reason};

/// SIGTERM, as a shell counts it.
const TERMINATED: i32 = 143;

/// Holds a report against the rehearsal, and against a second one if that may explain it.
pub(super) fn held_against(
    run: &mut Run,
    rung: &Rung,
    report: &Trace,
    finished: &Finished,
    told: &[Told],
    proof: Option<&Proof>,
    context: &mut Context<'_>,
) -> Result<Verdict, RunError> {
    let ending = ending(run, rung, finished);
    let verdict = judged(run, rung, report, told, ending.clone(), proof);
    let may_vary = match verdict.cause {
        Some(Cause::RecordsLost | Cause::PathNotTaken) => verdict.evidence.is_empty(),
        Some(Cause::CountVaries) => true,
        _ => false,
    };
    if !may_vary || run.inventory.is_none() || run.second_rehearsal.is_some() || context.signals.interrupted()
    {
        return Ok(verdict);
    }
    let text =
        format!("nsys: {}; the workload is rehearsed once more, to see whether that varies", verdict.text);
    run.warn(text, context);
    run.second_rehearsal = rehearse::once_more(run, context)?;
    Ok(judged(run, rung, report, told, ending, proof))
}

fn judged(
    run: &Run,
    rung: &Rung,
    report: &Trace,
    told: &[Told],
    ending: Ending,
    proof: Option<&Proof>,
) -> Verdict {
    let config = &run.resolved.config;
    let is_gated = matches!(rung.gate, Gate::Range { .. });
    // What was not to be recorded is not missing, and when only a part of the run is
    // recorded its counts say nothing.
    let whole = config.capture.delay.is_none() && config.capture.duration.is_none();
    let counts =
        whole && rung.gate != Gate::ProfilerApi && config.nsys.trace.iter().any(|what| what == "nvtx");
    let rehearsals = [run.inventory.as_ref(), run.second_rehearsal.as_ref()];
    let rehearsals: Vec<Vec<Region>> = rehearsals
        .into_iter()
        .flatten()
        // One that has not seen everything cannot say how many there are.
        .filter(|inventory| counts && inventory.is_complete())
        .map(|inventory| {
            inventory.regions.iter().filter(|region| recorded(config, &region.path.domain)).cloned().collect()
        })
        .collect();
    let rehearsed: Vec<&[Region]> = rehearsals.iter().map(Vec::as_slice).collect();
    let range_end = run.planned_range_end();
    let limit = proof
        .filter(|_| is_gated && range_end != RangeEnd::None && !rehearsed.is_empty())
        .and_then(|proof| proof.prediction.as_ref())
        .map(|prediction| prediction.instances.iter().sum());
    judge(&Case {
        blind: run.blind || run.inventory.as_ref().is_some_and(|inventory| !inventory.is_complete()),
        report,
        rehearsed: &rehearsed,
        wish: run.nsys_wish(),
        gated: is_gated,
        limit,
        told,
        ending,
    })
}

/// Whether nsys was to look at this domain.
fn recorded(config: &Config, domain: &str) -> bool {
    let named = |list: &[String]| {
        list.iter().any(|name| name == domain || domain.is_empty() && name.eq_ignore_ascii_case("default"))
    };
    let (include, exclude) = (&config.nsys.nvtx_domain_include, &config.nsys.nvtx_domain_exclude);
    (include.is_empty() || named(include)) && !named(exclude)
}

fn ending(run: &Run, rung: &Rung, finished: &Finished) -> Ending {
    let shuts_down = matches!(run.planned_range_end(), RangeEnd::StopShutdown | RangeEnd::RepeatShutdown(_));
    match finished.ended_by_us {
        Some(Reason::Interrupted) => Ending::Interrupted,
        Some(Reason::Timeout) => Ending::TimedOut,
        Some(Reason::Stopped) => Ending::Stopped,
        None if finished.ending.success() => Ending::Well,
        None if shuts_down && rung.gate != Gate::None && finished.ending.shell_code() == TERMINATED => {
            Ending::AfterRange
        }
        None if matches!(finished.ending, process::Ending::Signal(_)) => {
            Ending::ToolKilled(finished.ending.to_string())
        }
        None => Ending::WorkloadFailed(finished.ending.to_string()),
    }
}

/// nsys ran, and left nothing.
pub(super) fn no_report(
    run: &Run,
    rung: &Rung,
    finished: &Finished,
    log: &str,
    told: &[Told],
    proof: Option<&Proof>,
) -> Verdict {
    let code = finished.ending.shell_code();
    let says = |cause: Cause| told.iter().any(|told| told.cause == cause);
    let evidence = [format!("nsys ended with {}", finished.ending), last_lines(log)];
    let verdict = match (&rung.gate, finished.ended_by_us) {
        (_, Some(Reason::Timeout)) => {
            Verdict::failed(Cause::TimedOut, "the capture ran past `workload.timeout` and left no report")
        }
        (_, Some(Reason::Interrupted)) => {
            Verdict::failed(Cause::Interrupted, "the capture was interrupted before it left a report")
        }
        (Gate::Range { .. }, Some(Reason::Stopped)) => never_opened(rung, proof),
        (_, Some(Reason::Stopped)) => {
            Verdict::failed(Cause::NoReport, "the capture was stopped before it left a report")
        }
        (_, None) if says(Cause::DiskFull) || disk_is_full(run, finished) => {
            Verdict::failed(Cause::DiskFull, "the disk is full: there is no report")
        }
        (_, None) if says(Cause::Refused) => {
            Verdict::failed(Cause::Refused, "nsys refused the command, and did not run the workload")
        }
        (Gate::Range { .. }, None) if code == 0 => never_opened(rung, proof),
        (Gate::ProfilerApi, None) if code == 0 => Verdict::missed(
            Cause::GateNeverOpened,
            "the program never called cudaProfilerStart, and nsys ended with exit code 0 all the same",
        )
        .with_remedy("call cudaProfilerStart and cudaProfilerStop around what matters, or gate on a range"),
        (_, None) if code == 1 && !log.contains("Generated:") => {
            Verdict::failed(Cause::Refused, "nsys refused, and did not run the workload")
        }
        (_, None) if matches!(finished.ending, process::Ending::Signal(_)) => Verdict::failed(
            Cause::ToolError,
            format!("nsys itself was ended by {}, and left no report", finished.ending),
        ),
        (_, None) if !finished.ending.success() => Verdict::failed(
            Cause::WorkloadFailed,
            format!("the workload ended with {} and there is no report", finished.ending),
        ),
        (_, None) => Verdict::failed(Cause::NoReport, "nsys left no report"),
    };
    verdict.with_evidence(evidence)
}

/// Then the log may be missing as well.
fn disk_is_full(run: &Run, finished: &Finished) -> bool {
    /// Less than this is none.
    const ROOM: u64 = 128 << 10;
    let left = rustix::fs::statvfs(run.files.root()).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    finished.stdout.disk_full || finished.stderr.disk_full || left.is_ok_and(|left| left < ROOM)
}

/// With a rehearsal the proof says why.
fn never_opened(rung: &Rung, proof: Option<&Proof>) -> Verdict {
    let always = "and nsys ended with exit code 0 all the same";
    // The proof is of the gate as it was typed, and may have corrected it since.
    let is_typed = |proof: &Proof| match &rung.gate {
        Gate::Range { name, register_only_off } => *name == proof.typed && !register_only_off,
        Gate::None | Gate::ProfilerApi => false,
    };
    match proof.map(|proof| (proof, proof.nsys.cause.as_ref().filter(|_| is_typed(proof)))) {
        Some((_, Some(cause))) => {
            Verdict::missed(cause.of_nsys(), format!("the gate never opened, {always}: {cause}"))
        }
        Some((proof, None)) => Verdict::missed(
            Cause::GateNeverOpened,
            format!("the gate never opened, {always}; the rehearsal saw {} instances", proof.nsys.instances),
        )
        .with_remedy(
            "this nsys does not see the range, or the program did not come to it: record without a gate",
        ),
        None => Verdict::missed(Cause::GateNeverOpened, format!("the gate never opened, {always}")),
    }
}
