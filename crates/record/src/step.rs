//! The steps of a run.

use serde::{Deserialize, Serialize};

use crate::tool::Tool;

/// In the order they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepName {
    Configure,
    Doctor,
    Rehearse,
    Plan,
    Stage1,
    Timeline,
    Counters,
    /// Earlier versions spelled it differently.
    #[serde(alias = "analyse")]
    Analyze,
    Report,
}

impl StepName {
    pub const ALL: [Self; 9] = [
        Self::Configure,
        Self::Doctor,
        Self::Rehearse,
        Self::Plan,
        Self::Stage1,
        Self::Timeline,
        Self::Counters,
        Self::Analyze,
        Self::Report,
    ];

    /// Whether it runs the workload.
    pub fn is_pass(self) -> bool {
        matches!(self, Self::Rehearse | Self::Stage1 | Self::Timeline | Self::Counters)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::Doctor => "doctor",
            Self::Rehearse => "rehearse",
            Self::Plan => "plan",
            Self::Stage1 => "stage1",
            Self::Timeline => "timeline",
            Self::Counters => "counters",
            Self::Analyze => "analyze",
            Self::Report => "report",
        }
    }

    /// The tools whose captures it judges.
    pub fn tools(self) -> &'static [Tool] {
        match self {
            Self::Stage1 => &[Tool::Torch],
            Self::Timeline => &[Tool::Nsys, Tool::Tracer],
            Self::Counters => &[Tool::Ncu],
            Self::Rehearse => &[Tool::Sampler],
            Self::Configure | Self::Doctor | Self::Plan | Self::Analyze | Self::Report => &[],
        }
    }

    /// Runs the workload again under a profiler. Unless the user asked for it, it may fail.
    pub fn is_capture(self) -> bool {
        matches!(self, Self::Stage1 | Self::Timeline | Self::Counters)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepStatus {
    Pending,
    Running,
    Done,
    Skipped,
    Failed,
    Interrupted,
}

impl StepStatus {
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Running, Self::Done, Self::Skipped, Self::Failed, Self::Interrupted];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// `resume` does not repeat it.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Done | Self::Skipped)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step {
    pub name: StepName,
    pub status: StepStatus,
    pub started: Option<String>,
    pub duration_ms: Option<u64>,
    /// Why it was skipped, what failed, or what it found.
    pub note: Option<String>,
    /// The user asked for something that this step failed to provide.
    #[serde(default)]
    pub asked_for: bool,
    /// What that is, if the step is done all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl Step {
    pub fn pending(name: StepName) -> Self {
        Self {
            name,
            status: StepStatus::Pending,
            started: None,
            duration_ms: None,
            note: None,
            asked_for: false,
            missing: Vec::new(),
        }
    }
}
