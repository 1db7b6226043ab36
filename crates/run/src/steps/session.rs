//! What the steps of a run work with.

use std::path::Path;
use std::time::Duration;

use process::{Route, Signals};
use record::{Manifest, PassName, Rung, StepName, StepStatus, Tool, Verdict, VerdictRecord};

use super::error::RunError;
use super::fate::Fate;
use crate::config::Resolved;
use crate::events::{Event, Observer};
use crate::rundir::{Files, KnownHashes};
use crate::workload::Workload;

/// What was asked for. Nothing of it changes during a run.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) resolved: Resolved,
    pub(super) workload: Workload,
    pub(super) route: Route,
    /// The library that is injected into the workload.
    pub(super) tracer: &'static [u8],
}

impl Setting {
    /// The nsys gate as the user wrote it, unless gating is off.
    pub(super) fn nsys_wish(&self) -> Option<&str> {
        self.resolved.config.nsys.wish()
    }

    /// The ncu gates as the user wrote them, unless gating is off.
    pub(super) fn ncu_wishes(&self) -> &[String] {
        self.resolved.config.ncu.wishes()
    }

    /// What happens when the gate closes. nsys's own default would end the workload.
    pub(super) fn nsys_range_end(&self) -> &str {
        self.resolved.config.nsys.capture_range_end.as_ref().map_or("none", |end| end.0.as_str())
    }
}

/// Where a run is recorded, who observes it, and what may interrupt it.
pub(super) struct Session<'a> {
    pub(super) files: &'a mut Files,
    pub(super) manifest: &'a mut Manifest,
    pub(super) known_hashes: &'a mut KnownHashes,
    pub(super) signals: &'a Signals,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) fate: &'a Fate,
}

impl Session<'_> {
    pub(super) fn folder(&self) -> &Path {
        self.files.root()
    }

    pub(super) fn save(&self) -> Result<(), RunError> {
        Ok(self.files.manifest(self.manifest)?)
    }

    pub(super) fn warn(&mut self, text: String) {
        self.observer.see(&Event::Warning { text: self.files.redactor.text(&text) });
        self.manifest.warnings.push(text);
    }

    pub(super) fn note(&mut self, text: String) {
        self.observer.see(&Event::Note { text });
    }

    /// The program is about to run again.
    pub(super) fn begins(&mut self, pass: PassName) {
        let running = self.manifest.steps.iter().find(|step| step.status == StepStatus::Running);
        let program_ms = self.manifest.rehearsal().map(|rehearsal| rehearsal.wall_ms);
        if let Some(step) = running.map(|step| step.name) {
            self.observer.see(&Event::PassStarted { step, pass, program_ms });
        }
    }

    /// Records a verdict.
    pub(super) fn record(&mut self, tool: Tool, rung: Rung, verdict: &Verdict) {
        self.manifest.verdicts.push(VerdictRecord { tool, rung, verdict: verdict.clone() });
    }

    /// Forgets what an earlier attempt left.
    pub(super) fn forget_verdicts(&mut self, tools: &[Tool]) {
        self.manifest.verdicts.retain(|record| !tools.contains(&record.tool));
    }

    pub(super) fn status(&self, step: StepName) -> StepStatus {
        self.manifest.step(step).status
    }

    /// How long the program takes without a profiler.
    pub(super) fn own_time(&self) -> Duration {
        self.manifest.workload_pass().map_or(Duration::ZERO, |pass| Duration::from_millis(pass.wall_ms))
    }

    /// Why the workload is not run again after a rehearsal that failed.
    pub(super) fn why_not_again(&self) -> &'static str {
        record::rehearsal_failure(&self.manifest.passes)
    }

    /// How the program ends without a profiler, as a shell would say it.
    pub(super) fn own_exit_code(&self) -> i32 {
        self.manifest.workload_pass().map_or(0, |pass| pass.ending.shell_code())
    }
}

/// The result of a step, for the manifest.
#[derive(Debug)]
pub(super) enum StepResult {
    Done(Option<String>),
    /// Done, but something that the user asked for is missing.
    Incomplete {
        note: Option<String>,
        missing: Vec<String>,
    },
    Skipped {
        why: String,
        asked_for: bool,
    },
    Failed {
        why: String,
        asked_for: bool,
    },
    Interrupted(String),
}

/// A step's result and its output.
pub(super) type Made<T> = Result<(StepResult, T), RunError>;
