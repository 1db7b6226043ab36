//! A run that a signal ends in the middle of one of our own steps.

use std::path::PathBuf;
use std::time::Instant;

use record::{Manifest, RunStatus, StepName, StepStatus};

use super::session::Session;
use crate::events::{Event, Observer};
use crate::exit::Exit;
use crate::rundir::{Files, remove_unfinished};

/// The note of a step that an interrupt kept from running; its status is `interrupted`.
pub(super) const NOT_RUN: &str = "before it started";

/// What is written then. Prepared before the step, since the run itself is busy.
#[derive(Debug)]
pub(super) struct Cut {
    files: Files,
    manifest: Manifest,
    step: StepName,
    clock: Instant,
}

impl Cut {
    pub(super) fn during(step: StepName, session: &Session<'_>) -> Self {
        let mut manifest = session.manifest.clone();
        manifest.status = RunStatus::Interrupted;
        manifest.exit_code = Some(Exit::Interrupted.code());
        for other in &mut manifest.steps {
            if matches!(other.status, StepStatus::Pending | StepStatus::Running) {
                other.note = Some(NOT_RUN.to_owned()).filter(|_| other.status == StepStatus::Pending);
                other.status = StepStatus::Interrupted;
            }
        }
        Self { files: session.files.clone(), manifest, step, clock: Instant::now() }
    }

    /// Finished steps are kept, and `resume` continues with the rest.
    pub(super) fn close(mut self, observer: &mut dyn Observer) -> impl Sized + use<> {
        let duration_ms = self.clock.elapsed().as_millis() as u64;
        let step = self.manifest.step_mut(self.step);
        let status = step.status;
        step.duration_ms = Some(duration_ms);
        self.files.release_reserve();
        // There is no one left to report a failure to.
        let _ = self.files.manifest(&self.manifest);
        observer.see(&Event::StepFinished {
            step: self.step,
            status,
            asked_for: false,
            duration_ms,
            note: None,
            missing: Vec::new(),
        });
        let last = self.manifest.workload_pass();
        observer.see(&Event::RunFinished {
            run: self.files.root().to_owned(),
            report: None::<PathBuf>,
            summary: None,
            workload: last.map(|pass| pass.ending.to_string()),
            workload_code: last.map(|pass| pass.ending.shell_code()),
            exit_code: Exit::Interrupted.code(),
        });
        remove_unfinished()
    }
}
