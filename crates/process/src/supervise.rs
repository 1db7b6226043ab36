//! Runs one child to its end.
//!
//! Policy:
//! - stdin and stdout on a terminal: the child gets a pty as its own terminal
//!   (prompts, colors, Ctrl-Z work) and a second one for stderr, so that the
//!   two logs stay apart.
//! - only some streams on a terminal: the child stays in our process group and
//!   keeps the real terminal as stdin; output that goes to a terminal goes
//!   through a pty, the rest through pipes.
//! - no terminal: pipes, and a session of its own.
//! - timeout: SIGTERM to the child (and its group, unless that is ours), grace, SIGKILL to every descendant.
//! - `stop`: the chosen way to end it, grace, SIGKILL to every descendant.
//! - `load`: a client is started when the child is ready; when the client has ended, so is the child.
//! - the first interrupt is the child's, the second kills every descendant.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use record::Reason;
use rustix::process::{Pid, Signal};

use super::beside;
use super::descendants::{descendants, signal_all};
use super::error::SuperviseError;
use super::guardian::GUARDIAN_ARGUMENT;
use super::load::Loading;
use super::protocol::{News, receive};
use super::signals::Signals;
use super::spec::{Finished, Output, Route, Spec};
use super::streams::{ChildSide, Streams, User};
use super::watch::{Over, Watch};

/// How long our own output may stay blocked after the user has killed the run.
const PATIENCE_WHEN_KILLED: Duration = Duration::from_millis(500);

/// Runs `spec` to its end. Without `signals` an interrupt is left to the caller.
pub fn supervise(spec: &Spec, signals: Option<&Signals>) -> Result<Finished, SuperviseError> {
    let program = spec.argv.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    if !spec.cwd.is_dir() {
        return Err(SuperviseError::NoDirectory { program, cwd: spec.cwd.clone() });
    }
    if let Some(url) = spec.load.as_ref().and_then(|load| load.ready.is_taken()) {
        return Err(SuperviseError::Taken { program, url: url.to_string() });
    }
    let streams = Streams::open(spec, &program)?;
    let session = streams.session;
    let setup = |error| SuperviseError::Setup { program: program.clone(), error };
    let is_beside = matches!(spec.output, Output::Teed { route: Route::Beside, .. });
    let (mut socket, guardian) = start_guardian(is_beside).map_err(setup)?;
    let started = SystemTime::now();
    let clock = Instant::now();
    let (inputs, mut child_side, pid) = match start(streams, spec, &mut socket, &program) {
        Ok(started) => started,
        Err(error) => {
            // The guardian ends when its socket closes.
            drop(socket);
            wait_for(guardian);
            return Err(error);
        }
    };
    let mut watch = Watch {
        spec,
        session,
        signals,
        socket,
        guardian: Pid::from_child(&guardian),
        user: inputs,
        clock,
        ending: None,
        ended_by_us: None,
        seen_at: None,
        on_time: false,
        missed_at: None,
        kill_at: None,
        run_stop_command: problem_with,
        stop_command: None,
        killed: false,
        kill_ordered: None,
        loading: None,
        load_over: None,
        interrupts_before: signals.map_or(0, Signals::interrupts),
    };
    watch.take_terminal();
    if let Err(error) = child_side.start() {
        // The guardian ends everything when its socket closes.
        drop(watch);
        wait_for(guardian);
        return Err(SuperviseError::Setup { program, error });
    }
    watch.loading = Loading::begin(spec.load.as_ref(), supervise);
    let over = watch.run();
    let load = watch.loading.take().map(Loading::end);
    if over.is_none() {
        // Before waiting for their output.
        signal_all(&descendants(), Signal::KILL);
    }
    drop(watch.user.take());
    let patience = (watch.ended_by_us == Some(Reason::Interrupted)).then_some(PATIENCE_WHEN_KILLED);
    let (stdout, stderr) = child_side.finish(patience);
    wait_for(guardian);
    let Some(Over { ending, usage, leftovers }) = over else {
        return Err(SuperviseError::GuardianLost { program });
    };
    let Some((wall, ending)) = ending else {
        let who: Vec<String> =
            leftovers.iter().map(|left| format!("{} (pid {})", left.name, left.pid)).collect();
        return Err(SuperviseError::Unkillable { program, who: who.join(", ") });
    };
    let stop_problem = watch.stop_command.take().and_then(|command| command.join().ok().flatten());
    Ok(Finished {
        pid,
        started,
        wall,
        ending,
        usage,
        ended_by_us: watch.ended_by_us,
        seen_after: watch.seen_at.map(|at| at - clock),
        missed_after: watch.missed_at.map(|at| at - clock),
        killed: watch.killed,
        stop_problem,
        load,
        leftovers,
        stdout,
        stderr,
    })
}

/// Has the guardian start the child.
fn start(
    streams: Streams,
    spec: &Spec,
    socket: &mut UnixStream,
    program: &str,
) -> Result<(Option<User>, ChildSide, i32), SuperviseError> {
    let program = program.to_owned();
    let (inputs, child_side) = streams.split(spec, socket, &program)?;
    match receive::<News>(socket) {
        Ok(Some(News::Started { pid })) => Ok((inputs, child_side, pid)),
        Ok(Some(News::NotStarted { errno })) => {
            Err(SuperviseError::NotStarted { program, error: io::Error::from_raw_os_error(errno) })
        }
        _ => Err(guardian_lost(program)),
    }
}

/// If the guardian itself is killed, we take over its processes.
fn guardian_lost(program: String) -> SuperviseError {
    signal_all(&descendants(), Signal::KILL);
    SuperviseError::GuardianLost { program }
}

/// Processes of what is `beside` the workload are none of the workload's.
fn start_guardian(is_beside: bool) -> io::Result<(UnixStream, Child)> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new("/proc/self/exe");
    command
        .arg(GUARDIAN_ARGUMENT)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let guardian = if is_beside { beside::spawn(&mut command)? } else { command.spawn()? };
    Ok((ours, guardian))
}

fn wait_for(mut guardian: Child) {
    let _ = guardian.wait();
    beside::forget(guardian.id());
}

/// Runs the stop command. Returns what went wrong, if anything.
fn problem_with(stop_command: &Spec) -> Option<String> {
    let name =
        stop_command.argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    match supervise(stop_command, None) {
        Ok(finished) if finished.ending.success() => None,
        Ok(finished) => {
            let said = String::from_utf8_lossy(&finished.stderr.captured).trim().to_owned();
            let said = if said.is_empty() { "<stderr is empty>".to_owned() } else { said };
            Some(format!("the stop command `{name}` ended with {}: {said}", finished.ending))
        }
        Err(error) => Some(format!("the stop command: {error}")),
    }
}
