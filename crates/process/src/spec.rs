//! What to run under supervision, and the result.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use record::{Ending, Leftover, Moment, Reason, Usage};
use secrets::Redactor;

use super::pump::LogOutcome;
use super::ready::Ready;

/// The metrics of every chip that an ncu knows are 11 MB.
const ANSWER_LIMIT: usize = 32 << 20;

#[derive(Debug, Clone)]
pub struct Spec {
    /// Program and arguments. Never passed to a shell.
    pub argv: Vec<OsString>,
    /// The whole environment of the child.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    pub output: Output,
    /// Wall-clock limit: SIGTERM, `grace`, then SIGKILL for every descendant.
    pub timeout: Option<Duration>,
    /// End the child on purpose after a while (`capture.duration`).
    pub stop: Option<Stop>,
    /// The child is a server: its client. When the client has ended, so is the child.
    pub load: Option<Load>,
    /// Somebody else may have it ended.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// How long descendants may outlive the child before they are terminated.
    pub linger: Duration,
    /// What the guardian removes at the end, however it ends: our link (a short `TMPDIR`), the tracer.
    pub remove: Vec<PathBuf>,
}

impl Spec {
    /// A query to a helper program: its output is captured, nothing is shown.
    pub fn question(
        argv: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        cwd: PathBuf,
        timeout: Duration,
    ) -> Self {
        Self {
            argv,
            env,
            cwd,
            output: Output::Captured { limit: ANSWER_LIMIT },
            timeout: Some(timeout),
            stop: None,
            load: None,
            cancel: None,
            grace: Duration::from_millis(200),
            linger: Duration::ZERO,
            remove: Vec::new(),
        }
    }
}

/// Where the child's output goes.
#[derive(Debug, Clone)]
pub enum Output {
    /// Shown live and written to these files; stdin is ours.
    Teed {
        stdout_log: PathBuf,
        stderr_log: PathBuf,
        route: Route,
        /// Keeps secrets out of the log files.
        redactor: Box<Redactor>,
    },
    /// Kept in memory, up to `limit` bytes per stream; stdin is empty.
    Captured { limit: usize },
}

/// Where the child's stdout is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// On our stdout; stderr on ours.
    Through,
    /// Both on our stderr, because our stdout carries data.
    ToStderr,
    /// Nowhere: it is only kept.
    Kept,
    /// The same, of a program beside the workload: its stdin is empty.
    Beside,
}

/// What keeps a server busy.
#[derive(Debug, Clone)]
pub struct Load {
    /// The client is started when the server is.
    pub ready: Ready,
    /// Set when the server has said so.
    pub said: Arc<AtomicBool>,
    /// The server has to be ready by then.
    pub patience: Duration,
    pub client: Box<Spec>,
    /// How the server is ended afterwards.
    pub stop: StopBy,
}

#[derive(Debug, Clone)]
pub struct Stop {
    /// From when the child or, if there is a load, its client is started.
    pub after: Duration,
    /// The clock begins when this is seen, not with the child.
    pub once: Option<Seen>,
    /// Stop sooner, unless it was seen often enough by then.
    pub milestone: Option<Milestone>,
    pub by: StopBy,
}

#[derive(Debug, Clone, Copy)]
pub struct Milestone {
    /// Measured from the same start.
    pub after: Duration,
    pub times: usize,
}

/// A text in a growing file.
#[derive(Debug, Clone)]
pub struct Seen {
    pub file: PathBuf,
    pub text: &'static str,
}

impl Seen {
    pub(super) fn times(&self) -> usize {
        let bytes = std::fs::read(&self.file).unwrap_or_default();
        String::from_utf8_lossy(&bytes).matches(self.text).count()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopBy {
    Term,
    Int,
    /// Run this; the child is expected to end by itself because of it.
    Command(Vec<OsString>),
}

#[derive(Debug)]
pub struct Finished {
    pub pid: i32,
    pub started: SystemTime,
    pub wall: Duration,
    pub ending: Ending,
    pub usage: Usage,
    pub ended_by_us: Option<Reason>,
    /// When the text that starts the stop's clock was seen.
    pub seen_after: Option<Duration>,
    /// When a milestone of the stop was missed.
    pub missed_after: Option<Duration>,
    /// It had to be killed: it ignored the signal.
    pub killed: bool,
    /// What went wrong with the stop command.
    pub stop_problem: Option<String>,
    pub load: Option<Loaded>,
    pub leftovers: Vec<Leftover>,
    pub stdout: LogOutcome,
    pub stderr: LogOutcome,
}

/// How a load went.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// When the client was started and when it had ended.
    pub began: Option<Moment>,
    pub ended: Option<Moment>,
    pub ending: Option<Ending>,
    /// Why it was not started, or not to its own end.
    pub problem: Option<LoadProblem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadProblem {
    /// The server was not ready in time, and why not.
    NotReady {
        waited: Duration,
        why: String,
    },
    NotStarted(String),
    /// The server ended, or was ended, before the client did.
    Ended,
}

impl std::fmt::Display for LoadProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotReady { waited, why } => {
                write!(f, "the workload was not ready after {:.0} s: {why}", waited.as_secs_f64())
            }
            Self::NotStarted(why) => write!(f, "the load could not be run: {why}"),
            Self::Ended => f.write_str("the workload ended before its load did"),
        }
    }
}
