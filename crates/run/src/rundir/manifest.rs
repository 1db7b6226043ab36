//! `run.json`: read, written without secrets, and the runs of a folder.

use std::path::{Path, PathBuf};

use input::{Input, InputError};
use process::Finished;
use record::{
    Invocation, MANIFEST, Manifest, Pass, PassName, RunStatus, SCHEMA, Step, StepName, Verdict, Withheld,
    WorkloadRecord,
};
use secrets::Redactor;

/// A run of a thousand passes with a hundred thousand artifacts.
const LARGEST: u64 = 256 << 20;

fn text(run: &Path) -> Result<String, String> {
    let text = Input::open_inside(run, MANIFEST).and_then(|input| input.whole_text(LARGEST));
    text.map_err(|error| match error {
        InputError::NotText { path } => format!("`{}` is not a manifest: it is not text", path.display()),
        error => error.with_cause(),
    })
}

/// What a run, or a folder of ours in it, has to say in this file. The run may come from elsewhere: no link leads out of it,
/// and nothing is waited for.
pub fn read_document(folder: &Path, name: &str) -> Result<String, InputError> {
    Input::open_inside(folder, name)?.whole_text(LARGEST)
}

/// Where it is, for those who give it to somebody else.
pub fn find_document(folder: &Path, name: &str) -> Result<PathBuf, InputError> {
    Input::open_inside(folder, name).map(|input| input.path().to_owned())
}

/// The runs below a folder, the newest first.
pub fn newest(root: &Path) -> impl Iterator<Item = (PathBuf, Manifest)> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let run = |path: PathBuf| read_manifest(&path).ok().map(|manifest| (path, manifest));
    let mut runs: Vec<(PathBuf, Manifest)> = entries.filter_map(|entry| run(entry.path())).collect();
    // Names have the second in which a run began, manifests also what part of it.
    runs.sort_by(|(a, one), (b, other)| (&other.created, b).cmp(&(&one.created, a)));
    runs.into_iter()
}

/// The manifest of a run that has not started yet.
pub(crate) fn new_manifest(
    id: String,
    name: String,
    invocation: Invocation,
    workload: WorkloadRecord,
) -> Manifest {
    Manifest {
        schema: SCHEMA,
        rangefinder: env!("CARGO_PKG_VERSION").to_owned(),
        id,
        name,
        created: now(),
        status: RunStatus::Running,
        exit_code: None,
        invocation,
        workload,
        set_by_user: None,
        steps: StepName::ALL.map(Step::pending).to_vec(),
        passes: Vec::new(),
        verdicts: Vec::new(),
        warnings: Vec::new(),
        artifacts: Vec::new(),
    }
}

/// Reads the manifest of a run; the error is one line.
pub fn read_manifest(run: &Path) -> Result<Manifest, String> {
    let path = run.join(MANIFEST);
    if !run.exists() {
        return Err(format!("`{}` does not exist", run.display()));
    }
    if !path.exists() {
        return Err(format!("`{}` is not a run directory: it has no {MANIFEST}", run.display()));
    }
    let text = text(run)?;
    let schema = serde_json::from_slice::<serde_json::Value>(text.as_bytes())
        .ok()
        .and_then(|document| document.get("schema")?.as_u64());
    if schema.is_some_and(|schema| schema > SCHEMA.into()) {
        return Err(format!("`{}` was written by a newer rangefinder", path.display()));
    }
    let manifest: Manifest = serde_json::from_slice(text.as_bytes())
        .map_err(|error| format!("`{}` is not a manifest: {error}", path.display()))?;
    Ok(manifest.with_every_step())
}

/// As it may be written: argvs are masked already; this masks the rest of the text that comes from outside.
pub(super) fn masked(manifest: &Manifest, redactor: &Redactor) -> Manifest {
    let mut masked = manifest.clone();
    let mask = |text: &mut String| *text = redactor.text(text);
    masked.steps.iter_mut().filter_map(|step| step.note.as_mut()).for_each(mask);
    masked.warnings.iter_mut().for_each(mask);
    mask(&mut masked.invocation.cwd);
    mask(&mut masked.workload.cwd);
    masked.artifacts.iter_mut().for_each(|artifact| mask(&mut artifact.path));
    for record in &mut masked.verdicts {
        mask_verdict(&mut record.verdict, redactor);
    }
    for pass in &mut masked.passes {
        pass.log_errors.iter_mut().for_each(mask);
        pass.leftovers.iter_mut().for_each(|leftover| mask(&mut leftover.name));
    }
    masked
}

/// All of its text except names and causes.
fn mask_verdict(verdict: &mut Verdict, redactor: &Redactor) {
    let Verdict { outcome: _, cause: _, text, evidence, remedy, coverage } = verdict;
    let texts = std::iter::once(text).chain(evidence).chain(remedy);
    for text in texts.chain(coverage.iter_mut().map(|row| &mut row.region)) {
        *text = redactor.text(text);
    }
}

pub(crate) fn pass_record(
    name: PassName,
    (argv, withheld): (Vec<String>, Vec<Withheld>),
    env: Vec<(String, Option<String>)>,
    finished: &Finished,
) -> Pass {
    let log_errors = [&finished.stdout.log_error, &finished.stderr.log_error];
    Pass {
        name,
        argv,
        withheld,
        env,
        pid: finished.pid,
        started: timestamp(finished.started),
        wall_ms: finished.wall.as_millis() as u64,
        wall_us: Some(finished.wall.as_micros() as u64),
        ending: finished.ending,
        usage: finished.usage,
        ended_by_us: finished.ended_by_us,
        began_after_ms: finished.seen_after.map(|after| after.as_millis() as u64),
        killed: finished.killed,
        leftovers: finished.leftovers.clone(),
        stdout_bytes: finished.stdout.bytes,
        stderr_bytes: finished.stderr.bytes,
        log_errors: log_errors.into_iter().flatten().cloned().collect(),
        processes: Vec::new(),
        load: None,
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
