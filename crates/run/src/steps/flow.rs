//! From step to step: each is recorded before and after, and none can end the run by failing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use process::{Keeper, Signals, interruptible};
use record::{Manifest, RunStatus, Step, StepName, StepStatus};

use super::analyze::{Analyzed, Recorded};
use super::cut::{Cut, NOT_RUN};
use super::error::RunError;
use super::fate::Fate;
use super::rehearse::Rehearsal;
use super::scene::Scene;
use super::session::{Made, Session, Setting, StepResult};
use super::timeline::Timeline;
use super::{analyze, counters, doctor, plan, rehearse, report, stage1, timeline};
use crate::config::{ConfigError, Enable};
use crate::documents::{DOCUMENT, SUMMARY};
use crate::events::{Event, Observer};
use crate::exit::Exit;
use crate::quote::shell_line;
use crate::rehearsal::Inventory;
use crate::rundir::{Files, KnownHashes, Lock, list_artifacts, now, remove_older};

/// No step was possible that runs it.
const NEVER_RUN: &str = "the workload was not run: each step that runs it was turned off or not possible";

const ONE_OF_SEVERAL: &str = "one of several runs (`--repeat`, `compare`)";

/// An open run: new, or resumed.
#[derive(Debug)]
pub struct Run {
    setting: Setting,
    files: Files,
    manifest: Manifest,
    /// The rehearsal of an earlier attempt.
    rehearsal: Rehearsal,
    fate: Fate,
    _lock: Option<Lock>,
}

/// A folder beside the runs.
const DATASET: &str = "dataset";

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub exit: Exit,
    /// The code a shell would show for the workload, if it ran.
    pub workload_code: Option<i32>,
    /// Why the rehearsal failed.
    pub failure: Option<String>,
    /// How long the workload ran.
    pub wall: Option<Duration>,
    pub run: PathBuf,
}

impl Run {
    pub(super) fn new(setting: Setting, files: Files, manifest: Manifest, lock: Option<Lock>) -> Self {
        Self { setting, files, manifest, rehearsal: Rehearsal::default(), fate: Fate::default(), _lock: lock }
    }

    #[must_use]
    pub(super) fn with_rehearsal(mut self, inventory: Option<Inventory>) -> Self {
        self.rehearsal.inventory = inventory;
        self
    }

    pub fn folder(&self) -> &Path {
        self.files.root()
    }

    /// What becomes of the program, also if the run breaks off.
    pub fn fate(&self) -> Fate {
        self.fate.clone()
    }

    /// The dataset that the run is to be added to.
    pub fn dataset(&self, here: &Path) -> Option<PathBuf> {
        let run = &self.setting.resolved.config.run;
        run.parquet.then(|| here.join(&run.dir.0).join(DATASET))
    }

    /// Runs every step that is not finished yet.
    pub fn execute(mut self, signals: &Signals, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
        observer.see(&Event::RunStarted {
            run: self.folder().to_owned(),
            workload: shell_line(&self.manifest.workload.argv),
        });
        if self.manifest.steps.iter().all(|step| step.status.is_finished()) {
            observer.see(&Event::Note { text: nothing_to_resume(&self.manifest) });
        }
        self.manifest.status = RunStatus::Running;
        let mut session = Session {
            files: &mut self.files,
            manifest: &mut self.manifest,
            known_hashes: &mut KnownHashes::new(),
            signals,
            observer,
            fate: &self.fate,
        };
        let result = steps(&self.setting, self.rehearsal, &mut session);
        if let Err(error) = &result {
            broken_off(error, &mut session);
        }
        result
    }

    /// Only the rehearsal, for `ranges`.
    pub fn rehearse(
        mut self,
        signals: &Signals,
        observer: &mut dyn Observer,
    ) -> Result<(Option<Inventory>, Outcome), RunError> {
        let setting = &self.setting;
        if setting.resolved.config.rehearsal.enable == Enable::False {
            let why = "leaves `rangefinder ranges` nothing to list: the ranges come from the rehearsal";
            return Err(RunError::Config(ConfigError::Incomplete {
                setting: Box::new(setting.resolved.setting("rehearsal.enable")),
                why: why.to_owned(),
                hint: "remove this setting, or add `rehearsal.enable=true`".to_owned(),
            }));
        }
        let mut session = Session {
            files: &mut self.files,
            manifest: &mut self.manifest,
            known_hashes: &mut KnownHashes::new(),
            signals,
            observer,
            fate: &self.fate,
        };
        let rehearsal =
            take(StepName::Rehearse, &mut session, |session| rehearse::step(setting, None, session))?;
        let inventory = rehearsal.unwrap_or(self.rehearsal).inventory;
        let exit = exit(session.manifest);
        Ok((inventory, outcome(exit, &session)))
    }
}

/// How one of several runs of a program is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Once {
    /// Without the tracer: only its time is of interest.
    pub plain: bool,
    /// Whether to record where it runs.
    pub look_around: bool,
    /// Whether stacks are sampled, as configured.
    pub sampled: bool,
}

impl Run {
    /// One of several runs of a program: its rehearsal and nothing else.
    pub fn once(
        mut self,
        how: Once,
        signals: &Signals,
        observer: &mut dyn Observer,
    ) -> Result<(Option<Inventory>, Outcome), RunError> {
        let setting = &self.setting;
        let mut session = Session {
            files: &mut self.files,
            manifest: &mut self.manifest,
            known_hashes: &mut KnownHashes::new(),
            signals,
            observer,
            fate: &self.fate,
        };
        take(StepName::Configure, &mut session, |_| Ok((StepResult::Done(None), ())))?;
        let provenance = match how.look_around || how.sampled {
            true => take(StepName::Doctor, &mut session, |session| doctor::step(setting, session))?.flatten(),
            false => None,
        };
        let gpus = provenance.as_ref().filter(|_| how.sampled).map(|provenance| &provenance.gpus);
        let rehearsal = take(StepName::Rehearse, &mut session, |session| match how.plain {
            true => rehearse::plain(setting, session),
            false => rehearse::step(setting, gpus, session),
        })?;
        for step in session.manifest.steps.iter_mut().filter(|step| step.status == StepStatus::Pending) {
            step.status = StepStatus::Skipped;
            step.note = Some(ONE_OF_SEVERAL.to_owned());
        }
        let outcome = finish(setting, &mut session)?;
        Ok((rehearsal.and_then(|rehearsal| rehearsal.inventory), outcome))
    }
}

/// `resume` repeats no step that is done, even if it could not provide all that was asked for.
fn nothing_to_resume(manifest: &Manifest) -> String {
    let missing: Vec<&str> =
        manifest.steps.iter().flat_map(|step| &step.missing).map(String::as_str).collect();
    match missing.is_empty() {
        true => "nothing to resume: no step of this run was interrupted, failed or is partial; steps that were skipped need a new run".to_owned(),
        false => format!(
            "nothing to resume: every step is done or was skipped; what is missing needs a new run: {}",
            missing.join("; ")
        ),
    }
}

/// Each step takes its inputs and returns its results.
fn steps(setting: &Setting, resumed: Rehearsal, session: &mut Session<'_>) -> Result<Outcome, RunError> {
    take(StepName::Configure, session, |_| Ok((StepResult::Done(None), ())))?;
    let provenance = take(StepName::Doctor, session, |session| doctor::step(setting, session))?.flatten();
    let provenance = provenance.as_ref();
    let rehearsal = take(StepName::Rehearse, session, |session| {
        rehearse::step(setting, provenance.map(|provenance| &provenance.gpus), session)
    })?;
    let Rehearsal { inventory, blind } = rehearsal.unwrap_or(resumed);
    let scene = Scene {
        setting,
        workload: &setting.workload,
        provenance,
        inventory: inventory.as_ref(),
        blind,
        second: None,
        timeline: None,
    };
    take(StepName::Plan, session, |session| plan::step(scene, session))?;
    let stage1 = take(StepName::Stage1, session, |session| {
        stage1::step(setting, provenance, inventory.as_ref(), session)
    })?;
    let timeline = take(StepName::Timeline, session, |session| timeline::step(scene, session))?;
    let Timeline { report, second_rehearsal } = timeline.unwrap_or_default();
    let scene = Scene { timeline: report.as_ref(), second: second_rehearsal.as_ref(), ..scene };
    let counted = take(StepName::Counters, session, |session| counters::step(scene, session))?;
    if session.manifest.workload_pass().is_none() && !is_interrupted(session.manifest) {
        session.warn(NEVER_RUN.to_owned());
    }
    let recorded =
        Recorded { inventory, timeline: report, stage1: stage1.flatten(), counted: counted.flatten() };
    // Without one, a run that dies from here on stays as it is, and `resume` goes on with it all the same.
    let _keeper = Keeper::begin(session.folder()).ok();
    let analyzed = match is_due(StepName::Analyze, session) {
        true => compute(StepName::Analyze, session, |files, manifest, events| {
            analyze::step(setting, provenance, recorded, files, manifest, events)
        })?,
        false => Analyzed::without_findings(recorded),
    };
    if is_due(StepName::Report, session) {
        compute(StepName::Report, session, |files, manifest, _| {
            report::step(&analyzed.material(setting, provenance, files, manifest))
        })?;
    }
    finish(setting, session)
}

/// Whether a step still has to run. After an interrupt, what was recorded is analyzed and reported, unless another one comes.
fn is_due(name: StepName, session: &mut Session<'_>) -> bool {
    if session.manifest.step(name).status.is_finished() {
        return false;
    }
    let interrupted = is_interrupted(session.manifest) || session.signals.interrupted();
    let is_answered = match name {
        StepName::Analyze => !session.manifest.passes.is_empty() && !session.signals.interrupted_again(),
        name => name == StepName::Report,
    };
    if interrupted && !is_answered {
        let step = session.manifest.step_mut(name);
        step.status = StepStatus::Interrupted;
        step.note = Some(NOT_RUN.to_owned());
        return false;
    }
    true
}

/// Runs a step if it is due.
fn take<T>(
    name: StepName,
    session: &mut Session<'_>,
    work: impl FnOnce(&mut Session<'_>) -> Made<T>,
) -> Result<Option<T>, RunError> {
    if is_due(name, session) { recorded(name, session, work).map(Some) } else { Ok(None) }
}

/// A step that runs no other program: a signal ends the run.
fn compute<T: Send>(
    name: StepName,
    session: &mut Session<'_>,
    work: impl FnOnce(&mut Files, &Manifest, &mut Vec<Event>) -> Made<T> + Send,
) -> Result<T, RunError> {
    recorded(name, session, |session| {
        let cut = Cut::during(name, session);
        let Session { files, manifest, signals, observer, .. } = session;
        let mut events = Vec::new();
        let made = interruptible(signals, || work(files, manifest, &mut events), || cut.close(*observer));
        events.iter().for_each(|event| observer.see(event));
        made
    })
}

/// Runs a step, recorded before and after.
fn recorded<T>(
    name: StepName,
    session: &mut Session<'_>,
    work: impl FnOnce(&mut Session<'_>) -> Made<T>,
) -> Result<T, RunError> {
    let clock = Instant::now();
    let step = session.manifest.step_mut(name);
    step.status = StepStatus::Running;
    step.started = Some(now());
    step.note = None;
    session.save()?;
    let program_ms = session.manifest.rehearsal().filter(|_| name.is_capture()).map(|pass| pass.wall_ms);
    session.observer.see(&Event::StepStarted { step: name, program_ms });
    let (result, made) = work(session)?;
    let mut lacks = Vec::new();
    let (status, note, asked_for) = match result {
        StepResult::Done(note) => (StepStatus::Done, note, false),
        StepResult::Incomplete { note, missing } => {
            lacks = missing;
            (StepStatus::Done, note, true)
        }
        // What was asked for and is not there is no choice of ours.
        StepResult::Skipped { why, asked_for: true } => (StepStatus::Failed, Some(why), true),
        StepResult::Skipped { why, asked_for: false } => (StepStatus::Skipped, Some(why), false),
        StepResult::Failed { why, asked_for } => (StepStatus::Failed, Some(why), asked_for),
        StepResult::Interrupted(why) => (StepStatus::Interrupted, Some(why), false),
    };
    let duration_ms = clock.elapsed().as_millis() as u64;
    let step = session.manifest.step_mut(name);
    step.status = status;
    step.note.clone_from(&note);
    step.asked_for = asked_for;
    step.missing.clone_from(&lacks);
    step.duration_ms = Some(duration_ms);
    session.save()?;
    let note = note.map(|note| session.files.redactor.text(&note));
    let missing = lacks.iter().map(|lack| session.files.redactor.text(lack)).collect();
    session.observer.see(&Event::StepFinished { step: name, status, asked_for, duration_ms, note, missing });
    Ok(made)
}

/// An error that ends the run: the manifest is still written.
fn broken_off(error: &RunError, session: &mut Session<'_>) {
    session.manifest.status = RunStatus::Failed;
    for step in session.manifest.steps.iter_mut().filter(|step| step.status == StepStatus::Running) {
        step.status = StepStatus::Failed;
        step.note = Some(error.to_string());
    }
    // The reserve lets this be written on a full disk.
    session.files.release_reserve();
    let _ = session.save();
}

fn finish(setting: &Setting, session: &mut Session<'_>) -> Result<Outcome, RunError> {
    let exit = exit(session.manifest);
    session.manifest.status =
        if exit == Exit::Interrupted { RunStatus::Interrupted } else { RunStatus::Finished };
    session.manifest.exit_code = Some(exit.code());
    session.files.release_reserve();
    remove_tmp(session.files);
    let cut = Cut::during(StepName::Report, session);
    let Session { files, known_hashes, signals, observer, .. } = session;
    let list = || list_artifacts(files.root(), known_hashes);
    session.manifest.artifacts = interruptible(signals, list, || cut.close(*observer));
    session.save()?;
    remove_older_runs(setting, session);
    let there = |name: &str| Some(session.files.path(name)).filter(|path| path.is_file());
    let report = ["report.html", "report.md", DOCUMENT].into_iter().find_map(there);
    let (workload_code, workload) = session.manifest.workload_ending().unzip();
    session.observer.see(&Event::RunFinished {
        run: session.files.root().to_owned(),
        report,
        summary: there(SUMMARY),
        workload,
        workload_code,
        exit_code: exit.code(),
    });
    Ok(outcome(exit, session))
}

fn outcome(exit: Exit, session: &Session<'_>) -> Outcome {
    let workload_code = session.manifest.workload_ending().map(|(code, _)| code);
    let rehearse = session.manifest.step(StepName::Rehearse);
    let failure = rehearse.note.clone().filter(|_| rehearse.status == StepStatus::Failed);
    let wall = session.manifest.rehearsal().and_then(|pass| pass.wall_us).map(Duration::from_micros);
    Outcome { exit, workload_code, failure, wall, run: session.folder().to_owned() }
}

/// The workload's `TMPDIR`: we created it, and it is no longer used.
fn remove_tmp(files: &Files) {
    let tmp = files.path("tmp");
    if !tmp.is_symlink() {
        let _ = std::fs::remove_dir_all(tmp);
    }
}

fn remove_older_runs(setting: &Setting, session: &mut Session<'_>) {
    let Some(keep) = setting.resolved.config.run.keep else { return };
    let Some(root) = session.folder().parent().map(Path::to_owned) else { return };
    for removed in remove_older(&root, &session.manifest.name, keep) {
        if removed.not_ours {
            let run = removed.run.display();
            let text = format!(
                "`{run}` contains files that Rangefinder did not write, so it was not \
            removed"
            );
            session.observer.see(&Event::Warning { text });
        }
    }
}

/// The first that applies; see [`Exit`].
fn exit(manifest: &Manifest) -> Exit {
    let failed = |step: &Step| step.status == StepStatus::Failed;
    let rehearse = manifest.step(StepName::Rehearse);
    // A capture that the user did not ask for may fail.
    let is_missing = |step: &Step| step.asked_for || failed(step) && !step.name.is_capture();
    if is_interrupted(manifest) {
        Exit::Interrupted
    } else if failed(rehearse) && !rehearse.asked_for || manifest.workload_failed_in_a_capture() {
        Exit::WorkloadFailed
    } else if manifest.steps.iter().any(is_missing) || manifest.workload_pass().is_none() {
        Exit::Missing
    } else {
        Exit::Complete
    }
}

fn is_interrupted(manifest: &Manifest) -> bool {
    manifest.steps.iter().any(|step| step.status == StepStatus::Interrupted)
}
