//! The step `configure`: from a checked configuration to a run directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use process::Route;
use record::{Invocation, Manifest, WorkloadRecord};
use secrets::{Redactor, secret_spans};

use super::counters::{check_names, read_plan};
use super::error::RunError;
use super::flow::Run;
use super::session::Setting;
use crate::config::{Config, ConfigError, Resolved, masked_override};
use crate::load::client_of;
use crate::rundir::{Files, create, lock, new_manifest};
use crate::workload::{STARTED, Workload, check_texts};

/// What `rangefinder run` was given.
#[derive(Debug, Clone)]
pub struct Start {
    pub resolved: Resolved,
    /// The argv after `--`, as we received it.
    pub command: Vec<OsString>,
    pub here: PathBuf,
    /// Our own command line.
    pub invocation: Vec<OsString>,
    pub route: Route,
    /// The library that is injected into the workload.
    pub tracer: &'static [u8],
    /// The run directory, if it is there already: the place of a rank in its job.
    pub place: Option<PathBuf>,
}

/// Checks what can be checked, then makes the run directory.
pub fn begin(mut start: Start) -> Result<Run, RunError> {
    check_paths(&start)?;
    let mut workload = Workload::new(&start.resolved.config, &start.command, &start.here)?;
    workload.keeps_tmpdir = start.place.is_some();
    workload.started = start.place.as_ref().map(|place| place.join(STARTED));
    check_counters(&start)?;
    let mut redactor = redactor(&start.resolved.config);
    redactor.learn(redactor.secrets_in(&workload.command_with_overrides()));
    redactor.learn(redactor.secrets_in(&stop_command(&start.resolved.config)));
    redactor.learn(redactor.secrets_in(&client_of(&start.resolved.config.capture)));
    let ready = start.resolved.config.capture.ready.iter().map(|ready| OsString::from(&ready.0));
    redactor.learn(redactor.secrets_in(&ready.collect::<Vec<_>>()));
    let name = name(&start, &workload, &redactor);
    let (folder, lock) = match &start.place {
        // Nobody else uses it, and it may lie where nothing can be locked. What is beside it is another rank.
        Some(place) => {
            start.resolved.config.run.keep = None;
            (place.clone(), None)
        }
        None => {
            let folder = create(&start.here.join(&start.resolved.config.run.dir.0), &name)?;
            let lock = lock(&folder)?;
            (folder, lock)
        }
    };
    let files = Files::new(folder, redactor);
    files.reserve()?;
    let manifest = manifest(&start, &workload, &files, name);
    files.manifest(&manifest)?;
    files.masked("config.yaml", &start.resolved.to_yaml(&files.redactor))?;
    let setting = Setting { resolved: start.resolved, workload, route: start.route, tracer: start.tracer };
    Ok(Run::new(setting, files, manifest, lock))
}

/// Checks what can be checked. The name of the run.
pub fn check(start: &Start) -> Result<String, RunError> {
    check_paths(start)?;
    let workload = Workload::new(&start.resolved.config, &start.command, &start.here)?;
    let mut redactor = redactor(&start.resolved.config);
    redactor.learn(redactor.secrets_in(&workload.command_with_overrides()));
    Ok(name(start, &workload, &redactor))
}

/// As a folder can be called, and without secrets.
fn name(start: &Start, workload: &Workload, redactor: &Redactor) -> String {
    let name = match &start.resolved.config.run.name {
        Some(name) => name.0.clone(),
        None => workload.name(),
    };
    crate::rundir::safe_name(&redactor.text(&name))
}

/// Checks that what the configuration names is there.
pub(super) fn check_paths(start: &Start) -> Result<(), RunError> {
    let Start { resolved, here, .. } = start;
    check_texts(here)?;
    let wrong = |key: &str, accepted: String| {
        let (value, source) = (resolved.shown(key), resolved.source(key));
        Err(RunError::Config(ConfigError::WrongValue { key: key.to_owned(), value, source, accepted }))
    };
    let cwd = resolved.config.workload.cwd.as_ref();
    if cwd.is_some_and(|cwd| !here.join(&cwd.0).is_dir()) {
        return wrong("workload.cwd", "an existing directory".to_owned());
    }
    if let Some(Err(why)) = resolved.config.model.readable(here) {
        return wrong("model.config", format!("a file that can be read: {why}"));
    }
    Ok(())
}

/// Checks the counters' settings before anything runs.
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
    let set_by_user = Some(start.resolved.keys_by_user());
    Manifest { set_by_user, ..new_manifest(id, name, invocation, record) }
}

pub(super) fn stop_command(config: &Config) -> Vec<OsString> {
    config.capture.stop_command.iter().map(OsString::from).collect()
}

/// Our own command line: overrides masked by key, the workload's part as an argv.
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
