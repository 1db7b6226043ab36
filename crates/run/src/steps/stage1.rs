//! Stage 1: operators, from the PyTorch profiler in a separate pass.

use std::path::{Path, PathBuf};
use std::time::Duration;

use analysis::{Options, analyze};
use input::Input;
use process::Finished;
use record::{Cause, Outcome, PassKind, Reason, Rung, StepName, StepStatus, Tool, Verdict, counted};
use serde_json::json;
use trace::Trace;

use super::error::RunError;
use super::pass::{Order, carry_out};
use super::scene::not_started;
use super::session::{Made, Session, Setting, StepResult};
use crate::config::{Enable, ProfiledTime, Stage1Config};
use crate::provenance::Provenance;
use crate::rehearsal::Inventory;
use crate::rundir::{Files, WriteError, set_aside};
use crate::workload::{Purpose, SEEN, tmpdir};

const TOOL: Tool = Tool::Torch;
pub(super) const NO_PYTHON: &str = "the workload is not a Python program";
pub(super) const NO_TORCH: &str = "the workload's Python has no torch";
const LEAVE_IT_OUT: &str = "\nhint: leave this pass out for programs without PyTorch: `stage1.enable=false`";
const PASS: &str = PassKind::Stage1.as_str();
/// The profiler writes its trace when the program ends.
const LINGER: Duration = Duration::from_secs(60);
/// Under the profiler, the program may take so many times as long to start.
const SLOWER_START: f64 = 1.5;
/// What `auto` records, where the loop is known: so many iterations,
const ITERATIONS: u32 = 50;
/// but at least so long, so that a start-up which is slower than usual leaves some of them,
const SHORTEST: Duration = Duration::from_secs(3);
/// and at most this; also where there is no loop.
const LONGEST: Duration = Duration::from_secs(60);
/// What the helper prints when the profiler's time is over.
const LONG_ENOUGH: &str = "the profiler has recorded long enough";
/// What the helper prints when the program has its own profiler.
const STEPPED_ASIDE: &str = "the program starts a torch profiler of its own";

pub(super) fn step(
    setting: &Setting,
    provenance: Option<&Provenance>,
    rehearsed: Option<&Inventory>,
    session: &mut Session<'_>,
) -> Made<Option<Trace>> {
    session.forget_verdicts(&[TOOL]);
    let enable = setting.resolved.config.stage1.enable;
    let asked_for = enable == Enable::True;
    if let Some(why) = unfit(setting, provenance, session) {
        let is_unsuitable = session.status(StepName::Rehearse) != StepStatus::Failed;
        let hint = if asked_for && is_unsuitable { LEAVE_IT_OUT } else { "" };
        return Ok((StepResult::Skipped { why: why + hint, asked_for }, None));
    }
    set_aside(&session.files.path(PASS))?;
    set_aside(&session.files.path(&format!("workload/{PASS}")))?;
    let rehearsal = session.manifest.rehearsal().map(|pass| Duration::from_millis(pass.wall_ms));
    let loops = rehearsed.map(|rehearsed| analyze(&rehearsed.trace, &Options::default()).loops);
    let main = loops.iter().flatten().next();
    let nanoseconds = |ns: i64| Duration::from_nanos(ns.max(0) as u64);
    let start_up = main.map_or(Duration::ZERO, |main| nanoseconds(main.start_up_ns));
    let period = main.and_then(|main| main.period_ns.as_ref()).map(|period| nanoseconds(period.p50));
    let limit = limit(setting.resolved.config.stage1.duration, rehearsal, start_up, period);
    let finished = match profile(setting, limit, session) {
        Ok(finished) => finished,
        Err(error) => {
            let why = not_started(error)?.to_string();
            return Ok((StepResult::Failed { why, asked_for }, None));
        }
    };
    let (verdict, trace) = judge(session.files, &finished)?;
    session.record(TOOL, Rung::OwnPass, &verdict);
    let note = verdict.with_hint();
    let result = match (verdict.cause, verdict.outcome) {
        (Some(Cause::Interrupted), _) => StepResult::Interrupted(note),
        (_, Outcome::Captured | Outcome::Partial) => StepResult::Done(Some(note)),
        _ => StepResult::Failed { why: note, asked_for },
    };
    Ok((result, trace))
}

/// What a resumed run finds in its files.
pub(super) fn reread(files: &Files) -> Option<Trace> {
    let traces = kineto_files(&files.path(PASS));
    (!traces.is_empty()).then(|| trace::open(&traces).ok()).flatten()
}

/// Why there is nothing to profile.
fn unfit(setting: &Setting, provenance: Option<&Provenance>, session: &Session<'_>) -> Option<String> {
    if setting.resolved.config.stage1.enable == Enable::False {
        return Some("`stage1.enable=false`".to_owned());
    }
    if session.status(StepName::Rehearse) == StepStatus::Failed {
        return Some(session.why_not_again().to_owned());
    }
    if setting.workload.python().is_none() {
        return Some(NO_PYTHON.to_owned());
    }
    let python = provenance.and_then(|provenance| provenance.python.as_ref());
    if python.is_some_and(|python| !python.has_torch()) {
        return Some(NO_TORCH.to_owned());
    }
    if imports_torch(&session.files.path("workload/rehearsal")) == Some(false) {
        return Some("the program did not import torch in the rehearsal".to_owned());
    }
    None
}

/// What the helper saw in all processes of a pass; None if it was not loaded.
fn imports_torch(pass: &Path) -> Option<bool> {
    let seen = Input::open(&pass.join(SEEN)).ok()?.whole(64).ok()?;
    match seen.as_slice() {
        b"torch\n" => Some(true),
        b"" => Some(false),
        _ => None,
    }
}

/// How long the profiler records, from the import of torch on: through the start-up that the rehearsal has seen, and then for
/// as long as is configured. None: to the end, if the program is not expected to take longer.
fn limit(
    wanted: Option<ProfiledTime>,
    rehearsal: Option<Duration>,
    start_up: Duration,
    period: Option<Duration>,
) -> Option<Duration> {
    let wanted = match (wanted?, period) {
        (ProfiledTime::For(wanted), _) => wanted.0,
        // Many small operators make a gigabyte of trace in a minute, and writing that takes several.
        (ProfiledTime::Auto, Some(period)) => period.saturating_mul(ITERATIONS).clamp(SHORTEST, LONGEST),
        (ProfiledTime::Auto, None) => LONGEST,
    };
    if rehearsal.is_some_and(|rehearsal| rehearsal <= wanted) {
        return None;
    }
    Some(wanted + start_up.mul_f64(SLOWER_START))
}

/// Runs the workload with torch's profiler in it, and with nothing else.
fn profile(
    setting: &Setting,
    limit: Option<Duration>,
    session: &mut Session<'_>,
) -> Result<Finished, RunError> {
    let folder = session.files.folder(&format!("workload/{PASS}"))?;
    session.files.folder(PASS)?;
    let (tmpdir, link) = tmpdir(session.folder())?;
    let config = &setting.resolved.config.stage1;
    let argv = setting.workload.changed(&config.workload).argv(&folder);
    let purpose = Purpose::Profile(settings(config, limit));
    let variables = setting.workload.variables_with_helper(PASS, &folder, &tmpdir, purpose);
    let order = Order::alone(PassKind::Stage1, argv, variables, folder, link);
    let order = Order { linger: LINGER, grace: LINGER, ..order };
    carry_out(setting, &setting.workload, order, session)
}

fn settings(config: &Stage1Config, limit: Option<Duration>) -> String {
    let Stage1Config { activities, record_shapes, with_stack, profile_memory, .. } = config;
    json!({
        "activities": activities,
        "record_shapes": record_shapes,
        "with_stack": with_stack,
        "profile_memory": profile_memory,
        "seconds": limit.map(|limit| limit.as_secs_f64()),
    })
    .to_string()
}

/// The program's traces, moved to their place in the run, and their contents.
fn judge(files: &Files, finished: &Finished) -> Result<(Verdict, Option<Trace>), RunError> {
    let (left, kept) = (files.path(&format!("workload/{PASS}")), files.path(PASS));
    for file in kineto_files(&left) {
        if let Some(name) = file.file_name() {
            let target = kept.join(name);
            std::fs::rename(&file, &target).map_err(|error| WriteError::new(&target, error))?;
        }
    }
    let stderr = std::fs::read(left.join("stderr.log")).unwrap_or_default();
    let stderr = String::from_utf8_lossy(&stderr);
    let ended = ended(finished);
    let traces = kineto_files(&kept);
    if traces.is_empty() {
        let verdict = if stderr.contains(STEPPED_ASIDE) {
            Verdict::missed(TOOL, Cause::CuptiInUse, "the program starts its own torch profiler")
        } else if let Some((cause, text)) = ended {
            Verdict::failed(TOOL, cause, text)
        } else {
            Verdict::missed(
                TOOL,
                Cause::NothingRecorded,
                "the profiler wrote no trace: torch was never imported, or the program did not exit normally",
            )
        };
        return Ok((verdict, None));
    }
    let trace = match trace::open(&traces) {
        Ok(trace) => trace,
        Err(error) => {
            let verdict = Verdict::failed(TOOL, Cause::ReportUnreadable, error.to_string());
            return Ok((verdict, None));
        }
    };
    for file in &traces {
        secrets::mark_chrome_trace(file, &files.redactor).map_err(|error| WriteError::new(file, error))?;
    }
    let operators = trace.operators.begin.len();
    let kernels = trace.activities.kernels();
    let part = if stderr.contains(LONG_ENOUGH) { " in the time of `stage1.duration`" } else { "" };
    let text = format!(
        "in the pass `stage1`, under PyTorch's profiler: {}, {}{part}",
        counted(operators as u64, "operator call"),
        counted(kernels as u64, "kernel")
    );
    let verdict = match ended {
        Some((cause, why)) if operators == 0 => Verdict::failed(TOOL, cause, why),
        None if operators == 0 => {
            Verdict::missed(TOOL, Cause::NothingRecorded, "the profiler recorded no operators")
        }
        Some((cause, why)) => Verdict::new(TOOL, Outcome::Partial, Some(cause), format!("{text}; {why}")),
        None => Verdict::new(TOOL, Outcome::Captured, None, text),
    };
    Ok((verdict, (operators > 0).then_some(trace)))
}

/// How the program ended, unless it ended well.
fn ended(finished: &Finished) -> Option<(Cause, String)> {
    match finished.ended_by_us {
        Some(Reason::Interrupted) => Some((Cause::Interrupted, "it was interrupted".to_owned())),
        Some(Reason::Timeout) => Some((Cause::TimedOut, "it timed out".to_owned())),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Span;

    #[test]
    fn as_long_as_some_iterations_take() {
        let ms = Duration::from_millis;
        let auto = |rehearsal: u64, period: Option<u64>| {
            limit(Some(ProfiledTime::Auto), Some(ms(rehearsal)), ms(2_000), period.map(ms))
        };
        // Of a loop of 1 ms, 200 ms and 10 s; then without one.
        assert_eq!(auto(100_000, Some(1)), Some(ms(6_000)));
        assert_eq!(auto(100_000, Some(200)), Some(ms(13_000)));
        assert_eq!(auto(600_000, Some(10_000)), Some(ms(63_000)));
        assert_eq!(auto(600_000, None), Some(ms(63_000)));
        // A program that is over before.
        assert_eq!(auto(2_900, Some(1)), None);
        assert_eq!(auto(30_000, None), None);
        let given = |wanted: Option<ProfiledTime>| limit(wanted, Some(ms(100_000)), ms(2_000), Some(ms(1)));
        assert_eq!(given(Some(ProfiledTime::For(Span(ms(300))))), Some(ms(3_300)));
        assert_eq!(given(None), None);
    }
}
