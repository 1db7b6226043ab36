//! The step `timeline`: the timeline by nsys, judged by what is in the report, one rung after the other.

mod capture;
mod verdict;

use nsight::nsys::Gate;
use nsight::verdict::{Cause, Outcome, Verdict};
use nsight::{Proof, Remedy};

use super::begin::RunError;
use super::flow::{Context, Run, StepResult};
use super::rehearse;
use super::verdicts::{record, stepped_down, told};
use crate::config::{CaptureRange, Enable, Resolved, TimelineSource};
use crate::gates::{nothing_is_meant, prove_gate, prove_in};
use crate::locate::NoTool;
use crate::nsys::Nsys;
use crate::process::Reason;
use crate::rundir::{StepName, StepStatus, VerdictRecord};
use capture::{Attempted, attempt};

const TOOL: &str = "nsys";
const TRACER: &str = "tracer";
const ANOTHER_CUPTI: &str =
    "name another with RANGEFINDER_CUPTI; `rangefinder doctor` shows the libcupti that is used";
const LESS: &str = "a shorter run loses less; `rangefinder doctor` shows the libcupti that is used";

/// One way to capture.
pub(super) struct Rung {
    name: String,
    gate: Gate,
    follow_forks: bool,
}

pub(super) fn step(run: &mut Run, context: &mut Context<'_>) -> Result<StepResult, RunError> {
    // Of an earlier attempt.
    run.manifest.verdicts.retain(|record| record.tool != TOOL && record.tool != TRACER);
    let config = &run.resolved.config.nsys;
    let source = run.resolved.config.timeline.source;
    if source == TimelineSource::Tracer {
        let asked_for = run.resolved.set_by_user("timeline.source");
        let ranges = run.inventory.as_ref().map_or(0, |inventory| inventory.trace.ranges.len());
        let without_gpu = match ranges {
            0 => StepResult::Skipped {
                why: "the tracer saw nothing: no range, no CUDA call, no kernel".to_owned(),
                asked_for,
            },
            ranges => StepResult::Done(Some(format!("the tracer: {ranges} ranges, nothing of a GPU"))),
        };
        return Ok(by_the_tracer(run, asked_for).unwrap_or(without_gpu));
    }
    if config.enable == Enable::False && source == TimelineSource::Auto {
        let why = "`nsys.enable=false`".to_owned();
        return Ok(by_the_tracer(run, false).unwrap_or(StepResult::Skipped { why, asked_for: false }));
    }
    let asked_for = asked_for(&run.resolved);
    if run.manifest.step(StepName::Rehearse).status == StepStatus::Failed && !asked_for {
        let why = "the workload failed in its rehearsal".to_owned();
        return Ok(StepResult::Skipped { why, asked_for });
    }
    let nsys = match located(run) {
        Ok(nsys) => nsys,
        Err(none) => {
            let skipped = without_nsys(run, &none, asked_for);
            // Nobody asked for nsys itself: our own timeline does as well.
            let instead = if asked_for { None } else { by_the_tracer(run, false) };
            return Ok(instead.unwrap_or(skipped));
        }
    };
    if !nsys.fit
        && !asked_for
        && let Some(instead) = by_the_tracer(run, false)
    {
        return Ok(instead);
    }
    if !nsys.fit {
        let text = format!(
            "nsys {} is older than the CUDA of the driver, and may lose most of what happens without a word",
            nsys.probe.version
        );
        run.warn(text, context);
    }
    let proof = gate_proof(run);
    if let Some(proof) = proof.as_ref().filter(|proof| nothing_is_meant(&proof.nsys)) {
        return Ok(refused(run, proof, asked_for));
    }
    climb_down(run, &nsys, proof.as_ref(), asked_for, context)
}

/// Set to `true`, or gated or named in a layer that the user wrote.
pub(super) fn asked_for(resolved: &Resolved) -> bool {
    let config = &resolved.config.nsys;
    config.enable == Enable::True
        || config.nvtx_capture.is_some() && resolved.set_by_user("nsys.nvtx_capture")
        || config.capture_range == CaptureRange::CudaProfilerApi && resolved.set_by_user("nsys.capture_range")
        || resolved.config.timeline.source == TimelineSource::Nsys && resolved.set_by_user("timeline.source")
}

/// The rehearsal's trace, if it has the GPU's part.
fn by_the_tracer(run: &mut Run, asked_for: bool) -> Option<StepResult> {
    let trace = &run.inventory.as_ref()?.trace;
    let lost_something = trace.diagnostics.iter().any(|said| said.lost);
    if trace.calls.is_empty() && trace.activities.is_empty() && !lost_something {
        return None;
    }
    let kernels = trace.activities.kernels();
    let lost: Vec<String> =
        trace.diagnostics.iter().filter(|said| said.lost).map(|said| said.text.clone()).collect();
    let text = format!("{kernels} kernels, {} CUDA calls, {} ranges", trace.calls.len(), trace.ranges.len());
    let outcome = if lost.is_empty() { Outcome::Captured } else { Outcome::Partial };
    let has_lost = |what: &str| lost.iter().any(|text| text == what);
    let verdict = if lost.is_empty() {
        Verdict::new(outcome, None, text)
    } else if has_lost(trace::CUPTI_TAKEN) {
        Verdict::new(outcome, Some(Cause::CuptiInUse), format!("{text}: {}", trace::CUPTI_TAKEN))
    } else if has_lost(trace::CUPTI_NOT_LOADED) {
        Verdict::new(outcome, Some(Cause::ToolBroken), text).with_remedy(ANOTHER_CUPTI)
    } else {
        Verdict::new(outcome, Some(Cause::RecordsLost), text).with_remedy(LESS)
    };
    let verdict = verdict.with_evidence(lost);
    record(run, TRACER, "the rehearsal", &verdict);
    Some(match outcome {
        Outcome::Captured => StepResult::Done(Some(format!("the tracer: {}", told(&verdict)))),
        _ => StepResult::Failed { why: told(&verdict), asked_for },
    })
}

/// The nsys that this run uses.
pub(super) fn located(run: &Run) -> Result<Nsys, NoTool> {
    let chosen = run.resolved.config.nsys.path.as_ref().map(|path| path.0.as_str());
    let cuda = run.provenance.as_ref().and_then(|provenance| provenance.gpus.cuda.as_deref());
    Nsys::locate(chosen, cuda)
}

fn without_nsys(run: &mut Run, none: &NoTool, asked_for: bool) -> StepResult {
    let cause = match none {
        NoTool::Absent(_) => Cause::NotInstalled,
        NoTool::Broken(_) => Cause::ToolBroken,
    };
    let verdict = Verdict::failed(cause, format!("{none}: no timeline by Nsight Systems"));
    let remedy = verdict.remedy.clone().unwrap_or_default();
    let why = format!("{}\nhint: {remedy}", verdict.text);
    if asked_for {
        record(run, TOOL, "as asked", &verdict);
    }
    StepResult::Skipped { why, asked_for }
}

/// A gate that can match nothing is not tried: the workload is not run for it.
fn refused(run: &mut Run, proof: &Proof, asked_for: bool) -> StepResult {
    let cause = proof.nsys.cause.as_ref();
    let text = format!(
        "not started: its gate `{}` can match nothing, as the plan says{}",
        proof.typed,
        cause.map(|cause| format!(": {cause}")).unwrap_or_default()
    );
    // Neither is there a range for what is only written wrongly.
    let kind = cause.map(nsight::Cause::of_nsys).filter(|kind| *kind != Cause::GateCannotOpen);
    let verdict = Verdict::missed(kind.unwrap_or(Cause::NoSuchRange), text)
        .with_remedy("use one of the ranges there are: `rangefinder ranges` lists them");
    record(run, TOOL, "as asked", &verdict);
    StepResult::Failed { why: told(&verdict), asked_for }
}

/// Each rung in turn, until one leaves what was wanted.
fn climb_down(
    run: &mut Run,
    nsys: &Nsys,
    proof: Option<&Proof>,
    asked_for: bool,
    context: &mut Context<'_>,
) -> Result<StepResult, RunError> {
    // What an earlier attempt could not read may be readable one day.
    rehearse::set_aside(&run.files.path(TOOL))?;
    let importer = nsys.importer(&run.files.path("tmp/nsys-libraries"));
    let mut rungs = rungs(run, proof).into_iter().peekable();
    while let Some(rung) = rungs.next() {
        let Attempted { verdict, report } = attempt(run, nsys, &importer, &rung, proof, context)?;
        record(run, TOOL, &rung.name, &verdict);
        if let Some(report) = &report {
            explain_the_miss(run, report);
        }
        let interrupted = |pass: &crate::rundir::Pass| pass.ended_by_us == Some(Reason::Interrupted);
        let stopped = run.manifest.passes.last().is_some_and(interrupted);
        if matches!(verdict.outcome, Outcome::Captured | Outcome::Partial) {
            run.timeline = report;
        }
        if stopped {
            return Ok(StepResult::Interrupted(told(&verdict)));
        }
        match verdict.outcome {
            Outcome::Captured => {
                let version = &nsys.probe.version;
                return Ok(StepResult::Done(Some(format!("nsys {version}: {}", told(&verdict)))));
            }
            Outcome::Partial => return Ok(StepResult::Failed { why: told(&verdict), asked_for }),
            Outcome::Missed | Outcome::Failed => {}
        }
        match rungs.peek().filter(|_| another_gate_may_help(&verdict)) {
            Some(next) => {
                run.warn(stepped_down(TOOL, &rung.name, &verdict, &next.name), context);
            }
            None => return Ok(fallen_back(run, &verdict, asked_for)),
        }
    }
    // There is always a rung, and the last one returns.
    Ok(StepResult::Skipped { why: "there is no way to capture".to_owned(), asked_for })
}

/// It does not mend an importer.
fn another_gate_may_help(verdict: &Verdict) -> bool {
    matches!(
        verdict.cause,
        Some(
            Cause::GateNeverOpened
                | Cause::GateCannotOpen
                | Cause::UnregisteredString
                | Cause::WrongDomain
                | Cause::NoSuchRange
                | Cause::NoReport
        )
    )
}

/// The last rung: what the rehearsal saw.
fn fallen_back(run: &Run, verdict: &Verdict, asked_for: bool) -> StepResult {
    let ranges = run.inventory.as_ref().filter(|inventory| !inventory.is_empty());
    let instead = match ranges {
        Some(inventory) => format!("\nthe rehearsal is the timeline: {}", inventory.summary()),
        None => String::new(),
    };
    StepResult::Failed { why: format!("{}{instead}", told(verdict)), asked_for }
}

fn gate_proof(run: &Run) -> Option<Proof> {
    let wish = run.nsys_wish()?;
    let inventory = run.inventory.as_ref()?;
    let exit_code = run.manifest.workload_pass().map_or(0, |pass| pass.ending.shell_code());
    let proof = prove_gate(wish, inventory, exit_code, run.nsys_terms());
    // That nothing is meant is proven only by who has seen everything.
    (inventory.is_complete() || !nothing_is_meant(&proof.nsys)).then_some(proof)
}

/// As asked first, then without the gate, which is applied afterwards.
fn rungs(run: &Run, proof: Option<&Proof>) -> Vec<Rung> {
    let config = &run.resolved.config.nsys;
    let inventory = run.inventory.as_ref();
    let follow_forks = inventory.is_some_and(|seen| seen.regions.iter().any(|region| region.forked > 0));
    let rung = |name: &str, gate: Gate| Rung { name: name.to_owned(), gate, follow_forks };
    let typed = |name: &str| Gate::Range { name: name.to_owned(), register_only_off: false };
    if config.capture_range == CaptureRange::CudaProfilerApi {
        return vec![rung("between cudaProfilerStart and Stop", Gate::ProfilerApi)];
    }
    let Some(wish) = run.nsys_wish() else { return vec![rung("as asked", Gate::None)] };
    let ungated = rung("without a gate", Gate::None);
    match proof {
        _ if config.strict => vec![rung("as asked", typed(wish))],
        None => vec![rung("as asked", typed(wish)), ungated],
        Some(proof) => match &proof.gating {
            Some(gating) => {
                let name = gating.gate.clone();
                let gate = Gate::Range { name, register_only_off: gating.register_only_off };
                let asked = proof.nsys.remedy == Remedy::AsTyped;
                let name = if asked { "as asked" } else { "with the gate as the rehearsal corrects it" };
                vec![rung(name, gate), ungated]
            }
            // Where one gate will not do.
            None => vec![ungated],
        },
    }
}

/// A gate that was used unproven and did not open: the report of the rung below says why.
fn explain_the_miss(run: &mut Run, report: &trace::Trace) {
    // With a rehearsal the gate was proven, and something else is wrong.
    let Some(wish) = run.nsys_wish().filter(|_| run.inventory.is_none()).map(str::to_owned) else { return };
    let is_unexplained =
        |record: &VerdictRecord| record.tool == TOOL && record.verdict.cause == Some(Cause::GateNeverOpened);
    let Some(at) = run.manifest.verdicts.iter().position(is_unexplained) else { return };
    let regions = analysis::regions(report);
    let proof = prove_in(&wish, report, &regions, 0, run.nsys_terms());
    if let Some(cause) = &proof.nsys.cause {
        let verdict = &mut run.manifest.verdicts[at].verdict;
        verdict.cause = Some(cause.of_nsys());
        verdict.remedy = cause.of_nsys().remedy().map(str::to_owned);
        verdict.evidence.push(format!("the report that was recorded without the gate: {cause}"));
    }
}
