//! `run.json`: what a run is, what has been done, what came of it.

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::pass::{Pass, PassKind};
use crate::step::{Step, StepName};
use crate::tool::Tool;
use crate::verdict::VerdictRecord;
use crate::withheld::Withheld;

pub const MANIFEST: &str = "run.json";
/// Raised when a reader of an older manifest would misunderstand a newer one.
pub const SCHEMA: u32 = 1;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: u32,
    /// The version that made the run.
    pub rangefinder: String,
    /// The directory's name.
    pub id: String,
    /// What runs of one kind share, for `run.keep`.
    pub name: String,
    pub created: String,
    pub status: RunStatus,
    pub exit_code: Option<u8>,
    pub invocation: Invocation,
    pub workload: WorkloadRecord,
    /// Keys of `config.yaml` that a user has set: a resumed run must not take the others for wishes. None of an older run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_by_user: Option<Vec<String>>,
    pub steps: Vec<Step>,
    pub passes: Vec<Pass>,
    /// What each capture really was.
    #[serde(default)]
    pub verdicts: Vec<VerdictRecord>,
    pub warnings: Vec<String>,
    pub artifacts: Vec<Artifact>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    Running,
    Finished,
    Interrupted,
    /// Aborted: a step could not be recorded, its files could not be written, or the process died in its analysis.
    Failed,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Invocation {
    pub argv: Vec<String>,
    pub cwd: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkloadRecord {
    pub argv: Vec<String>,
    /// What each `***` of `argv` stands for.
    pub withheld: Vec<Withheld>,
    pub cwd: String,
    /// Secret variables that were set: a resumed run needs them again.
    pub secret_variables: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Relative to the run.
    pub path: String,
    pub bytes: u64,
    /// Absent if it is not a plain file (a link, a socket), is unreadable, larger than 64 GiB, or mostly a
    /// hole.
    pub blake3: Option<String>,
    /// A vendor's raw report: it contains the workload's environment and command line; do not share it
    /// unchecked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_environment: bool,
}

impl Manifest {
    /// The pass that shows how the workload itself ends: the one without a profiler.
    pub fn workload_pass(&self) -> Option<&Pass> {
        self.rehearsal().or_else(|| self.passes.last())
    }

    /// The undisturbed pass.
    pub fn rehearsal(&self) -> Option<&Pass> {
        self.passes.iter().find(|pass| pass.name.kind == PassKind::Rehearsal)
    }

    /// The workload, not the tool, failed or ran past its limit in the last rung of a capture.
    pub fn workload_failed_in_a_capture(&self) -> bool {
        Tool::ALL.into_iter().any(|tool| self.workload_failed_under(tool))
    }

    fn workload_failed_under(&self, tool: Tool) -> bool {
        let cause = self.last_verdict(tool).and_then(|record| record.verdict.cause);
        matches!(cause, Some(Cause::WorkloadFailed | Cause::TimedOut))
    }

    /// How the workload ended, as a shell would say it and in words: as in the rehearsal, unless it failed only
    /// in a capture.
    pub fn workload_ending(&self) -> Option<(i32, String)> {
        let alone = self.workload_pass()?;
        let mut failed = Tool::ALL.into_iter().filter(|tool| self.workload_failed_under(*tool));
        let pass = failed.find_map(|tool| self.passes.iter().rfind(|pass| pass.name.kind.tool() == tool));
        let pass = pass.filter(|pass| alone.ending.success() && !pass.ending.success());
        Some(match pass {
            None => (alone.ending.shell_code(), alone.ending.to_string()),
            Some(pass) => {
                let other = match alone.name.kind {
                    PassKind::Rehearsal => "the rehearsal".to_owned(),
                    _ => format!("the pass {}", alone.name),
                };
                let text = format!("{} in the pass {} ({} in {other})", pass.ending, pass.name, alone.ending);
                (pass.ending.shell_code(), text)
            }
        })
    }

    /// The final verdict on a tool's capture.
    pub fn last_verdict(&self, tool: Tool) -> Option<&VerdictRecord> {
        self.verdicts.iter().rfind(|record| record.tool == tool)
    }

    pub fn step(&self, name: StepName) -> &Step {
        &self.steps[Self::place(name)]
    }

    pub fn step_mut(&mut self, name: StepName) -> &mut Step {
        &mut self.steps[Self::place(name)]
    }

    fn place(name: StepName) -> usize {
        StepName::ALL.iter().position(|other| *other == name).unwrap_or(0)
    }

    /// An older rangefinder had fewer steps: those it did not know are pending.
    #[must_use]
    pub fn with_every_step(mut self) -> Self {
        let known = std::mem::take(&mut self.steps);
        let named = |name: StepName| known.iter().find(|step| step.name == name).cloned();
        self.steps = StepName::ALL.map(|name| named(name).unwrap_or_else(|| Step::pending(name))).to_vec();
        self
    }
}
