//! The timeline from nsys, judged by what is in the report, or else from our own tracer.

use nsight::nsys::Nsys;
use nsight::{NoTool, Proof};
use record::{Cause, Rung, StepName, StepStatus, Tool, Verdict, VerdictRecord, advice};
use trace::Trace;

use super::super::ladder::climb_down;
use super::super::scene::Scene;
use super::super::session::{Made, Session, StepResult};
use super::nsight::Nsight;
use super::tracer::{SAW_NOTHING, by_the_tracer, only_the_tracer, ranges_only};
use super::ways::ways;
use crate::config::{CaptureRange, Enable, Resolved, TimelineSource};
use crate::gates::{nothing_is_meant, prove_gate, what_is_there};
use crate::quote::shell_word;
use crate::rehearsal::Inventory;
use crate::rundir::set_aside;

const TOOL: Tool = Tool::Nsys;
const RECORDED_FROM_THE_START: &str = "the timeline is from Rangefinder's tracer, which records from the start: only \
    nsys waits for `capture.delay`\nhint: leave the warm-up out with `rangefinder analyze RUN --within NAME`";

/// What this step made.
#[derive(Debug, Default)]
pub(in crate::steps) struct Timeline {
    /// What nsys recorded, if usable.
    pub(in crate::steps) report: Option<Trace>,
    /// A second rehearsal, if the two differed.
    pub(in crate::steps) second_rehearsal: Option<Inventory>,
}

pub(in crate::steps) fn step(scene: Scene<'_>, session: &mut Session<'_>) -> Made<Timeline> {
    let (result, timeline) = made(scene, session)?;
    let was_interrupted = matches!(result, StepResult::Interrupted(_));
    let by_the_tracer = usable(session).is_none() && scene.inventory.is_some_and(|seen| !seen.is_empty());
    if by_the_tracer && !was_interrupted {
        if scene.setting.resolved.config.capture.delay.is_some() {
            session.warn(RECORDED_FROM_THE_START.to_owned());
        }
        let wish = scene.setting.nsys_wish();
        if let Some((wish, there)) =
            wish.and_then(|wish| Some((wish, what_is_there(wish, scene.inventory?)?)))
        {
            let gate = shell_word(&there);
            session.warn(format!(
                "the timeline is from Rangefinder's tracer, which records everything: the gate `{wish}` of nsys is \
                 not applied to it\nhint: `rangefinder analyze RUN --within {gate}` shows only what is inside"
            ));
        }
    }
    Ok((result, timeline))
}

/// The verdict on a report of nsys that can be used.
fn usable<'a>(session: &'a Session<'_>) -> Option<&'a VerdictRecord> {
    let is_usable = |record: &&VerdictRecord| record.tool == TOOL && record.verdict.outcome.is_usable();
    session.manifest.verdicts.iter().rev().find(is_usable)
}

fn made(scene: Scene<'_>, session: &mut Session<'_>) -> Made<Timeline> {
    let earlier = usable(session).cloned();
    session.forget_verdicts(&[TOOL, Tool::Tracer]);
    let resolved = &scene.setting.resolved;
    let source = resolved.config.timeline.source;
    let nothing = |result: StepResult| Ok((result, Timeline::default()));
    if source == TimelineSource::Tracer {
        let asked_for = resolved.set_by_user("timeline.source");
        return nothing(only_the_tracer(scene, asked_for, session));
    }
    if resolved.config.nsys.enable == Enable::False {
        let why = "`nsys.enable=false`";
        let instead = by_the_tracer(scene.inventory, false, session);
        let instead = instead.or_else(|| ranges_only(scene.inventory, why));
        let skipped = StepResult::Skipped { why: why.to_owned(), asked_for: false };
        return nothing(instead.unwrap_or(skipped));
    }
    let asked_for = asked_for(resolved);
    if session.status(StepName::Rehearse) == StepStatus::Failed && !asked_for {
        let why = session.why_not_again().to_owned();
        return nothing(StepResult::Skipped { why, asked_for });
    }
    let nsys = match located(scene) {
        Ok(nsys) => nsys,
        Err(none) if earlier.is_some() => return nothing(still_there(&none, earlier, asked_for, session)),
        Err(none) => {
            // The user did not ask for nsys itself: our own timeline will do.
            let instead = match asked_for {
                true => None,
                false => by_the_tracer(scene.inventory, false, session)
                    .or_else(|| ranges_only(scene.inventory, &none)),
            };
            let inventory = scene.inventory.filter(|_| !asked_for);
            return nothing(instead.unwrap_or_else(|| match inventory {
                Some(_) => seen_nothing(&none),
                None => without_nsys(&none, asked_for, session),
            }));
        }
    };
    if !nsys.fit
        && !asked_for
        && let Some(instead) = by_the_tracer(scene.inventory, false, session)
    {
        return nothing(instead);
    }
    if !nsys.fit {
        let version = &nsys.probe.version;
        session.warn(format!(
            "nsys {version} is older than the driver's CUDA version and may silently lose most kernels"
        ));
    }
    let proof = gate_proof(scene, session);
    if let Some(proof) = proof.as_ref().filter(|proof| nothing_is_meant(&proof.nsys)) {
        return nothing(refused(proof, asked_for, session));
    }
    // A report that an earlier attempt could not read may be readable later.
    set_aside(&session.files.path(TOOL.as_str()))?;
    let importer = nsys.importer(&session.files.path("tmp/nsys-libraries"));
    let ways = ways(scene, proof.as_ref());
    let mut climber = Nsight { scene, nsys: &nsys, importer, proof, second: None, report: None };
    let result = climb_down(&mut climber, ways, asked_for, session)?;
    Ok((result, Timeline { report: climber.report, second_rehearsal: climber.second }))
}

/// Set to `true`, or gated or named in a layer that the user wrote.
pub(in crate::steps) fn asked_for(resolved: &Resolved) -> bool {
    let config = &resolved.config.nsys;
    config.enable == Enable::True
        || config.nvtx_capture.is_some() && resolved.set_by_user("nsys.nvtx_capture")
        || config.capture_range == CaptureRange::CudaProfilerApi && resolved.set_by_user("nsys.capture_range")
        || resolved.config.timeline.source == TimelineSource::Nsys && resolved.set_by_user("timeline.source")
}

/// The nsys that this run uses.
fn located(scene: Scene<'_>) -> Result<Nsys, NoTool> {
    let chosen = scene.setting.resolved.config.nsys.path.as_ref().map(|path| path.0.as_str());
    let cuda = scene.provenance.and_then(|provenance| provenance.gpus.cuda.as_deref());
    Nsys::locate(chosen, cuda)
}

/// A resumed run has an incomplete report, and without nsys there will be no better one.
fn still_there(
    none: &NoTool,
    earlier: Option<VerdictRecord>,
    asked_for: bool,
    session: &mut Session<'_>,
) -> StepResult {
    session.manifest.verdicts.extend(earlier);
    StepResult::Failed { why: format!("{none}: the incomplete report is still used"), asked_for }
}

fn without_nsys(none: &NoTool, asked_for: bool, session: &mut Session<'_>) -> StepResult {
    let verdict = none.verdict(TOOL, format!("{none}: no Nsight Systems timeline"));
    if asked_for {
        session.record(TOOL, Rung::AsAsked, &verdict);
    }
    StepResult::Skipped { why: verdict.text_with_hint(), asked_for }
}

/// The rehearsal is there, and empty: what is missing is not nsys.
fn seen_nothing(none: &NoTool) -> StepResult {
    StepResult::Skipped { why: format!("{SAW_NOTHING} ({none})"), asked_for: false }
}

/// A gate that matches nothing is not tried: the workload is not run for it.
fn refused(proof: &Proof, asked_for: bool, session: &mut Session<'_>) -> StepResult {
    // A misspelled gate has no range, either.
    let problem = proof.nsys.problem.as_ref();
    let cause = problem.map(|problem| problem.nsys_cause()).filter(|cause| *cause != Cause::GateCannotOpen);
    let verdict =
        Verdict::missed(TOOL, cause.unwrap_or(Cause::NoSuchRange), proof.nsys.refusal(&proof.typed))
            .with_remedy(advice::USE_A_LISTED_RANGE);
    session.record(TOOL, Rung::AsAsked, &verdict);
    StepResult::Failed { why: verdict.with_hint(), asked_for }
}

fn gate_proof(scene: Scene<'_>, session: &Session<'_>) -> Option<Proof> {
    let wish = scene.setting.nsys_wish()?;
    let inventory = scene.inventory?;
    let proof = prove_gate(wish, inventory, session.own_exit_code(), scene.nsys_terms());
    // Only a complete rehearsal proves that a gate matches nothing.
    (inventory.is_complete() || !nothing_is_meant(&proof.nsys)).then_some(proof)
}
