//! Step 1, configure: from a checked configuration to a run directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::counters::check_names;
use super::flow::Run;
use crate::config::{Config, ConfigError, Resolved, masked_override};
use crate::ncu::read_plan;
use crate::process::{Route, SuperviseError};
use crate::rundir::{Files, Invocation, KnownHashes, Manifest, WorkloadRecord, WriteError, create, lock};
use crate::secrets::{Redactor, secret_spans};
use crate::workload::{Workload, WorkloadError};

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    #[error("{0}\nhint: `ncu --list-sections`, `--list-sets` and `--query-metrics` list what there is")]
    UnknownNames(String),
    #[error("{0}")]
    NotARun(String),
    #[error("`{}` is being worked on by another rangefinder", run.display())]
    Busy { run: PathBuf },
    #[error("cannot resume without what was kept out of the run:\n{}\nhint: {hint}", needs.iter().map(|need| format!("  - {need}")).collect::<Vec<_>>().join("\n"))]
    Withheld { needs: Vec<String>, hint: String },
    #[error("this is not the command of that run: argument {at} is `{given}`, and was `{expected}`")]
    OtherCommand { at: usize, given: String, expected: String },
}

impl RunError {
    /// Whether the user can mend it by asking differently.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Write(_) | Self::Supervise(_))
    }
}

/// What `rangefinder run` was given.
#[derive(Debug)]
pub struct Start {
    pub resolved: Resolved,
    /// The argv after `--`, as the system gave it to us.
    pub command: Vec<OsString>,
    pub here: PathBuf,
    /// Our own command line.
    pub invocation: Vec<OsString>,
    pub route: Route,
    /// The library that is put into the workload.
    pub tracer: &'static [u8],
}

/// Checks what can be checked, then makes the run directory.
pub fn begin(start: Start) -> Result<Run, RunError> {
    let workload = Workload::new(&start.resolved.config, &start.command, &start.here)?;
    check_counters(&start)?;
    let mut redactor = redactor(&start.resolved.config);
    redactor.learn(redactor.secrets_in(&workload.command_with_overrides()));
    redactor.learn(redactor.secrets_in(&stop_command(&start.resolved.config)));
    let name = match &start.resolved.config.run.name {
        Some(name) => name.0.clone(),
        None => workload.name(),
    };
    let name = crate::rundir::safe_name(&redactor.text(&name));
    let folder = create(&start.here.join(&start.resolved.config.run.dir.0), &name)?;
    let lock = lock(&folder)?;
    let files = Files::new(folder, redactor);
    files.reserve()?;
    let manifest = manifest(&start, &workload, &files, name);
    files.manifest(&manifest)?;
    files.masked("config.yaml", &start.resolved.to_yaml(&files.redactor))?;
    Ok(Run {
        files,
        manifest,
        resolved: start.resolved,
        workload,
        route: start.route,
        provenance: None,
        known_hashes: KnownHashes::new(),
        tracer: start.tracer,
        inventory: None,
        blind: false,
        second_rehearsal: None,
        stage1: None,
        timeline: None,
        counters: None,
        findings: None,
        operators_source: None,
        captured: None,
        insight: Default::default(),
        _lock: lock,
    })
}

/// What can be wrong with the counters' part before anything is run.
pub(super) fn check_counters(start: &Start) -> Result<(), RunError> {
    if let Some(plan) = &start.resolved.config.ncu.plan {
        read_plan(&start.here.join(&plan.0))?;
    }
    check_names(&start.resolved)
}

fn manifest(start: &Start, workload: &Workload, files: &Files, name: String) -> Manifest {
    let (argv, withheld) = files.redactor.argv(&workload.command_with_overrides());
    let record = WorkloadRecord {
        argv,
        withheld,
        cwd: workload.cwd.to_string_lossy().into_owned(),
        secret_variables: secret_variables(&start.resolved.config, &files.redactor),
    };
    let invocation = Invocation {
        argv: masked_invocation(&start.invocation, &files.redactor),
        cwd: start.here.to_string_lossy().into_owned(),
    };
    let id = files.root().file_name().map(|id| id.to_string_lossy().into_owned()).unwrap_or_default();
    Manifest::new(id, name, invocation, record)
}

pub(super) fn stop_command(config: &Config) -> Vec<OsString> {
    config.capture.stop_command.iter().map(OsString::from).collect()
}

/// Our own command line: overrides by their meaning, the workload's part as an argv.
fn masked_invocation(argv: &[OsString], redactor: &Redactor) -> Vec<String> {
    let end = argv.iter().position(|argument| argument == "--").unwrap_or(argv.len());
    let (ours, command) = argv.split_at(end);
    let ours = ours.iter().map(|argument| {
        let text = argument.to_string_lossy();
        masked_override(&text, redactor).unwrap_or_else(|| redactor.text(&text))
    });
    ours.chain(redactor.argv(command).0).collect()
}

/// Knows the secrets of our environment and of `workload.env`.
pub fn redactor(config: &Config) -> Redactor {
    let variables = variables(config);
    Redactor::new(
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str())),
        &config.secrets.names,
    )
}

/// Secret variables by name, so that a resumed run can ask for them.
fn secret_variables(config: &Config, redactor: &Redactor) -> Vec<String> {
    let mut names: Vec<String> = variables(config)
        .into_iter()
        .filter(|(name, value)| redactor.is_secret_name(name, value) || !secret_spans(value).is_empty())
        .map(|(name, _)| name)
        .collect();
    names.sort();
    names.dedup();
    names
}

fn variables(config: &Config) -> Vec<(String, String)> {
    let ours = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
    let given = config.workload.env.iter();
    let given = given.filter_map(|(name, value)| Some((name.clone(), value.as_ref()?.0.clone())));
    ours.chain(given).collect()
}

/// `folder` relative to `here` where it lies below it.
pub(super) fn shown<'a>(folder: &'a Path, here: &Path) -> &'a Path {
    folder.strip_prefix(here).unwrap_or(folder)
}
