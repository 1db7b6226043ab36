//! Stage 1: the operators, by PyTorch's own profiler in a pass of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use input::Input;
use nsight::verdict::{Cause, Outcome, Verdict};
use serde_json::json;
use trace::Trace;

use super::begin::RunError;
use super::flow::{Context, Run, StepResult};
use super::pass::{Order, carry_out};
use super::rehearse::set_aside;
use super::verdicts::{record, told};
use crate::config::{Enable, Stage1Config};
use crate::process::{Finished, Reason, SuperviseError};
use crate::rundir::{StepName, StepStatus};
use crate::workload::{Purpose, SEEN, tmpdir};

const TOOL: &str = "torch";
pub(super) const NO_TORCH: &str = "its Python has no torch";
const PASS: &str = "stage1";
/// The profiler writes its trace when the program ends.
const LINGER: Duration = Duration::from_secs(60);
const LOOK: &str = "look at what the workload says in workload/stage1/stderr.log: it may not bear a profiler";
const NOT_NEEDED: &str = "a program that does nothing with torch needs no such pass: `stage1.enable=false`";
/// What the helper says when the program has a profiler of its own.
const STEPPED_ASIDE: &str = "the program starts a torch profiler of its own";

pub(super) fn step(run: &mut Run, context: &mut Context<'_>) -> Result<StepResult, RunError> {
    run.manifest.verdicts.retain(|record| record.tool != TOOL);
    let enable = run.resolved.config.stage1.enable;
    let asked_for = enable == Enable::True;
    if let Some(why) = unfit(run, enable) {
        return Ok(StepResult::Skipped { why, asked_for });
    }
    set_aside(&run.files.path(PASS))?;
    set_aside(&run.files.path(&format!("workload/{PASS}")))?;
    let finished = match profile(run, context) {
        Ok(finished) => finished,
        Err(RunError::Supervise(error)) if !matches!(error, SuperviseError::Log { .. }) => {
            return Ok(StepResult::Failed { why: error.to_string(), asked_for });
        }
        Err(error) => return Err(error),
    };
    let (verdict, trace) = judge(run, &finished)?;
    record(run, TOOL, "a pass of its own", &verdict);
    run.stage1 = trace;
    let note = told(&verdict);
    Ok(match (verdict.cause, verdict.outcome) {
        (Some(Cause::Interrupted), _) => StepResult::Interrupted(note),
        (_, Outcome::Captured | Outcome::Partial) => StepResult::Done(Some(note)),
        _ => StepResult::Failed { why: note, asked_for },
    })
}

/// What a run that is resumed finds in its files.
pub(super) fn reread(run: &Run) -> Option<Trace> {
    let traces = kineto_files(&run.files.path(PASS));
    (!traces.is_empty()).then(|| trace::open(&traces).ok()).flatten()
}

/// Whether the program needs the profiler can be seen in its rehearsal, where the question comes up.
pub(super) fn purpose_of_rehearsal(run: &Run) -> Purpose {
    match run.resolved.config.stage1.enable {
        Enable::False => Purpose::Plain,
        Enable::Auto | Enable::True => Purpose::Look,
    }
}

/// Why there is nothing to profile.
fn unfit(run: &mut Run, enable: Enable) -> Option<String> {
    if enable == Enable::False {
        return Some("`stage1.enable=false`".to_owned());
    }
    if run.manifest.step(StepName::Rehearse).status == StepStatus::Failed {
        return Some("the workload failed in its rehearsal".to_owned());
    }
    if run.workload.python().is_none() {
        return Some("the workload is no Python program".to_owned());
    }
    let python = run.provenance.as_ref().and_then(|provenance| provenance.python.as_ref());
    if python.is_some_and(|python| !python.has_torch()) {
        return Some(NO_TORCH.to_owned());
    }
    if imports_torch(&run.files.path("workload/rehearsal")) == Some(false) {
        return Some("the program did not import torch in its rehearsal".to_owned());
    }
    None
}

/// What the helper saw in a pass, of all its processes; None where it was not there to see.
fn imports_torch(pass: &Path) -> Option<bool> {
    let seen = Input::open(&pass.join(SEEN)).ok()?.whole(64).ok()?;
    match seen.as_slice() {
        b"torch\n" => Some(true),
        b"" => Some(false),
        _ => None,
    }
}

/// Runs the workload with torch's profiler in it, and with nothing else.
fn profile(run: &mut Run, context: &mut Context<'_>) -> Result<Finished, RunError> {
    let folder = run.files.folder(&format!("workload/{PASS}"))?;
    run.files.folder(PASS)?;
    let (tmpdir, link) = tmpdir(run.files.root())?;
    let settings = settings(&run.resolved.config.stage1);
    let argv = run.workload.changed(&run.resolved.config.stage1.workload).argv(&folder);
    let variables = run.workload.variables_with_helper(PASS, &folder, &tmpdir, Purpose::Profile(settings));
    let order = Order { linger: LINGER, grace: LINGER, ..Order::alone(PASS, argv, variables, folder, link) };
    carry_out(run, order, context)
}

fn settings(config: &Stage1Config) -> String {
    let Stage1Config { activities, record_shapes, with_stack, profile_memory, .. } = config;
    json!({
        "activities": activities,
        "record_shapes": record_shapes,
        "with_stack": with_stack,
        "profile_memory": profile_memory,
    })
    .to_string()
}

/// The traces that the program left, moved to where they are looked for, and what is in them.
fn judge(run: &mut Run, finished: &Finished) -> Result<(Verdict, Option<Trace>), RunError> {
    let (left, kept) = (run.files.path(&format!("workload/{PASS}")), run.files.path(PASS));
    for file in kineto_files(&left) {
        if let Some(name) = file.file_name() {
            let target = kept.join(name);
            std::fs::rename(&file, &target)
                .map_err(|error| crate::rundir::WriteError::new(&target, error))?;
        }
    }
    let stderr = std::fs::read(left.join("stderr.log")).unwrap_or_default();
    let stderr = String::from_utf8_lossy(&stderr);
    let ended = ended(finished);
    let traces = kineto_files(&kept);
    if traces.is_empty() {
        let verdict = if stderr.contains(STEPPED_ASIDE) {
            Verdict::new(
                Outcome::Missed,
                Some(Cause::CuptiInUse),
                "the program has a torch profiler of its own",
            )
            .with_remedy(
                "switch it off for this pass: RANGEFINDER_PASS is `stage1` in it; or `stage1.enable=false`",
            )
        } else if let Some((cause, text)) = ended {
            Verdict::new(Outcome::Failed, Some(cause), text).with_remedy(LOOK)
        } else {
            Verdict::new(
                Outcome::Missed,
                Some(Cause::NothingRecorded),
                "the profiler left no trace: torch was never imported, or the program did not end by itself",
            )
            .with_remedy(NOT_NEEDED)
        };
        return Ok((verdict, None));
    }
    let trace = match trace::open(&traces) {
        Ok(trace) => trace,
        Err(error) => {
            let verdict = Verdict::new(Outcome::Failed, Some(Cause::ReportUnreadable), error.to_string());
            return Ok((verdict, None));
        }
    };
    for file in &traces {
        crate::secrets::mark_chrome_trace(file, &run.files.redactor)
            .map_err(|error| crate::rundir::WriteError::new(file, error))?;
    }
    let operators = trace.operators.begin.len();
    let kernels = trace.activities.kernels();
    let text = format!("{operators} calls of operators, {kernels} kernels");
    let verdict = match ended {
        _ if operators == 0 => {
            Verdict::new(Outcome::Missed, Some(Cause::NothingRecorded), "the profiler recorded no operator")
                .with_remedy(NOT_NEEDED)
        }
        Some((cause, why)) => {
            Verdict::new(Outcome::Partial, Some(cause), format!("{text}; {why}")).with_remedy(LOOK)
        }
        None => Verdict::new(Outcome::Captured, None, text),
    };
    Ok((verdict, (operators > 0).then_some(trace)))
}

/// How the program ended, unless it ended well.
fn ended(finished: &Finished) -> Option<(Cause, String)> {
    match finished.ended_by_us {
        Some(Reason::Interrupted) => Some((Cause::Interrupted, "it was interrupted".to_owned())),
        Some(Reason::Timeout) => Some((Cause::TimedOut, "it ran out of time".to_owned())),
        Some(Reason::Stopped) => None,
        None if finished.ending.success() => None,
        None => Some((Cause::WorkloadFailed, format!("the workload ended with {}", finished.ending))),
    }
}

/// `kineto.json.gz`, and one for each process that the program started.
fn kineto_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_trace = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("kineto") && (name.ends_with(".json") || name.ends_with(".json.gz"))
    };
    let mut found: Vec<PathBuf> = entries.filter(is_trace).collect();
    found.sort();
    found
}
