//! The events of a run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use record::{PassName, StepName, StepStatus};

/// One line of `rangefinder run --json`, one line on the terminal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    RunStarted {
        run: PathBuf,
        workload: String,
    },
    StepStarted {
        step: StepName,
        /// How long the program took in the rehearsal, if the step runs it again.
        program_ms: Option<u64>,
    },
    /// The program runs again.
    PassStarted {
        step: StepName,
        pass: PassName,
        /// How long it took in the rehearsal.
        program_ms: Option<u64>,
    },
    StepFinished {
        step: StepName,
        status: StepStatus,
        asked_for: bool,
        duration_ms: u64,
        note: Option<String>,
        /// What the user asked for and a step that is done could not provide.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
    },
    Warning {
        text: String,
    },
    /// What will be done, and why.
    Note {
        text: String,
    },
    /// ncu is running; `log` shows its progress.
    Measuring {
        log: PathBuf,
        /// Launches or ranges, where that is known.
        planned: Option<u64>,
    },
    RunFinished {
        run: PathBuf,
        report: Option<PathBuf>,
        /// A one-screen summary.
        summary: Option<PathBuf>,
        workload: Option<String>,
        /// As a shell would say it.
        workload_code: Option<i32>,
        exit_code: u8,
    },
}

/// Receives events as they happen.
pub trait Observer {
    fn see(&mut self, event: &Event);
}
