//! `run.json`: what a run is, what has been done, what came of it.

use std::path::{Path, PathBuf};

use input::Input;
use nsight::verdict::{Cause, Verdict};
use serde::{Deserialize, Serialize};

use super::artifacts::Artifact;
use crate::process::{Ending, Finished, Leftover, Reason, Usage};
use crate::secrets::{Redactor, Withheld};

pub const MANIFEST: &str = "run.json";
/// Raised when a reader of an older manifest would misunderstand a newer one.
const SCHEMA: u32 = 1;

/// A run of a thousand passes with a hundred thousand artifacts.
const LARGEST: u64 = 256 << 20;

fn text(path: &Path) -> Result<String, String> {
    let bytes = Input::open(path).and_then(|input| input.whole(LARGEST));
    let bytes = bytes.map_err(|error| error.with_cause())?;
    String::from_utf8(bytes).map_err(|_| format!("`{}` is not a manifest: it is no text", path.display()))
}

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
    /// It broke off: a step could not be recorded or its files not written.
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

/// The steps of a run, in order.
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
    Analyse,
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
        Self::Analyse,
        Self::Report,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::Doctor => "doctor",
            Self::Rehearse => "rehearse",
            Self::Plan => "plan",
            Self::Stage1 => "stage1",
            Self::Timeline => "timeline",
            Self::Counters => "counters",
            Self::Analyse => "analyse",
            Self::Report => "report",
        }
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

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step {
    pub name: StepName,
    pub status: StepStatus,
    pub started: Option<String>,
    pub duration_ms: Option<u64>,
    /// Why it was skipped, what failed, or what it found.
    pub note: Option<String>,
    /// The user asked for what this step failed to give.
    #[serde(default)]
    pub asked_for: bool,
}

impl Step {
    fn pending(name: StepName) -> Self {
        Self {
            name,
            status: StepStatus::Pending,
            started: None,
            duration_ms: None,
            note: None,
            asked_for: false,
        }
    }
}

/// One run of the workload under one tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pass {
    pub name: String,
    pub argv: Vec<String>,
    pub withheld: Vec<Withheld>,
    /// Variables set for this pass; null means unset.
    pub env: Vec<(String, Option<String>)>,
    pub pid: i32,
    pub started: String,
    pub wall_ms: u64,
    pub ending: Ending,
    pub usage: Usage,
    pub ended_by_us: Option<Reason>,
    /// How long after its start a tool began its work proper, where that was watched.
    #[serde(default)]
    pub began_after_ms: Option<u64>,
    pub killed: bool,
    pub leftovers: Vec<Leftover>,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub log_errors: Vec<String>,
}

/// A verdict on one capture.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VerdictRecord {
    pub tool: String,
    /// Which rung of the ladder it was.
    pub rung: String,
    pub verdict: Verdict,
}

/// The runs below a folder, the newest first.
pub fn newest(root: &Path) -> impl Iterator<Item = (PathBuf, Manifest)> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    runs.sort();
    runs.into_iter().rev().filter_map(|run| Manifest::read(&run).ok().map(|manifest| (run, manifest)))
}

impl Manifest {
    /// The pass that says how the workload itself ends: the one no tool disturbed.
    pub fn workload_pass(&self) -> Option<&Pass> {
        self.rehearsal().or_else(|| self.passes.last())
    }

    /// The undisturbed pass.
    pub fn rehearsal(&self) -> Option<&Pass> {
        self.passes.iter().find(|pass| pass.name == "rehearsal")
    }

    /// The workload, and not the tool, failed under the last rung of a capture.
    pub fn workload_failed_in_a_capture(&self) -> bool {
        let last = |tool: &str| self.verdicts.iter().rfind(|record| record.tool == tool);
        let failed = |record: &VerdictRecord| record.verdict.cause == Some(Cause::WorkloadFailed);
        self.verdicts.iter().filter_map(|record| last(&record.tool)).any(failed)
    }

    pub fn new(id: String, name: String, invocation: Invocation, workload: WorkloadRecord) -> Self {
        let steps = StepName::ALL.map(Step::pending);
        Self {
            schema: SCHEMA,
            rangefinder: env!("CARGO_PKG_VERSION").to_owned(),
            id,
            name,
            created: now(),
            status: RunStatus::Running,
            exit_code: None,
            invocation,
            workload,
            steps: steps.to_vec(),
            passes: Vec::new(),
            verdicts: Vec::new(),
            warnings: Vec::new(),
            artifacts: Vec::new(),
        }
    }

    /// Reads the manifest of a run; says in one line what is wrong with it.
    pub fn read(run: &Path) -> Result<Self, String> {
        let path = run.join(MANIFEST);
        let text = text(&path)?;
        let schema = serde_json::from_str::<serde_json::Value>(&text)
            .ok()
            .and_then(|document| document.get("schema")?.as_u64());
        if schema.is_some_and(|schema| schema > SCHEMA.into()) {
            return Err(format!("`{}` was made by a newer rangefinder", path.display()));
        }
        let mut manifest: Self = serde_json::from_str(&text)
            .map_err(|error| format!("`{}` is not a manifest: {error}", path.display()))?;
        // An older rangefinder had fewer steps.
        let known = std::mem::take(&mut manifest.steps);
        let of = |name: StepName| known.iter().find(|step| step.name == name).cloned();
        manifest.steps = StepName::ALL.map(|name| of(name).unwrap_or_else(|| Step::pending(name))).to_vec();
        Ok(manifest)
    }

    /// As it may be written: argvs are masked already, here is the rest of what
    /// the world has put into it.
    pub(super) fn masked(&self, redactor: &Redactor) -> Self {
        let mut masked = self.clone();
        let mask = |text: &mut String| *text = redactor.text(text);
        masked.steps.iter_mut().filter_map(|step| step.note.as_mut()).for_each(mask);
        masked.warnings.iter_mut().for_each(mask);
        mask(&mut masked.invocation.cwd);
        mask(&mut masked.workload.cwd);
        masked.artifacts.iter_mut().for_each(|artifact| mask(&mut artifact.path));
        for record in &mut masked.verdicts {
            record.verdict = masked_verdict(&record.verdict, redactor);
        }
        for pass in &mut masked.passes {
            pass.log_errors.iter_mut().for_each(mask);
            pass.leftovers.iter_mut().for_each(|leftover| mask(&mut leftover.name));
        }
        masked
    }

    pub fn step(&mut self, name: StepName) -> &mut Step {
        let at = StepName::ALL.iter().position(|other| *other == name).unwrap_or(0);
        &mut self.steps[at]
    }
}

/// All that it says, but for what it is and why.
fn masked_verdict(verdict: &Verdict, redactor: &Redactor) -> Verdict {
    let mut document = serde_json::to_value(verdict).unwrap_or_default();
    for (key, value) in document.as_object_mut().into_iter().flatten() {
        if !matches!(key.as_str(), "outcome" | "cause") {
            redactor.document(value);
        }
    }
    // What cannot be read back is told in fewer words.
    let told = || Verdict::new(verdict.outcome, verdict.cause, redactor.text(&verdict.text));
    serde_json::from_value(document).unwrap_or_else(|_| told())
}

impl Pass {
    pub(crate) fn of(
        name: &str,
        (argv, withheld): (Vec<String>, Vec<Withheld>),
        env: Vec<(String, Option<String>)>,
        finished: &Finished,
    ) -> Self {
        let log_errors = [&finished.stdout.log_error, &finished.stderr.log_error];
        Self {
            name: name.to_owned(),
            argv,
            withheld,
            env,
            pid: finished.pid,
            started: timestamp(finished.started),
            wall_ms: finished.wall.as_millis() as u64,
            ending: finished.ending,
            usage: finished.usage,
            ended_by_us: finished.ended_by_us,
            began_after_ms: finished.seen_after.map(|after| after.as_millis() as u64),
            killed: finished.killed,
            leftovers: finished.leftovers.clone(),
            stdout_bytes: finished.stdout.bytes,
            stderr_bytes: finished.stderr.bytes,
            log_errors: log_errors.into_iter().flatten().cloned().collect(),
        }
    }
}

pub(crate) fn now() -> String {
    timestamp(std::time::SystemTime::now())
}

fn timestamp(time: std::time::SystemTime) -> String {
    match jiff::Timestamp::try_from(time) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => "unknown".to_owned(),
    }
}
