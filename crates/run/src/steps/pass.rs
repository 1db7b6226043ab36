//! One pass of the workload: its command written to a file, supervised, recorded.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use process::{Finished, Load, Output, Route, Spec, Stop, StopBy, environment, is_used_up, supervise};
use record::{LoadRecord, PassKind, PassName};

use super::error::RunError;
use super::fate::Program;
use super::session::{Session, Setting};
use crate::config::{Config, StopWith};
use crate::load::{LOGS, client_of, ready_of, trouble};
use crate::quote::{shell_line, shell_word};
use crate::rundir::pass_record;
use crate::workload::Workload;

/// The command of a pass, for people.
pub(super) const COMMAND_FILE: &str = "cmd.txt";

/// Between SIGTERM and SIGKILL, for a client that is not needed any more.
const CLIENT_GRACE: Duration = Duration::from_secs(2);

pub(super) struct Order {
    /// Its kind also names the folder of its command.
    pub(super) pass: PassName,
    /// `cmd.txt`, or `cmd-2.txt` for a second try.
    pub(super) command_file: String,
    pub(super) argv: Vec<OsString>,
    pub(super) variables: Vec<(String, Option<String>)>,
    /// Where `stdout.log` and `stderr.log` go.
    pub(super) logs: PathBuf,
    /// How long processes may outlive the workload before they are terminated.
    pub(super) linger: Duration,
    /// Removed when it is over, however it ends: files, and folders that are then empty.
    pub(super) remove: Vec<PathBuf>,
    /// Ends the pass, where the configuration does not.
    pub(super) stop: Option<Stop>,
    /// Minimum time between the request to end it and its end.
    pub(super) grace: Duration,
}

impl Order {
    /// The workload by itself: one command that runs to its own end.
    pub(super) fn alone(
        pass: PassKind,
        argv: Vec<OsString>,
        variables: Vec<(String, Option<String>)>,
        logs: PathBuf,
        link: Option<PathBuf>,
    ) -> Self {
        Self {
            pass: pass.into(),
            command_file: COMMAND_FILE.to_owned(),
            argv,
            variables,
            logs,
            linger: Duration::ZERO,
            remove: link.into_iter().collect(),
            stop: None,
            grace: Duration::ZERO,
        }
    }
}

/// Runs it to its end, under the limits of the configuration.
pub(super) fn carry_out(
    setting: &Setting,
    workload: &Workload,
    order: Order,
    session: &mut Session<'_>,
) -> Result<Finished, RunError> {
    let Order { pass, command_file, argv, variables, logs, linger, remove, stop, grace } = order;
    if is_used_up() && !session.manifest.warnings.iter().any(|text| text == USED_UP) {
        session.warn(USED_UP.to_owned());
    }
    let written = session.files.redactor.argv(&argv);
    let shown: Vec<(String, Option<String>)> = variables
        .iter()
        .map(|(name, value)| {
            (name.clone(), value.as_ref().map(|value| session.files.redactor.named(name, value)))
        })
        .collect();
    let command = command_line(&written.0, &shown, &workload.cwd);
    session.files.text(&format!("{}/{command_file}", pass.kind.as_str()), &command)?;
    let config = &setting.resolved.config;
    let load = load_of(config, workload, pass.kind, &logs, session);
    let spec = Spec {
        argv,
        env: environment(&variables),
        cwd: workload.cwd.clone(),
        output: Output::Teed {
            stdout_log: logs.join("stdout.log"),
            stderr_log: logs.join("stderr.log"),
            route: setting.route,
            redactor: Box::new(session.files.redactor.clone()),
        },
        timeout: config.workload.timeout.map(|timeout| timeout.0),
        stop: stop_of(config).or(stop),
        load,
        cancel: None,
        grace: config.capture.grace.0.max(grace),
        linger,
        remove,
    };
    if pass.kind != PassKind::Rehearsal {
        session.begins(pass.clone());
    }
    session.fate.is(Program::Started);
    let finished = supervise(&spec, Some(session.signals)).inspect_err(|error| {
        if !error.was_started() {
            session.fate.is(Program::NotStarted);
        }
    })?;
    session.fate.is(Program::Ended(finished.ending.shell_code()));
    session.manifest.passes.retain(|other| other.name != pass);
    let mut record = pass_record(pass.clone(), written, shown, &finished);
    record.load = finished.load.as_ref().map(|load| LoadRecord {
        argv: session.files.redactor.argv(&client_of(&config.capture)).0,
        began: load.began,
        ended: load.ended,
        ending: load.ending,
        problem: load.problem.as_ref().map(|problem| session.files.redactor.text(&problem.to_string())),
    });
    session.manifest.passes.push(record);
    // What is done next goes through files of the pass.
    session.files.is_there()?;
    // The rehearsal has a result of its own.
    if pass.kind != PassKind::Rehearsal
        && let Some(trouble) = trouble(&finished, &logs)
    {
        session.warn(format!("in the pass `{}`: {trouble}", pass.kind.as_str()));
    }
    Ok(finished)
}

fn load_of(
    config: &Config,
    workload: &Workload,
    pass: PassKind,
    logs: &Path,
    session: &Session<'_>,
) -> Option<Load> {
    let argv = Some(client_of(&config.capture)).filter(|argv| !argv.is_empty())?;
    let client = Spec {
        argv,
        // Not the workload's: it is not recorded.
        env: environment(&workload.client_variables(pass.as_str())),
        cwd: workload.cwd.clone(),
        output: Output::Teed {
            stdout_log: logs.join(LOGS[0]),
            stderr_log: logs.join(LOGS[1]),
            route: Route::Beside,
            redactor: Box::new(session.files.redactor.clone()),
        },
        timeout: None,
        stop: None,
        load: None,
        cancel: None,
        grace: CLIENT_GRACE,
        linger: Duration::ZERO,
        remove: Vec::new(),
    };
    Some(Load {
        ready: ready_of(&config.capture),
        said: Arc::default(),
        patience: config.capture.ready_within.0,
        client: Box::new(client),
        stop: stop_by(config),
    })
}

fn stop_of(config: &Config) -> Option<Stop> {
    let duration = config.capture.duration?.0;
    let delay = config.capture.delay.map(|delay| delay.0).unwrap_or_default();
    Some(Stop { after: delay + duration, once: None, milestone: None, by: stop_by(config) })
}

fn stop_by(config: &Config) -> StopBy {
    match config.capture.stop {
        StopWith::Term => StopBy::Term,
        StopWith::Int => StopBy::Int,
        StopWith::Command => StopBy::Command(config.capture.stop_command.iter().map(Into::into).collect()),
    }
}

const USED_UP: &str = "the workload's stdin is a pipe, and an earlier pass has read it: later passes get no \
input\n\
     hint: use a file (`< FILE`), which every pass reads from the beginning";

/// Variables that mean something only during the pass.
const OURS: [&str; 6] = [
    "TMPDIR",
    "NVTX_INJECTION64_PATH",
    "CUDA_INJECTION64_PATH",
    "RANGEFINDER_NOTES",
    "RANGEFINDER_TRACE_DIR",
    "RANGEFINDER_CUPTI",
];

/// A line to paste into a shell. It omits variables that only make sense during the pass.
fn command_line(argv: &[String], variables: &[(String, Option<String>)], cwd: &Path) -> String {
    let kept = |name: &str| !OURS.contains(&name);
    let mut line = format!("cd {} && env", shell_word(&cwd.to_string_lossy()));
    // `env` takes its options first.
    for (name, value) in variables {
        if value.is_none() {
            line.push_str(&format!(" -u {}", shell_word(name)));
        }
    }
    for (name, value) in variables.iter().filter(|(name, _)| kept(name)) {
        if let Some(value) = value {
            line.push_str(&format!(" {}", shell_word(&format!("{name}={value}"))));
        }
    }
    format!("{line} {}\n", shell_line(argv))
}
