//! What a run tells whoever watches it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use record::{StepName, StepStatus};

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
        /// What the program took in its rehearsal, where the step runs it again.
        program_ms: Option<u64>,
    },
    StepFinished {
        step: StepName,
        status: StepStatus,
        asked_for: bool,
        duration_ms: u64,
        note: Option<String>,
    },
    Warning {
        text: String,
    },
    /// What is going to be done, and why.
    Note {
        text: String,
    },
    /// ncu is at work, and says in `log` how far it is.
    Measuring {
        log: PathBuf,
        /// Launches or ranges, where that is known.
        planned: Option<u64>,
    },
    RunFinished {
        run: PathBuf,
        report: Option<PathBuf>,
        /// One screen about it.
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
