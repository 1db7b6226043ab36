//! A child's streams: pipes or ptys to us, and the threads that copy the data.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::error::SuperviseError;
use super::input::rewind;
use super::limit::open_files_given;
use super::log::Log;
use super::protocol::{Launch, Session, send_launch};
use super::pump::{Keep, LogOutcome, Pump};
use super::ready::Listener;
use super::signals::{heeded_at_start, interrupts_are_ignored};
use super::spec::{Output, Route, Spec, StopBy};
use super::terminal::{Pty, UserTerminal, is_terminal};
use secrets::{Masking, StreamScrubber};

/// A pipe as large as an unprivileged process may make it.
const PIPE: usize = 1 << 20;

/// The child's three streams before it is started.
pub(super) struct Streams {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) session: Session,
    pub(super) user: Option<User>,
    pub(super) pumps: Vec<Pump>,
    pub(super) over: OwnedFd,
}

/// The user's terminal and our ends of the ptys that replace it.
pub(super) struct User {
    pub(super) terminal: UserTerminal,
    pub(super) keyboard: Option<OwnedFd>,
    pub(super) ptys: Vec<OwnedFd>,
    /// Typed, but not yet read by the child.
    pub(super) pending: Vec<u8>,
}

/// One output stream: the child's end, our end, and whether it is a pty.
struct Channel {
    childs: OwnedFd,
    ours: OwnedFd,
    is_pty: bool,
}

impl Channel {
    fn pipe() -> io::Result<Self> {
        let (ours, childs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // Larger pipes are an optimization.
        let _ = rustix::pipe::fcntl_setpipe_size(&ours, PIPE);
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok(Self { childs, ours, is_pty: false })
    }

    fn pty(like: &OwnedFd) -> io::Result<Self> {
        let Pty { ours, childs } = Pty::like(like)?;
        Ok(Self { childs, ours, is_pty: true })
    }

    /// A pty where the stream is shown on a terminal, a pipe where it is not.
    fn shown_on(sink: Option<&OwnedFd>) -> io::Result<Self> {
        match sink {
            Some(sink) if is_terminal(sink) => Self::pty(sink),
            _ => Self::pipe(),
        }
    }
}

fn stopped_by_interrupt(spec: &Spec) -> bool {
    let ways = spec.stop.iter().map(|stop| &stop.by).chain(spec.load.iter().map(|load| &load.stop));
    ways.into_iter().any(|by| *by == StopBy::Int)
}

impl Streams {
    pub(super) fn open(spec: &Spec, program: &str) -> Result<Self, SuperviseError> {
        let setup = |error| SuperviseError::Setup { program: program.to_owned(), error };
        let (stdout_keep, stderr_keep, sinks) = keeps(&spec.output)?;
        Self::wire(spec, stdout_keep, stderr_keep, sinks).map_err(setup)
    }

    fn wire(
        spec: &Spec,
        stdout_keep: Keep,
        stderr_keep: Keep,
        [stdout_sink, stderr_sink]: [Option<OwnedFd>; 2],
    ) -> io::Result<Self> {
        let without_input =
            matches!(spec.output, Output::Captured { .. } | Output::Teed { route: Route::Beside, .. });
        let stdin = if without_input {
            OwnedFd::from(File::open("/dev/null")?)
        } else {
            rewind();
            rustix::stdio::stdin().try_clone_to_owned()?
        };
        let stdout = Channel::shown_on(stdout_sink.as_ref())?;
        let stderr = Channel::shown_on(stderr_sink.as_ref())?;
        let interactive = !without_input && is_terminal(&stdin);
        // A Ctrl-C that is not for us is not for a child that we stop with SIGINT, either.
        let apart = stopped_by_interrupt(spec) && interrupts_are_ignored();
        let session = match (interactive && stdout.is_pty, interactive || stdout.is_pty || stderr.is_pty) {
            (true, _) => Session::Terminal,
            (false, true) if !apart => Session::Shared(rustix::process::getpgrp().as_raw_pid()),
            (false, _) => Session::Own,
        };
        let ptys = [&stdout, &stderr].into_iter().filter(|channel| channel.is_pty);
        let ptys = ptys.map(|channel| channel.ours.try_clone()).collect::<io::Result<Vec<_>>>()?;
        let shown_on = [&stdout_sink, &stderr_sink].into_iter().flatten().find(|sink| is_terminal(sink));
        let user = match shown_on {
            Some(terminal) if !ptys.is_empty() => Some(User {
                terminal: UserTerminal::new(terminal.try_clone()?)?,
                keyboard: (session == Session::Terminal).then(|| stdin.try_clone()).transpose()?,
                ptys,
                pending: Vec::new(),
            }),
            _ => None,
        };
        let stdin = if session == Session::Terminal { stdout.childs.try_clone()? } else { stdin };
        let (over_watch, over) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut pumps = Vec::new();
        for (channel_ours, is_pty, sink, keep) in [
            (stdout.ours, stdout.is_pty, stdout_sink, stdout_keep),
            (stderr.ours, stderr.is_pty, stderr_sink, stderr_keep),
        ] {
            pumps.push(Pump {
                source: channel_ours,
                sink,
                keep,
                listener: Listener::of(spec.load.as_ref().map(|load| (&load.ready, &load.said))),
                from_terminal: is_pty,
                held_return: false,
                over: over_watch.try_clone()?,
            });
        }
        Ok(Self { stdin, stdout: stdout.childs, stderr: stderr.childs, session, user, pumps, over })
    }

    /// Hands the child's ends to the guardian; what stays here is ours.
    pub(super) fn split(
        self,
        spec: &Spec,
        socket: &mut UnixStream,
        program: &str,
    ) -> Result<(Option<User>, ChildSide), SuperviseError> {
        let launch = Launch {
            argv: spec.argv.clone(),
            env: spec.env.clone(),
            cwd: spec.cwd.clone(),
            session: self.session,
            heeds_interrupt: stopped_by_interrupt(spec),
            heeds: heeded_at_start(),
            linger_ms: spec.linger.as_millis() as u64,
            grace_ms: spec.grace.as_millis() as u64,
            open_files: open_files_given(),
            remove: spec.remove.clone(),
        };
        let mut descriptors = vec![self.stdin.as_fd(), self.stdout.as_fd(), self.stderr.as_fd()];
        if let (Session::Terminal, Some(user)) = (self.session, &self.user) {
            descriptors.push(user.terminal.terminal().as_fd());
        }
        send_launch(socket, &launch, &descriptors)
            .map_err(|error| SuperviseError::Setup { program: program.to_owned(), error })?;
        let side = ChildSide { pumps: self.pumps, over: Some(self.over), outcomes: Vec::new() };
        Ok((self.user, side))
    }
}

/// Where the two streams are kept, and where they are shown.
fn keeps(output: &Output) -> Result<(Keep, Keep, [Option<OwnedFd>; 2]), SuperviseError> {
    match output {
        Output::Captured { limit } => {
            Ok((Keep::Memory { limit: *limit }, Keep::Memory { limit: *limit }, [None, None]))
        }
        Output::Teed { stdout_log, stderr_log, route, redactor } => {
            let log = |path: &PathBuf| {
                let scrubber = StreamScrubber::new((**redactor).clone(), Masking::Stars);
                let log = Log::create(path, scrubber);
                log.map(Keep::Log).map_err(|error| SuperviseError::Log { path: path.clone(), error })
            };
            // A stream that our parent closed is simply not shown.
            let clone = |stream: BorrowedFd<'_>| stream.try_clone_to_owned().ok();
            let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
            let shown = match route {
                Route::Through => [clone(stdout), clone(stderr)],
                Route::ToStderr => [clone(stderr), clone(stderr)],
                Route::Kept | Route::Beside => [None, None],
            };
            Ok((log(stdout_log)?, log(stderr_log)?, shown))
        }
    }
}

/// The threads that move the child's output.
pub(super) struct ChildSide {
    pub(super) pumps: Vec<Pump>,
    pub(super) over: Option<OwnedFd>,
    pub(super) outcomes: Vec<Receiver<LogOutcome>>,
}

impl ChildSide {
    /// An error if no thread can be started: then nothing reads the child's output.
    pub(super) fn start(&mut self) -> std::io::Result<()> {
        for pump in self.pumps.drain(..) {
            let (sender, receiver) = channel();
            let name = "output".to_owned();
            std::thread::Builder::new().name(name).spawn(move || sender.send(pump.run()))?;
            self.outcomes.push(receiver);
        }
        Ok(())
    }

    /// Waits until both streams are written out, or only for `patience`.
    pub(super) fn finish(mut self, patience: Option<Duration>) -> (LogOutcome, LogOutcome) {
        drop(self.over.take());
        let mut outcomes = self.outcomes.into_iter().map(|outcome| {
            let received = match patience {
                None => outcome.recv().ok(),
                Some(patience) => outcome.recv_timeout(patience).ok(),
            };
            received.unwrap_or_else(|| LogOutcome {
                log_error: Some("abandoned because its reader was blocked".to_owned()),
                ..LogOutcome::default()
            })
        });
        (outcomes.next().unwrap_or_default(), outcomes.next().unwrap_or_default())
    }
}
