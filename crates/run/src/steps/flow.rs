//! From step to step: every one is recorded before and after, none takes the
//! run down with it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::begin::RunError;
use super::cut::Cut;
use super::{analyse, counters, doctor, plan, rehearse, report, stage1, timeline};
use analysis::{CounterRegions, Findings, Insight};
use nsight::nsys::RangeEnd;

use crate::config::Resolved;
use crate::documents::{DOCUMENT, SUMMARY};
use crate::events::{Event, Observer};
use crate::exit::Exit;
use crate::gates::range_end;
use crate::process::{Route, Signals, interruptible};
use crate::provenance::Provenance;
use crate::rehearsal::Inventory;
use crate::rundir::{
    Files, KnownHashes, Lock, Manifest, RunStatus, StepName, StepStatus, list_artifacts, remove_older,
};
use crate::workload::Workload;

/// A run that is being worked on.
#[derive(Debug)]
pub struct Run {
    pub(super) files: Files,
    pub(super) manifest: Manifest,
    pub(super) resolved: Resolved,
    pub(super) workload: Workload,
    pub(super) route: Route,
    pub(super) provenance: Option<Provenance>,
    pub(super) known_hashes: KnownHashes,
    /// The tracer, to be put into the workload.
    pub(super) tracer: &'static [u8],
    pub(super) inventory: Option<Inventory>,
    /// Our tracer could not be put into the workload.
    pub(super) blind: bool,
    /// A second look, where a capture counted differently.
    pub(super) second_rehearsal: Option<Inventory>,
    /// What PyTorch's profiler left, if it can be used.
    pub(super) stage1: Option<trace::Trace>,
    /// What the timeline's capture left, if it can be used.
    pub(super) timeline: Option<trace::Trace>,
    /// What the counters' capture left, if it can be used.
    pub(super) counters: Option<Counted>,
    pub(super) findings: Option<Findings>,
    /// Where their operators come from, if not from where the rest does.
    pub(super) operators_source: Option<String>,
    /// The timeline's capture with its gate applied, once it is analysed.
    pub(super) captured: Option<trace::Trace>,
    /// What timeline and counters say together.
    pub(super) insight: Insight,
    pub(super) _lock: Option<Lock>,
}

/// What ncu measured, and what that is for each region.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) report: ::counters::Report,
    pub(super) regions: CounterRegions,
}

/// What a step came to.
#[derive(Debug)]
pub(super) enum StepResult {
    Done(Option<String>),
    Skipped { why: String, asked_for: bool },
    Failed { why: String, asked_for: bool },
    Interrupted(String),
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub exit: Exit,
    /// The code a shell would show for the workload, if it ran.
    pub workload_code: Option<i32>,
    pub run: PathBuf,
}

pub(super) struct Context<'a> {
    pub(super) signals: &'a Signals,
    pub(super) observer: &'a mut dyn Observer,
}

impl Run {
    pub fn folder(&self) -> &Path {
        self.files.root()
    }

    /// Works through every step that is not finished yet.
    pub fn execute(&mut self, signals: &Signals, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
        let context = &mut Context { signals, observer };
        context.observer.see(&Event::RunStarted {
            run: self.folder().to_owned(),
            workload: crate::quote::shell_line(&self.manifest.workload.argv),
        });
        self.manifest.status = RunStatus::Running;
        let result = self.steps(context);
        if let Err(error) = &result {
            self.manifest.status = RunStatus::Failed;
            let broken = self.manifest.steps.iter_mut().filter(|step| step.status == StepStatus::Running);
            for step in broken {
                step.status = StepStatus::Failed;
                step.note = Some(error.to_string());
            }
            // The reserve lets this last word be written on a full disk.
            self.files.release_reserve();
            let _ = self.save();
        }
        result
    }

    /// Only the rehearsal, for whoever wants to know the ranges.
    pub fn rehearse(
        &mut self,
        signals: &Signals,
        observer: &mut dyn Observer,
    ) -> Result<(Option<Inventory>, Outcome), RunError> {
        self.step(StepName::Rehearse, &mut Context { signals, observer })?;
        let exit = self.exit();
        let workload_code = self.manifest.workload_pass().map(|pass| pass.ending.shell_code());
        Ok((self.inventory.take(), Outcome { exit, workload_code, run: self.folder().to_owned() }))
    }

    fn steps(&mut self, context: &mut Context<'_>) -> Result<Outcome, RunError> {
        for name in StepName::ALL {
            if matches!(self.manifest.step(name).status, StepStatus::Done | StepStatus::Skipped) {
                continue;
            }
            let interrupted = self.interrupted() || context.signals.interrupted();
            if interrupted && name != StepName::Report {
                self.manifest.step(name).status = StepStatus::Interrupted;
                continue;
            }
            self.step(name, context)?;
        }
        self.finish(context)
    }

    fn step(&mut self, name: StepName, context: &mut Context<'_>) -> Result<(), RunError> {
        let clock = Instant::now();
        let step = self.manifest.step(name);
        step.status = StepStatus::Running;
        step.started = Some(crate::rundir::now());
        step.note = None;
        self.save()?;
        let again = matches!(name, StepName::Stage1 | StepName::Timeline | StepName::Counters);
        let program_ms = self.manifest.rehearsal().filter(|_| again).map(|pass| pass.wall_ms);
        context.observer.see(&Event::StepStarted { step: name, program_ms });
        let result = match name {
            StepName::Configure => StepResult::Done(None),
            StepName::Doctor => doctor::step(self, context)?,
            StepName::Rehearse => rehearse::step(self, context)?,
            StepName::Plan => plan::step(self)?,
            StepName::Stage1 => stage1::step(self, context)?,
            StepName::Timeline => timeline::step(self, context)?,
            StepName::Counters => counters::step(self, context)?,
            StepName::Analyse => self.compute(name, context, analyse::step)?,
            StepName::Report => self.compute(name, context, |run, _| report::step(run))?,
        };
        let (status, note, asked_for) = match result {
            StepResult::Done(note) => (StepStatus::Done, note, false),
            StepResult::Skipped { why, asked_for } => (StepStatus::Skipped, Some(why), asked_for),
            StepResult::Failed { why, asked_for } => (StepStatus::Failed, Some(why), asked_for),
            StepResult::Interrupted(why) => (StepStatus::Interrupted, Some(why), false),
        };
        let duration_ms = clock.elapsed().as_millis() as u64;
        let step = self.manifest.step(name);
        step.status = status;
        step.note.clone_from(&note);
        step.asked_for = asked_for;
        step.duration_ms = Some(duration_ms);
        self.save()?;
        let note = note.map(|note| self.files.redactor.text(&note));
        context.observer.see(&Event::StepFinished { step: name, status, asked_for, duration_ms, note });
        Ok(())
    }

    /// A step that no other program takes part in: a signal ends the run.
    fn compute(
        &mut self,
        name: StepName,
        context: &mut Context<'_>,
        work: fn(&mut Self, &mut Vec<Event>) -> Result<StepResult, RunError>,
    ) -> Result<StepResult, RunError> {
        let cut = Cut::of(self, name);
        let Context { signals, observer } = context;
        let mut said = Vec::new();
        let result = interruptible(signals, || work(self, &mut said), || cut.close(*observer));
        said.iter().for_each(|event| observer.see(event));
        result
    }

    fn finish(&mut self, context: &mut Context<'_>) -> Result<Outcome, RunError> {
        let exit = self.exit();
        self.manifest.status =
            if exit == Exit::Interrupted { RunStatus::Interrupted } else { RunStatus::Finished };
        self.manifest.exit_code = Some(exit.code());
        self.files.release_reserve();
        self.remove_tmp();
        let cut = Cut::of(self, StepName::Report);
        let Context { signals, observer } = &mut *context;
        let list = || list_artifacts(self.folder(), &self.known_hashes);
        self.manifest.artifacts = interruptible(signals, list, || cut.close(*observer));
        self.save()?;
        self.remove_older(context);
        let last = self.manifest.workload_pass();
        let there = |name: &str| Some(self.files.path(name)).filter(|path| path.is_file());
        let report = ["report.html", "report.md", DOCUMENT].into_iter().find_map(there);
        context.observer.see(&Event::RunFinished {
            run: self.folder().to_owned(),
            report,
            summary: there(SUMMARY),
            workload: last.map(|pass| pass.ending.to_string()),
            workload_code: last.map(|pass| pass.ending.shell_code()),
            exit_code: exit.code(),
        });
        let workload_code = last.map(|pass| pass.ending.shell_code());
        Ok(Outcome { exit, workload_code, run: self.folder().to_owned() })
    }

    /// The workload's `TMPDIR`: it was ours to give, and nobody uses it any more.
    fn remove_tmp(&self) {
        let tmp = self.files.path("tmp");
        if !tmp.is_symlink() {
            let _ = std::fs::remove_dir_all(tmp);
        }
    }

    fn remove_older(&mut self, context: &mut Context<'_>) {
        let Some(keep) = self.resolved.config.run.keep else { return };
        let Some(root) = self.folder().parent().map(Path::to_owned) else { return };
        for removed in remove_older(&root, &self.manifest.name, keep) {
            if removed.not_ours {
                let text = format!(
                    "`{}` holds files that are not rangefinder's and was left in place",
                    removed.run.display()
                );
                context.observer.see(&Event::Warning { text });
            }
        }
    }

    /// The first that applies; see [`Exit`].
    fn exit(&self) -> Exit {
        let failed = |step: &crate::rundir::Step| step.status == StepStatus::Failed;
        if self.interrupted() {
            Exit::Interrupted
        } else if self
            .manifest
            .steps
            .iter()
            .any(|step| step.name == StepName::Rehearse && failed(step) && !step.asked_for)
            || self.manifest.workload_failed_in_a_capture()
        {
            Exit::WorkloadFailed
        } else if self
            .manifest
            .steps
            .iter()
            .any(|step| step.asked_for || failed(step) && !is_extra(step.name))
        {
            Exit::Missing
        } else {
            Exit::Complete
        }
    }

    /// What is analysed: the capture, or else the rehearsal.
    pub(super) fn analysed(&self) -> Option<&trace::Trace> {
        self.captured.as_ref().or_else(|| Some(&self.inventory.as_ref()?.trace))
    }

    /// What the program takes without a profiler.
    pub(super) fn own_time(&self) -> Duration {
        self.manifest.workload_pass().map_or(Duration::ZERO, |pass| Duration::from_millis(pass.wall_ms))
    }

    /// The gate of nsys as the user wrote it, unless it is switched off.
    pub(super) fn nsys_wish(&self) -> Option<&str> {
        self.resolved.config.nsys.wish()
    }

    /// The gates of ncu as the user wrote them, unless they are switched off.
    pub(super) fn ncu_wishes(&self) -> &[String] {
        self.resolved.config.ncu.wishes()
    }

    /// What happens when the gate closes. nsys's own default would end the workload.
    pub(super) fn nsys_range_end(&self) -> &str {
        self.resolved.config.nsys.capture_range_end.as_ref().map_or("none", |end| end.0.as_str())
    }

    /// The same, for a proof.
    pub(super) fn planned_range_end(&self) -> RangeEnd {
        range_end(&self.resolved.config, RangeEnd::None)
    }

    fn interrupted(&self) -> bool {
        self.manifest.steps.iter().any(|step| step.status == StepStatus::Interrupted)
    }

    pub(super) fn save(&self) -> Result<(), RunError> {
        Ok(self.files.manifest(&self.manifest)?)
    }

    pub(super) fn warn(&mut self, text: String, context: &mut Context<'_>) {
        context.observer.see(&Event::Warning { text: self.files.redactor.text(&text) });
        self.manifest.warnings.push(text);
    }
}

/// A capture that nobody asked for may fail.
fn is_extra(step: StepName) -> bool {
    matches!(step, StepName::Stage1 | StepName::Timeline | StepName::Counters)
}
