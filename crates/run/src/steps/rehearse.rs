//! Step 3: the undisturbed pass.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::begin::RunError;
use super::flow::{Context, Run, StepResult};
use super::pass::{Order, carry_out};
use super::stage1::purpose_of_rehearsal;
use crate::config::Enable;
use crate::process::{Finished, Reason, SuperviseError};
use crate::provenance::Gpus;
use crate::rehearsal::{Inventory, InventoryDocument, locate_cupti, read_and_trim, tracer_variables};
use crate::rundir::WriteError;
use crate::secrets::mark_traces;
use crate::tracer_place::{PlacedTracer, place_tracer};
use crate::unseen::Watch;
use crate::workload::tmpdir;
use tracefile::Note;

const PASS: &str = "rehearsal";
const SECOND_PASS: &str = "rehearsal-2";
const CHANGED_PASS: &str = "rehearsal-ncu";
/// How long processes may outlive the workload before they are ended.
const LINGER: Duration = Duration::from_millis(500);

pub(super) fn step(run: &mut Run, context: &mut Context<'_>) -> Result<StepResult, RunError> {
    if run.resolved.config.rehearsal.enable == Enable::False {
        let why = "`rehearsal.enable=false`".to_owned();
        return Ok(StepResult::Skipped { why, asked_for: false });
    }
    let (finished, unseen) = match rehearse(run, PASS, context) {
        Ok(finished) => finished,
        Err(RunError::Supervise(error)) if !matches!(error, SuperviseError::Log { .. }) => {
            return Ok(StepResult::Failed { why: error.to_string(), asked_for: false });
        }
        Err(error) => return Err(error),
    };
    note_oddities(run, &finished, context);
    for (log, outcome) in [("stdout.log", &finished.stdout), ("stderr.log", &finished.stderr)] {
        if let Some(hash) = &outcome.hash {
            run.known_hashes.insert(format!("workload/{PASS}/{log}"), hash.clone());
        }
    }
    let seen = read_traces(run, PASS, unseen, context)?;
    // What a blind observer did not see may well have been there.
    run.blind |= seen.as_ref().is_some_and(|seen| seen.is_empty() && !seen.is_complete());
    if run.blind {
        let result = judge(run, &finished, seen.as_ref());
        return Ok(result);
    }
    run.inventory = seen;
    Ok(judge(run, &finished, run.inventory.as_ref()))
}

/// A second look at a workload that counts differently under a tool. None when it did not
/// end as it should.
pub(super) fn once_more(run: &mut Run, context: &mut Context<'_>) -> Result<Option<Inventory>, RunError> {
    again(run, SECOND_PASS, context)
}

/// A look at the workload as ncu is to run it, where that differs.
pub(super) fn as_changed(run: &mut Run, context: &mut Context<'_>) -> Result<Option<Inventory>, RunError> {
    again(run, CHANGED_PASS, context)
}

fn again(
    run: &mut Run,
    pass: &'static str,
    context: &mut Context<'_>,
) -> Result<Option<Inventory>, RunError> {
    match rehearse(run, pass, context) {
        Ok((finished, unseen)) if finished.ended_by_us.is_none() && finished.ending.success() => {
            let seen = read_traces(run, pass, unseen, context)?;
            Ok(seen.filter(|inventory| !inventory.is_empty()))
        }
        Ok(_) => Ok(None),
        Err(RunError::Supervise(error)) if !matches!(error, SuperviseError::Log { .. }) => {
            run.warn(format!("{pass}: {error}"), context);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Runs the workload with the tracer in it; also which processes it could not record.
fn rehearse(
    run: &mut Run,
    pass: &'static str,
    context: &mut Context<'_>,
) -> Result<(Finished, Vec<Note>), RunError> {
    let relative = format!("workload/{pass}");
    set_aside(&run.files.path(&relative))?;
    set_aside(&run.files.path(pass))?;
    let folder = run.files.folder(&relative)?;
    let traces = run.files.folder(pass)?;
    let (tmpdir, link) = tmpdir(run.files.root())?;
    let mut variables = run.workload.variables_with_helper(pass, &folder, &tmpdir, purpose_of_rehearsal(run));
    let tracer = put_tracer_in_place(run, &traces, &mut variables, context);
    let argv = run.workload.argv(&folder);
    let mut order = Order { linger: LINGER, ..Order::alone(pass, argv, variables, folder, link) };
    order.remove.extend(tracer.iter().flat_map(|(placed, _)| placed.paths()));
    let finished = carry_out(run, order, context)?;
    let unseen = tracer.and_then(|(_, watch)| watch).map(Watch::end).unwrap_or_default();
    Ok((finished, unseen))
}

/// Brings the tracer into the pass, unless another tool listens there already.
fn put_tracer_in_place(
    run: &mut Run,
    traces: &Path,
    variables: &mut Vec<(String, Option<String>)>,
    context: &mut Context<'_>,
) -> Option<(PlacedTracer, Option<Watch>)> {
    if run.workload.reserved_variables().iter().any(|name| name == "NVTX_INJECTION64_PATH") {
        let text = "another tool listens to NVTX in the workload: the rehearsal sees no ranges";
        run.warn(text.to_owned(), context);
        run.blind = true;
        return None;
    }
    let placed = match place_tracer(&run.files.path("tmp"), run.tracer) {
        Ok(placed) => placed,
        Err(error) => {
            run.warn(format!("the rehearsal sees no ranges: {error}"), context);
            run.blind = true;
            return None;
        }
    };
    // First, so that what the user sets wins.
    let cupti = gpu_half(run, context);
    let watch = Watch::begin(&placed.library);
    let notes = watch.as_ref().map(|watch| watch.socket.as_str());
    let mut ours = tracer_variables(&placed.library, traces, cupti.as_deref(), notes);
    if run.resolved.config.rehearsal.graph_nodes {
        ours.push(("RANGEFINDER_GRAPH_NODES".to_owned(), Some("1".to_owned())));
    }
    if run.resolved.config.rehearsal.all_calls {
        ours.push(("RANGEFINDER_ALL_CALLS".to_owned(), Some("1".to_owned())));
    }
    variables.splice(0..0, ours);
    Some((placed, watch))
}

/// The libcupti for the tracer's GPU half, unless it is switched off or there is no GPU.
fn gpu_half(run: &mut Run, context: &mut Context<'_>) -> Option<PathBuf> {
    let wish = run.resolved.config.rehearsal.gpu;
    if wish == Enable::False {
        return None;
    }
    if run.workload.reserved_variables().iter().any(|name| name == "CUDA_INJECTION64_PATH") {
        let text =
            "another tool is injected into CUDA in the workload: the rehearsal sees nothing of the GPU";
        run.warn(text.to_owned(), context);
        return None;
    }
    // Where only the ranges are asked for nobody has looked yet.
    let looked = run.provenance.as_ref().map(|provenance| provenance.gpus.clone());
    let gpus = looked.unwrap_or_else(|| Gpus::look(Some(&run.workload)));
    let cuda = gpus.cuda.clone().filter(|_| !gpus.devices.is_empty());
    let found = locate_cupti(run.workload.python_path(), cuda.as_deref());
    // A program that shows itself what was hidden is seen all the same.
    if let Some((hidden, remedy)) = gpus.hidden() {
        run.warn(format!("{hidden}: {remedy}"), context);
    } else if found.is_none() && (cuda.is_some() || wish == Enable::True) {
        let text =
            "no libcupti was found: the rehearsal sees nothing of the GPU (name one with RANGEFINDER_CUPTI)";
        run.warn(text.to_owned(), context);
    }
    found
}

/// The traces, and `ranges.json` beside them.
fn read_traces(
    run: &mut Run,
    pass: &str,
    unseen: Vec<Note>,
    context: &mut Context<'_>,
) -> Result<Option<Inventory>, RunError> {
    match read_and_trim(&run.files.path(pass)) {
        Ok(mut inventory) => {
            inventory.add_unseen(unseen);
            for told in inventory.trace.distinct_diagnostics().iter().filter(|told| told.diagnostic.lost) {
                run.warn(told.to_string(), context);
            }
            run.files.redactor.learn_from(inventory.names());
            let shown = inventory.shown(&run.files.redactor);
            run.files.json(&format!("{pass}/ranges.json"), &InventoryDocument(&shown))?;
            mark_rehearsal(run, pass, context);
            Ok(Some(inventory))
        }
        Err(error) => {
            mark_rehearsal(run, pass, context);
            run.warn(format!("the rehearsal's trace cannot be read: {error}"), context);
            Ok(None)
        }
    }
}

/// The tracer's files hold names as the workload gave them: not any more, now that they are
/// read and their processes have ended.
fn mark_rehearsal(run: &mut Run, pass: &str, context: &mut Context<'_>) {
    if let Err(error) = mark_traces(&run.files.path(pass), &run.files.redactor) {
        run.warn(format!("secrets may be left in `{pass}`: {error}"), context);
    }
}

/// What an earlier attempt left stays, under another name.
pub(super) fn set_aside(folder: &Path) -> Result<(), RunError> {
    if !folder.exists() {
        return Ok(());
    }
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let free = (1..).map(|attempt| folder.with_file_name(format!("{name}.attempt-{attempt}")));
    for path in free {
        if !path.exists() {
            std::fs::rename(folder, &path).map_err(|error| WriteError::new(&path, error))?;
            break;
        }
    }
    Ok(())
}

fn note_oddities(run: &mut Run, finished: &Finished, context: &mut Context<'_>) {
    if !finished.leftovers.is_empty() {
        let names: Vec<String> = finished
            .leftovers
            .iter()
            .map(|leftover| format!("{} (pid {})", leftover.name, leftover.pid))
            .collect();
        let survivors = finished.leftovers.iter().filter(|leftover| leftover.survived).count();
        let fate = if survivors == 0 {
            "were ended".to_owned()
        } else {
            format!("could not all be ended: {survivors} survive")
        };
        run.warn(format!("processes that the workload left behind {fate}: {}", names.join(", ")), context);
    }
    if let Some(problem) = &finished.stop_problem {
        run.warn(problem.clone(), context);
    }
    for error in [&finished.stdout.log_error, &finished.stderr.log_error].into_iter().flatten() {
        run.warn(error.clone(), context);
    }
}

/// What the pass came to; a workload that failed outweighs a log that is cut.
fn judge(run: &Run, finished: &Finished, seen: Option<&Inventory>) -> StepResult {
    let failed = |why: String| StepResult::Failed { why, asked_for: false };
    let killed = if finished.killed { ", and had to be killed" } else { "" };
    let log_errors: Vec<&str> = [&finished.stdout.log_error, &finished.stderr.log_error]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    match finished.ended_by_us {
        Some(Reason::Interrupted) if finished.killed => {
            StepResult::Interrupted("interrupted; the workload had to be killed".to_owned())
        }
        Some(Reason::Interrupted) => {
            StepResult::Interrupted(format!("interrupted; the workload ended with {}", finished.ending))
        }
        Some(Reason::Timeout) => {
            let limit = run.resolved.shown("workload.timeout");
            failed(format!("the workload ran past `workload.timeout={limit}`{killed}"))
        }
        None if !finished.ending.success() => failed(format!("the workload failed with {}", finished.ending)),
        _ if finished.stdout.disk_full || finished.stderr.disk_full => StepResult::Failed {
            why: "the disk is full: the workload's output was not all kept".to_owned(),
            asked_for: true,
        },
        _ if !log_errors.is_empty() => StepResult::Failed { why: log_errors.join("; "), asked_for: true },
        Some(Reason::Stopped) => match &finished.stop_problem {
            Some(problem) if finished.killed => StepResult::Failed {
                why: format!("{problem}; the workload had to be killed"),
                asked_for: true,
            },
            _ => StepResult::Done(Some(format!(
                "the workload was stopped after {:.1} s as asked{killed}",
                finished.wall.as_secs_f64()
            ))),
        },
        None => StepResult::Done(seen.map(Inventory::summary)),
    }
}
