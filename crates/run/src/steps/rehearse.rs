//! The step `rehearse`: the undisturbed pass.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analysis::ProcessRow;
use process::{Finished, environment};
use record::{Launcher, Outcome, PassKind, Rank, Reason, RecordedProcess, Rung, SeenProcess, Tool};
use sampler::Pauses;
use secrets::mark_traces;
use trace::{Trace, Trouble};
use tracefile::Note;

use super::error::RunError;
use super::pass::{Order, carry_out};
use super::scene::not_started;
use super::session::{Made, Session, Setting, StepResult};
use crate::config::{Config, Enable, GraphNodes};
use crate::load::{ended_with, is_loaded, trouble};
use crate::provenance::Gpus;
use crate::rehearsal::{Inventory, InventoryDocument, locate_cupti, read_and_trim, tracer_variables};
use crate::rundir::set_aside;
use crate::sampling::{self, Ended, Sampling, StackSampling, Wanted};
use crate::tracer_place::{PlacedTracer, place_tracer};
use crate::unseen::Watch;
use crate::workload::{Purpose, SEEN_TRANSFORMERS, Workload, tmpdir};

/// How long processes may outlive the workload before they are terminated.
const LINGER: Duration = Duration::from_millis(500);

/// What the undisturbed pass showed.
#[derive(Debug, Default)]
pub(super) struct Rehearsal {
    pub(super) inventory: Option<Inventory>,
    /// Our tracer could not be injected into the workload.
    pub(super) blind: bool,
}

/// `gpus` is what doctor found.
pub(super) fn step(setting: &Setting, gpus: Option<&Gpus>, session: &mut Session<'_>) -> Made<Rehearsal> {
    if setting.resolved.config.rehearsal.enable == Enable::False {
        let why = "`rehearsal.enable=false`".to_owned();
        return Ok((StepResult::Skipped { why, asked_for: false }, Rehearsal::default()));
    }
    let pass = PassKind::Rehearsal;
    let Rehearsed { finished, unseen, blind, sampled, stacks } =
        match rehearse(setting, &setting.workload, gpus, pass, session) {
            Ok(rehearsed) => rehearsed,
            Err(error) => {
                let why = not_started(error)?.to_string();
                return Ok((StepResult::Failed { why, asked_for: false }, Rehearsal::default()));
            }
        };
    note_oddities(&finished, session);
    for (log, outcome) in [("stdout.log", &finished.stdout), ("stderr.log", &finished.stderr)] {
        if let Some(hash) = &outcome.hash {
            session.known_hashes.insert(format!("workload/{}/{log}", pass.as_str()), hash.clone());
        }
    }
    let seen = read_traces(pass, unseen, session)?;
    if let (Some(inventory), Some(record)) = (&seen, session.manifest.passes.last_mut()) {
        let name = |text: &str| session.files.redactor.text(text);
        recorded_processes(&inventory.trace, &mut record.processes, name);
    }
    let opens_none = seen.as_ref().is_some_and(|seen| seen.is_empty() && seen.is_complete());
    let uses_transformers = session.files.path("workload/rehearsal").join(SEEN_TRANSFORMERS).is_file();
    if opens_none && uses_transformers && !setting.resolved.config.workload.auto {
        session.note(
            "the program uses transformers and opens no range: `--auto` opens some for prefill, decode steps and the layers \
             of its models, without changing the program"
                .to_owned(),
        );
    }
    let summary = match &blind {
        Some(why) => Some(format!("the tracer was not loaded: {why}")),
        None => seen.as_ref().map(Inventory::summary),
    };
    let result = judge(setting, &finished, summary, session);
    let counters = lacking_counters(setting, gpus, &sampled, seen.as_ref(), session);
    let stacks = gpus.and_then(|_| lacking_stacks(setting, stacks, seen.as_ref(), session));
    let result = lacking(result, counters.into_iter().chain(stacks).collect());
    // Ranges that the tracer could not see may still have been there.
    let blind = blind.is_some() || seen.as_ref().is_some_and(|seen| seen.is_empty() && !seen.is_complete());
    Ok((result, Rehearsal { inventory: seen.filter(|_| !blind), blind }))
}

/// What was recorded of each process; also of those that were too short to be seen.
fn recorded_processes(trace: &Trace, processes: &mut Vec<SeenProcess>, name: impl Fn(&str) -> String) {
    // The recording knows which rank it is, but not who says so.
    let other = processes.iter().find_map(|seen| seen.rank);
    let (world, by) = other.map_or((None, Launcher::Torchrun), |rank| (rank.world, rank.by));
    for ProcessRow { process, name: called, ranges, kernels, gpu_ns, origin } in analysis::processes(trace) {
        // Stacks are sampled of every process.
        if ranges == 0 && kernels == 0 {
            continue;
        }
        let recorded = Some(RecordedProcess { ranges, kernels, gpu_ns });
        let rank = origin.rank.map(|rank| Rank { rank, world, by });
        match processes.iter_mut().rev().find(|seen| seen.pid == process) {
            Some(seen) => (seen.recorded, seen.rank) = (recorded, seen.rank.or(rank)),
            None => {
                processes.push(SeenProcess { recorded, rank, ..SeenProcess::unseen(process, name(&called)) });
            }
        }
    }
}

/// The workload alone: nothing is seen of it but how long it takes.
pub(super) fn plain(setting: &Setting, session: &mut Session<'_>) -> Made<Rehearsal> {
    let pass = PassKind::Rehearsal;
    let folder = session.files.folder(&format!("workload/{}", pass.as_str()))?;
    session.files.folder(pass.as_str())?;
    let (tmpdir, link) = tmpdir(session.folder())?;
    let workload = &setting.workload;
    let variables = workload.variables_with_helper(pass.as_str(), &folder, &tmpdir, Purpose::Plain);
    let order =
        Order { linger: LINGER, ..Order::alone(pass, workload.argv(&folder), variables, folder, link) };
    let result = match carry_out(setting, workload, order, session) {
        Ok(finished) => {
            note_oddities(&finished, session);
            judge(setting, &finished, None, session)
        }
        Err(error) => StepResult::Failed { why: not_started(error)?.to_string(), asked_for: false },
    };
    Ok((result, Rehearsal::default()))
}

/// A second rehearsal of a workload whose counts differ under a tool. None if it did not end normally.
pub(super) fn once_more(
    setting: &Setting,
    gpus: Option<&Gpus>,
    session: &mut Session<'_>,
) -> Result<Option<Inventory>, RunError> {
    again(setting, &setting.workload, gpus, PassKind::SecondRehearsal, session)
}

/// A rehearsal of the workload as ncu runs it, if that differs.
pub(super) fn as_changed(
    setting: &Setting,
    changed: &Workload,
    gpus: Option<&Gpus>,
    session: &mut Session<'_>,
) -> Result<Option<Inventory>, RunError> {
    again(setting, changed, gpus, PassKind::ChangedRehearsal, session)
}

fn again(
    setting: &Setting,
    workload: &Workload,
    gpus: Option<&Gpus>,
    pass: PassKind,
    session: &mut Session<'_>,
) -> Result<Option<Inventory>, RunError> {
    match rehearse(setting, workload, gpus, pass, session) {
        Ok(Rehearsed { finished, unseen, .. })
            if is_loaded(&finished) || finished.ended_by_us.is_none() && finished.ending.success() =>
        {
            let seen = read_traces(pass, unseen, session)?;
            Ok(seen.filter(|inventory| !inventory.is_empty()))
        }
        Ok(_) => Ok(None),
        Err(error) => {
            let error = not_started(error)?;
            session.warn(format!("{}: {error}", pass.as_str()));
            Ok(None)
        }
    }
}

/// How the workload ended under the tracer, and what the tracer could not see.
struct Rehearsed {
    finished: Finished,
    unseen: Vec<Note>,
    /// Why the tracer could not be injected.
    blind: Option<String>,
    sampled: Ended,
    /// Why stacks were not sampled, or not to the end.
    stacks: Option<String>,
}

fn rehearse(
    setting: &Setting,
    workload: &Workload,
    gpus: Option<&Gpus>,
    pass: PassKind,
    session: &mut Session<'_>,
) -> Result<Rehearsed, RunError> {
    let relative = format!("workload/{}", pass.as_str());
    set_aside(&session.files.path(&relative))?;
    set_aside(&session.files.path(pass.as_str()))?;
    let folder = session.files.folder(&relative)?;
    let traces = session.files.folder(pass.as_str())?;
    let (tmpdir, link) = tmpdir(session.folder())?;
    let purpose = purpose_of_rehearsal(&setting.resolved.config);
    let mut variables = workload.variables_with_helper(pass.as_str(), &folder, &tmpdir, purpose);
    let environment = environment(&variables);
    let tracer = put_tracer_in_place(setting, workload, gpus, &traces, &mut variables, session);
    let sampling = begin_sampling(setting, workload, gpus, pass, &traces, environment);
    let argv = workload.argv(&folder);
    let mut order = Order { linger: LINGER, ..Order::alone(pass, argv, variables, folder, link) };
    let (tracer, blind) = match tracer {
        Ok(tracer) => (Some(tracer), None),
        Err(why) => (None, Some(why)),
    };
    order.remove.extend(tracer.iter().flat_map(|(placed, _)| placed.paths()));
    let stacks = begin_stacks(setting, gpus, pass, &traces, session);
    let finished = carry_out(setting, workload, order, session)?;
    let stacks = stacks.and_then(|sampling| sampling.map_or(Ok(()), StackSampling::end)).err();
    let sampled = sampling.end();
    let seen = tracer.and_then(|(_, watch)| watch).map(Watch::end).unwrap_or_default();
    if let Some(record) = session.manifest.passes.last_mut() {
        let name = |text: &str| session.files.redactor.text(text);
        let unrecorded = |process: &SeenProcess| {
            seen.notes.iter().find(|note| note.pid == process.pid).map(|note| name(&trace::why_unseen(note)))
        };
        let masked = |process: SeenProcess| SeenProcess {
            name: name(&process.name),
            unrecorded: unrecorded(&process),
            ..process
        };
        record.processes = seen.processes.into_iter().map(masked).collect();
    }
    Ok(Rehearsed { finished, unseen: seen.notes, blind, sampled, stacks })
}

/// Only the first rehearsal is sampled: the others are for counts alone.
fn begin_sampling(
    setting: &Setting,
    workload: &Workload,
    gpus: Option<&Gpus>,
    pass: PassKind,
    folder: &Path,
    environment: Vec<(OsString, OsString)>,
) -> Sampling {
    let config = &setting.resolved.config.counters;
    let Some(gpus) = gpus.filter(|_| pass == PassKind::Rehearsal) else { return Sampling::Off };
    let cuda = gpus.cuda.as_deref().filter(|_| !gpus.devices.is_empty());
    Sampling::begin(Wanted {
        enable: config.enable,
        interval: config.interval,
        pauses: Pauses::of(config.pauses.0),
        gpus,
        cupti: locate_cupti(workload.python_path(), cuda),
        // An interpreter that imports a framework.
        starts_slowly: workload.python_path().is_some(),
        folder,
        environment,
    })
}

/// As [`begin_sampling`]; `ranges` needs no stacks.
fn begin_stacks(
    setting: &Setting,
    gpus: Option<&Gpus>,
    pass: PassKind,
    folder: &Path,
    session: &mut Session<'_>,
) -> Result<Option<StackSampling>, String> {
    if gpus.is_none() || pass != PassKind::Rehearsal {
        return Ok(None);
    }
    let redactor = session.files.redactor.clone();
    let mask = move |text: &str| redactor.name(text).unwrap_or_else(|| text.to_owned());
    let config = &setting.resolved.config;
    StackSampling::begin(&config.stacks, Pauses::of(config.counters.pauses.0), folder, mask)
}

/// Records what the sampler left. What is missing, if the user asked for it.
fn lacking_counters(
    setting: &Setting,
    gpus: Option<&Gpus>,
    sampled: &Ended,
    seen: Option<&Inventory>,
    session: &mut Session<'_>,
) -> Option<String> {
    session.forget_verdicts(&[Tool::Sampler]);
    let enable = setting.resolved.config.counters.enable;
    let verdict = sampling::judge(sampled, seen.map(|seen| &seen.trace), enable, gpus?)?;
    session.record(Tool::Sampler, Rung::Rehearsal, &verdict);
    let lacks = match verdict.outcome {
        Outcome::Captured => None,
        Outcome::Partial => Some(format!("hardware counters over time are incomplete: {}", verdict.text)),
        Outcome::Missed | Outcome::Failed => Some(verdict.text),
    };
    lacks.filter(|_| enable == Enable::True)
}

/// Says why no stack was sampled; `problem` is what kept the sampler from it. What is missing, if the user asked
/// for it.
fn lacking_stacks(
    setting: &Setting,
    problem: Option<String>,
    seen: Option<&Inventory>,
    session: &mut Session<'_>,
) -> Option<String> {
    let trace = seen.map(|seen| &seen.trace);
    // Of a program that cannot be read, what its threads did is known, but not where.
    let is_any_read = |trace: &Trace| trace.stacks.samples.stack.iter().any(|stack| *stack != trace::NONE);
    if trace.is_some_and(is_any_read) {
        if let Some(problem) = problem {
            session.warn(format!("not all of the program's stacks were sampled: {problem}"));
        }
        return None;
    }
    let mut troubles = trace.iter().flat_map(|trace| &trace.sampling.troubles);
    let refused = troubles.find(|trouble| trouble.trouble == Trouble::NoStacks);
    let why = problem.or_else(|| refused.map(|trouble| trouble.said.clone()));
    if setting.resolved.config.stacks.enable != Enable::True {
        if let Some(why) = why {
            session.warn(format!("the program's stacks could not be sampled: {why}"));
        }
        return None;
    }
    let why = why.unwrap_or_else(|| match setting.workload.is_ourselves() {
        true => "Rangefinder does not sample its own program".to_owned(),
        false => "the program ended before the first sample".to_owned(),
    });
    Some(format!("no stacks were sampled (`stacks.enable=true`): {why}"))
}

/// The same result, with something missing that the user asked for.
fn lacking(result: StepResult, missing: Vec<String>) -> StepResult {
    match result {
        StepResult::Done(note) if !missing.is_empty() => StepResult::Incomplete { note, missing },
        other => other,
    }
}

/// Injects the tracer, unless another tool already receives NVTX calls.
fn put_tracer_in_place(
    setting: &Setting,
    workload: &Workload,
    gpus: Option<&Gpus>,
    traces: &Path,
    variables: &mut Vec<(String, Option<String>)>,
    session: &mut Session<'_>,
) -> Result<(PlacedTracer, Option<Watch>), String> {
    if workload.reserved_variables().iter().any(|name| name == "NVTX_INJECTION64_PATH") {
        let text = "`NVTX_INJECTION64_PATH` is already set, so the tracer cannot be loaded and the rehearsal sees no ranges: unset it, and do not run Rangefinder under nsys or ncu";
        session.warn(text.to_owned());
        return Err("`NVTX_INJECTION64_PATH` is already set".to_owned());
    }
    let placed = match place_tracer(&session.files.path("tmp"), setting.tracer) {
        Ok(placed) => placed,
        Err(error) => {
            session.warn(format!("the rehearsal sees no ranges: {error}"));
            return Err(error.to_string());
        }
    };
    // First, so that what the user sets wins.
    let cupti = gpu_half(setting, workload, gpus, session);
    let watch = Watch::begin(&placed.library);
    let notes = watch.as_ref().map(|watch| watch.socket.as_str());
    let mut ours = tracer_variables(&placed.library, traces, cupti.as_deref(), notes);
    let graph_nodes = match setting.resolved.config.rehearsal.graph_nodes {
        GraphNodes::True => Some("1"),
        GraphNodes::Some => Some("some"),
        GraphNodes::False => None,
    };
    if let Some(value) = graph_nodes {
        ours.push(("RANGEFINDER_GRAPH_NODES".to_owned(), Some(value.to_owned())));
    }
    if setting.resolved.config.rehearsal.all_calls {
        ours.push(("RANGEFINDER_ALL_CALLS".to_owned(), Some("1".to_owned())));
    }
    variables.splice(0..0, ours);
    Ok((placed, watch))
}

/// The libcupti for the tracer's GPU half, unless it is switched off or there is no GPU.
fn gpu_half(
    setting: &Setting,
    workload: &Workload,
    gpus: Option<&Gpus>,
    session: &mut Session<'_>,
) -> Option<PathBuf> {
    let wish = setting.resolved.config.rehearsal.gpu;
    if wish == Enable::False {
        return None;
    }
    if workload.reserved_variables().iter().any(|name| name == "CUDA_INJECTION64_PATH") {
        let text = "another tool is already injected into the workload's CUDA: the rehearsal records no GPU \
            activity";
        session.warn(text.to_owned());
        return None;
    }
    // With `ranges`, the GPUs have not been looked up yet.
    let gpus = gpus.cloned().unwrap_or_else(|| Gpus::look(Some(workload)));
    let cuda = gpus.cuda.clone().filter(|_| !gpus.devices.is_empty());
    let found = locate_cupti(workload.python_path(), cuda.as_deref());
    // A program that makes hidden GPUs visible to itself is still recorded.
    if let Some((hidden, remedy)) = gpus.hidden() {
        session.warn(format!("{hidden}: {remedy}"));
    } else if found.is_none() && (cuda.is_some() || wish == Enable::True) {
        let text =
            "no libcupti found: the rehearsal records no GPU activity (set RANGEFINDER_CUPTI to its path)";
        session.warn(text.to_owned());
    }
    found
}

/// The traces, and `ranges.json` next to them.
fn read_traces(
    pass: PassKind,
    unseen: Vec<Note>,
    session: &mut Session<'_>,
) -> Result<Option<Inventory>, RunError> {
    match read_and_trim(&session.files.path(pass.as_str())) {
        Ok(mut inventory) => {
            inventory.add_unseen(unseen);
            for unread in &inventory.trace.unread {
                session.warn(unread.to_string());
            }
            for told in inventory.trace.distinct_diagnostics().iter().filter(|told| told.diagnostic.lost) {
                session.warn(told.to_string());
            }
            session.files.redactor.learn_from(inventory.names());
            let shown = inventory.shown(&session.files.redactor);
            session.files.json(&format!("{}/ranges.json", pass.as_str()), &InventoryDocument(&shown))?;
            mark_rehearsal(pass, session);
            Ok(Some(inventory))
        }
        Err(error) => {
            mark_rehearsal(pass, session);
            session.warn(format!("the rehearsal's trace cannot be read: {error}"));
            Ok(None)
        }
    }
}

/// Masks secrets in the tracer's files, which contain names as the workload gave them, once they are read
/// and their processes have ended.
fn mark_rehearsal(pass: PassKind, session: &mut Session<'_>) {
    if let Err(error) = mark_traces(&session.files.path(pass.as_str()), &session.files.redactor) {
        session.warn(format!("secrets may remain in `{}`: {error}", pass.as_str()));
    }
}

fn note_oddities(finished: &Finished, session: &mut Session<'_>) {
    if !finished.leftovers.is_empty() {
        let names: Vec<String> = finished
            .leftovers
            .iter()
            .map(|leftover| format!("{} (pid {})", leftover.name, leftover.pid))
            .collect();
        let survivors = finished.leftovers.iter().filter(|leftover| leftover.survived).count();
        let fate = if survivors == 0 {
            "were terminated".to_owned()
        } else {
            format!("could not all be terminated: {survivors} still running")
        };
        session.warn(format!("processes that the workload left behind {fate}: {}", names.join(", ")));
    }
    if let Some(problem) = &finished.stop_problem {
        session.warn(problem.clone());
    }
    for error in [&finished.stdout.log_error, &finished.stderr.log_error].into_iter().flatten() {
        session.warn(error.clone());
    }
}

/// The result of the pass; a failed workload outweighs a truncated log.
fn judge(
    setting: &Setting,
    finished: &Finished,
    summary: Option<String>,
    session: &Session<'_>,
) -> StepResult {
    let logs = session.files.path("workload/rehearsal");
    let failed = |why: String| StepResult::Failed { why, asked_for: false };
    let killed = if finished.killed { ", and had to be killed" } else { "" };
    let log_errors: Vec<&str> = [&finished.stdout.log_error, &finished.stderr.log_error]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let trouble = trouble(finished, &logs);
    match finished.ended_by_us {
        Some(Reason::Interrupted) if finished.killed => {
            StepResult::Interrupted("the workload had to be killed".to_owned())
        }
        Some(Reason::Interrupted) => {
            StepResult::Interrupted(format!("the workload ended with {}", finished.ending))
        }
        Some(Reason::Timeout) => {
            let limit = setting.resolved.shown("workload.timeout");
            failed(format!("the workload exceeded `workload.timeout={limit}`{killed}"))
        }
        None if finished.ending.is_signal() => {
            failed(format!("the workload was killed by {}", finished.ending))
        }
        None if !finished.ending.success() => failed(format!("the workload failed with {}", finished.ending)),
        _ if finished.stdout.disk_full || finished.stderr.disk_full => StepResult::Failed {
            why: "the disk is full: part of the workload's output was lost".to_owned(),
            asked_for: true,
        },
        _ if !log_errors.is_empty() => StepResult::Failed { why: log_errors.join("; "), asked_for: true },
        _ if trouble.is_some() => StepResult::Failed { why: trouble.unwrap_or_default(), asked_for: false },
        Some(Reason::Stopped) => match &finished.stop_problem {
            Some(problem) if finished.killed => StepResult::Failed {
                why: format!("{problem}; the workload had to be killed"),
                asked_for: true,
            },
            _ => {
                let stopped = || {
                    let wall = finished.wall.as_secs_f64();
                    format!("the workload was stopped after {wall:.1} s as requested")
                };
                let stopped = format!("{}{killed}", ended_with(finished).unwrap_or_else(stopped));
                StepResult::Done(Some(summary.into_iter().chain([stopped]).collect::<Vec<_>>().join("; ")))
            }
        },
        None => StepResult::Done(summary),
    }
}

/// The rehearsal shows whether the program uses torch, if stage 1 needs to know, and whether `--auto` would help.
fn purpose_of_rehearsal(config: &Config) -> Purpose {
    Purpose::Traced { look: config.stage1.enable != Enable::False || !config.workload.auto }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Process, Range, Thread};

    /// A rank that was too short to be seen is still that rank.
    #[test]
    fn ranks_that_nobody_saw() {
        let mut trace = Trace::default();
        for (pid, label) in [(7, "rank 3"), (8, "rank 1")] {
            trace.processes.push(Process { pid, label: label.to_owned(), ..Process::default() });
            trace.threads.push(Thread { process: trace.processes.len() as u32 - 1, id: pid, name: None });
        }
        for thread in 0..2 {
            trace.ranges.push(Range { thread, begin: 0, end: 5, ..Range::default() });
        }
        trace.finish();
        let by = Launcher::Slurm;
        let rank = Some(Rank { rank: 1, world: Some(4), by });
        let mut seen = vec![SeenProcess { rank, parent: 5, ..SeenProcess::unseen(8, "b".to_owned()) }];
        recorded_processes(&trace, &mut seen, str::to_owned);
        let ranks: Vec<_> =
            seen.iter().map(|seen| (seen.pid, seen.rank.unwrap(), seen.recorded.is_some())).collect();
        let of = |rank: u32| Rank { rank, world: Some(4), by };
        assert_eq!(ranks, [(8, of(1), true), (7, of(3), true)]);
    }
}
