//! Runs one child to its end.
//!
//! Policy:
//! - stdin and stdout on a terminal: the child gets a pty as its own terminal
//!   (prompts, colours, Ctrl-Z work) and a second one for stderr, so that the
//!   two logs stay apart.
//! - only some streams on a terminal: the child stays in our process group and
//!   keeps the real terminal as stdin; output that goes to a terminal goes
//!   through a pty, the rest through pipes.
//! - no terminal: pipes, and a session of its own.
//! - timeout: SIGTERM to the child (and its group, unless that is ours), grace, SIGKILL to every descendant.
//! - `stop`: the chosen way to end it, grace, SIGKILL to every descendant.
//! - the first interrupt is the child's, the second kills every descendant.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use super::descendants::{descendants, signal_all};
use super::guardian::GUARDIAN_ARGUMENT;
use super::protocol::{Ending, Launch, Leftover, News, Order, Session, Usage, receive, send, send_launch};
use super::pump::{HashedFile, Keep, LogOutcome, Pump};
use super::signals::{Received, Signals};
use super::spec::{Finished, Output, Reason, Route, Spec, StopBy};
use super::terminal::{Pty, UserTerminal, is_terminal, resize, typed_interrupts};
use crate::secrets::StreamScrubber;

/// A pipe as large as an unprivileged process may make it.
const PIPE: usize = 1 << 20;
/// How long our own output may stay blocked after the user has killed the run.
const PATIENCE_WHEN_KILLED: Duration = Duration::from_millis(500);
/// How often a job in the background looks whether it is in the foreground.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Long enough for a stop signal to reach every thread of ours.
const STOPPING: Duration = Duration::from_millis(20);
/// How long a stop command may take.
const STOP_COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    #[error("cannot start `{program}`: {}", why_not(source))]
    NotStarted { program: String, source: io::Error },
    #[error("cannot start `{program}`: the working directory `{}` does not exist", cwd.display())]
    NoDirectory { program: String, cwd: PathBuf },
    #[error("cannot write `{}`: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("cannot supervise `{program}`: {source}")]
    Setup { program: String, source: io::Error },
    #[error("`{program}` could not be killed: {who} (no permission, or stuck in the kernel)")]
    Unkillable { program: String, who: String },
    #[error("the guardian of `{program}` was killed from outside; all it had started was ended")]
    GuardianLost { program: String },
}

/// The program itself was found before, so a missing file is one it needs.
fn why_not(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "the interpreter or loader it names does not exist".to_owned(),
        _ => source.to_string(),
    }
}

/// Runs `spec` to its end. Without `signals` an interrupt is left to the caller.
pub fn supervise(spec: &Spec, signals: Option<&Signals>) -> Result<Finished, SuperviseError> {
    let program = spec.argv.first().map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    if !spec.cwd.is_dir() {
        return Err(SuperviseError::NoDirectory { program, cwd: spec.cwd.clone() });
    }
    let streams = Streams::open(spec, &program)?;
    let session = streams.session;
    let setup = |source| SuperviseError::Setup { program: program.clone(), source };
    let (mut socket, guardian) = start_guardian().map_err(setup)?;
    let started = SystemTime::now();
    let clock = Instant::now();
    let (inputs, mut child_side) = streams.split(spec, &mut socket, &program)?;
    let pid = match receive::<News>(&mut socket) {
        Ok(Some(News::Started { pid })) => pid,
        Ok(Some(News::NotStarted { errno })) => {
            let source = io::Error::from_raw_os_error(errno);
            return Err(SuperviseError::NotStarted { program, source });
        }
        _ => return Err(guardian_lost(program)),
    };
    let mut watch = Watch {
        spec,
        session,
        signals,
        socket,
        user: inputs,
        clock,
        ending: None,
        ended_by_us: None,
        kill_at: None,
        stop_command: None,
        killed: false,
        interrupts_before: signals.map_or(0, Signals::interrupts),
    };
    watch.take_terminal();
    child_side.start();
    let over = watch.run();
    if over.is_none() {
        signal_all(&descendants(), Signal::KILL);
    }
    drop(watch.user.take());
    let patience = (watch.ended_by_us == Some(Reason::Interrupted)).then_some(PATIENCE_WHEN_KILLED);
    let (stdout, stderr) = child_side.finish(patience);
    wait_for(guardian);
    let Some(Over { ending, usage, leftovers }) = over else {
        return Err(guardian_lost(program));
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
        killed: watch.killed,
        stop_problem,
        leftovers,
        stdout,
        stderr,
    })
}

/// Runs the command that is to stop the child. What went wrong, if anything did.
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

/// Should the guardian itself be killed, what it watched over falls to us.
fn guardian_lost(program: String) -> SuperviseError {
    signal_all(&descendants(), Signal::KILL);
    SuperviseError::GuardianLost { program }
}

fn start_guardian() -> io::Result<(UnixStream, Child)> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let (ours, theirs) = UnixStream::pair()?;
    let guardian = Command::new("/proc/self/exe")
        .arg(GUARDIAN_ARGUMENT)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok((ours, guardian))
}

fn wait_for(mut guardian: Child) {
    let _ = guardian.wait();
}

/// The child's three streams before it is started.
struct Streams {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    session: Session,
    user: Option<User>,
    pumps: Vec<Pump>,
    over: OwnedFd,
}

/// The user's terminal and our ends of the ptys that stand in for it.
struct User {
    terminal: UserTerminal,
    keyboard: Option<OwnedFd>,
    ptys: Vec<OwnedFd>,
    /// Typed, and not yet taken by the child.
    pending: Vec<u8>,
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
        // Larger pipes are a kindness, not a need.
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

impl Streams {
    fn open(spec: &Spec, program: &str) -> Result<Self, SuperviseError> {
        let setup = |source| SuperviseError::Setup { program: program.to_owned(), source };
        let (stdout_keep, stderr_keep, sinks) = keeps(&spec.output)?;
        Self::wire(&spec.output, stdout_keep, stderr_keep, sinks).map_err(setup)
    }

    fn wire(
        output: &Output,
        stdout_keep: Keep,
        stderr_keep: Keep,
        [stdout_sink, stderr_sink]: [Option<OwnedFd>; 2],
    ) -> io::Result<Self> {
        let captured = matches!(output, Output::Captured { .. });
        let stdin = if captured {
            OwnedFd::from(File::open("/dev/null")?)
        } else {
            rustix::stdio::stdin().try_clone_to_owned()?
        };
        let stdout = Channel::shown_on(stdout_sink.as_ref())?;
        let stderr = Channel::shown_on(stderr_sink.as_ref())?;
        let interactive = !captured && is_terminal(&stdin);
        let session = match (interactive && stdout.is_pty, interactive || stdout.is_pty || stderr.is_pty) {
            (true, _) => Session::Terminal,
            (false, true) => Session::Shared(rustix::process::getpgrp().as_raw_pid()),
            (false, false) => Session::Own,
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
                from_terminal: is_pty,
                held_return: false,
                over: over_watch.try_clone()?,
            });
        }
        Ok(Self { stdin, stdout: stdout.childs, stderr: stderr.childs, session, user, pumps, over })
    }

    /// Hands the child's ends to the guardian; what stays here is ours.
    fn split(
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
            linger_ms: spec.linger.as_millis() as u64,
            grace_ms: spec.grace.as_millis() as u64,
            unlink: spec.unlink.clone(),
        };
        let mut descriptors = vec![self.stdin.as_fd(), self.stdout.as_fd(), self.stderr.as_fd()];
        if let (Session::Terminal, Some(user)) = (self.session, &self.user) {
            descriptors.push(user.terminal.terminal().as_fd());
        }
        send_launch(socket, &launch, &descriptors)
            .map_err(|source| SuperviseError::Setup { program: program.to_owned(), source })?;
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
        Output::Teed { stdout_log, stderr_log, route, scrub } => {
            let log = |path: &PathBuf| {
                let file = HashedFile::create(path)
                    .map_err(|source| SuperviseError::Log { path: path.clone(), source })?;
                Ok(Keep::Log {
                    path: path.clone(),
                    file: Box::new(file),
                    scrubber: StreamScrubber::new(scrub),
                })
            };
            // A stream closed by whoever started us is simply not shown.
            let clone = |stream: BorrowedFd<'_>| stream.try_clone_to_owned().ok();
            let stderr = clone(rustix::stdio::stderr());
            let stdout = match route {
                Route::Through => clone(rustix::stdio::stdout()),
                Route::ToStderr => clone(rustix::stdio::stderr()),
            };
            Ok((log(stdout_log)?, log(stderr_log)?, [stdout, stderr]))
        }
    }
}

/// The threads that move the child's output.
struct ChildSide {
    pumps: Vec<Pump>,
    over: Option<OwnedFd>,
    outcomes: Vec<Receiver<LogOutcome>>,
}

impl ChildSide {
    fn start(&mut self) {
        for pump in self.pumps.drain(..) {
            let (sender, receiver) = channel();
            std::thread::spawn(move || sender.send(pump.run()));
            self.outcomes.push(receiver);
        }
    }

    /// Waits until both streams are written out, or only for `patience`.
    fn finish(mut self, patience: Option<Duration>) -> (LogOutcome, LogOutcome) {
        drop(self.over.take());
        let mut outcomes = self.outcomes.into_iter().map(|outcome| {
            let received = match patience {
                None => outcome.recv().ok(),
                Some(patience) => outcome.recv_timeout(patience).ok(),
            };
            received.unwrap_or_else(|| LogOutcome {
                log_error: Some("abandoned while its reader was blocked".to_owned()),
                ..LogOutcome::default()
            })
        });
        (outcomes.next().unwrap_or_default(), outcomes.next().unwrap_or_default())
    }
}

/// What is known when everyone is gone.
struct Over {
    /// None when the child itself could not be killed.
    ending: Option<(Duration, Ending)>,
    usage: Usage,
    leftovers: Vec<Leftover>,
}

/// The watch over a running child.
struct Watch<'a> {
    spec: &'a Spec,
    session: Session,
    signals: Option<&'a Signals>,
    socket: UnixStream,
    user: Option<User>,
    clock: Instant,
    ending: Option<(Duration, Ending)>,
    ended_by_us: Option<Reason>,
    kill_at: Option<Instant>,
    stop_command: Option<std::thread::JoinHandle<Option<String>>>,
    killed: bool,
    interrupts_before: u32,
}

/// What woke the watch.
#[derive(Default)]
struct Woken {
    guardian: bool,
    signals: bool,
    keyboard: bool,
    pty_writable: bool,
    hung_up: bool,
}

impl Watch<'_> {
    fn take_terminal(&mut self) {
        if let Some(user) = &mut self.user
            && user.keyboard.is_some()
        {
            user.terminal.enter();
        }
    }

    fn run(&mut self) -> Option<Over> {
        loop {
            let woken = self.sleep();
            if woken.guardian {
                match receive::<News>(&mut self.socket) {
                    Ok(Some(News::Exited { ending })) => {
                        self.ending = Some((self.clock.elapsed(), ending));
                    }
                    Ok(Some(News::Stopped)) => self.stop_ourselves(),
                    Ok(Some(News::Ended { usage, leftovers })) => {
                        return Some(Over { ending: self.ending, usage, leftovers });
                    }
                    Ok(Some(News::Started { .. } | News::NotStarted { .. })) => {}
                    Ok(None) | Err(_) => return None,
                }
            }
            if woken.signals {
                self.take_signals();
            }
            if woken.hung_up {
                self.terminal_gone();
            }
            if !woken.guardian {
                self.take_terminal();
            }
            if woken.keyboard {
                self.read_keyboard();
            }
            if woken.pty_writable || woken.keyboard {
                self.write_pending();
            }
            self.look_at_clock();
        }
    }

    fn sleep(&self) -> Woken {
        let mut watched = vec![PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        let mut signals_at = None;
        if let Some(signals) = self.signals {
            signals_at = Some(watched.len());
            watched.push(PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN));
        }
        let (mut keyboard_at, mut pty_at, mut terminal_at) = (None, None, None);
        let mut in_background = false;
        if let Some(user) = &self.user
            && let Some(keyboard) = &user.keyboard
        {
            in_background = !user.terminal.is_raw();
            // Asked for nothing, it still tells when the terminal goes away.
            terminal_at = Some(watched.len());
            watched.push(PollFd::from_borrowed_fd(keyboard.as_fd(), PollFlags::empty()));
            if user.terminal.is_raw() && user.pending.is_empty() {
                keyboard_at = Some(watched.len());
                watched.push(PollFd::from_borrowed_fd(keyboard.as_fd(), PollFlags::IN));
            }
            if !user.pending.is_empty() {
                pty_at = Some(watched.len());
                watched.push(PollFd::from_borrowed_fd(user.ptys[0].as_fd(), PollFlags::OUT));
            }
        }
        // A job brought to the foreground is not told so when it was running.
        let look_again = in_background.then(|| Instant::now() + LOOK_AGAIN);
        let timeout = self.next_deadline().into_iter().chain(look_again).min().map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
        });
        if poll(&mut watched, timeout.as_ref()).is_err() {
            return Woken::default();
        }
        let ready = |at: Option<usize>| at.is_some_and(|at| !watched[at].revents().is_empty());
        Woken {
            guardian: ready(Some(0)),
            signals: ready(signals_at),
            keyboard: ready(keyboard_at),
            pty_writable: ready(pty_at),
            hung_up: ready(terminal_at),
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        if self.ending.is_some() {
            return None;
        }
        if self.kill_at.is_some() {
            return self.kill_at;
        }
        // An interrupt is the child's to answer, but not for ever.
        if self.ended_by_us.is_some_and(|reason| reason != Reason::Interrupted) || self.killed {
            return None;
        }
        let timeout = self.spec.timeout.map(|timeout| self.clock + timeout);
        let stop = self.spec.stop.as_ref().map(|stop| self.clock + stop.after);
        timeout.into_iter().chain(stop).min()
    }

    fn look_at_clock(&mut self) {
        let now = Instant::now();
        if self.next_deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        if self.kill_at.take().is_some() {
            self.kill();
            return;
        }
        let timed_out = self.spec.timeout.is_some_and(|timeout| now >= self.clock + timeout);
        if timed_out {
            self.ended_by_us.get_or_insert(Reason::Timeout);
            self.order(&Order::Signal(Signal::TERM.as_raw()));
        } else if let Some(stop) = &self.spec.stop {
            self.ended_by_us.get_or_insert(Reason::Stopped);
            match &stop.by {
                StopBy::Term => self.order(&Order::Signal(Signal::TERM.as_raw())),
                StopBy::Int => self.order(&Order::Signal(Signal::INT.as_raw())),
                StopBy::Command(argv) => {
                    let question = Spec::question(
                        argv.clone(),
                        self.spec.env.clone(),
                        self.spec.cwd.clone(),
                        STOP_COMMAND_TIMEOUT,
                    );
                    self.stop_command = Some(std::thread::spawn(move || problem_with(&question)));
                }
            }
        }
        self.kill_at = Some(now + self.spec.grace);
    }

    fn take_signals(&mut self) {
        while let Some(received) = self.signals.and_then(Signals::next) {
            match received {
                Received::Resized => {
                    if let Some(user) = &self.user {
                        resize(user.terminal.terminal(), user.ptys.iter());
                    }
                }
                Received::Continued => self.take_terminal(),
                Received::Interrupt { signal, from_terminal } => {
                    // In a shared process group the terminal has told the child already.
                    let told = from_terminal && matches!(self.session, Session::Shared(_));
                    self.interrupt((!told).then_some(signal));
                }
            }
        }
    }

    /// The first interrupt is the child's, the second ours.
    fn interrupt(&mut self, pass_on: Option<i32>) {
        let count = self.signals.map_or(0, Signals::interrupts) - self.interrupts_before;
        self.ended_by_us = Some(Reason::Interrupted);
        if count > 1 {
            self.kill();
        } else if let Some(signal) = pass_on {
            self.order(&Order::Signal(signal));
        }
    }

    fn kill(&mut self) {
        self.killed = true;
        self.order(&Order::Kill);
    }

    /// Nobody can answer or interrupt the child any more.
    fn terminal_gone(&mut self) {
        if let Some(user) = &mut self.user {
            user.keyboard = None;
        }
        if self.ended_by_us.is_none() {
            if let Some(signals) = self.signals {
                signals.count_interrupt();
            }
            self.interrupt(Some(Signal::HUP.as_raw()));
        }
    }

    fn read_keyboard(&mut self) {
        let Some(user) = &mut self.user else { return };
        let mut typed = [0; 4096];
        let Some(keyboard) = &user.keyboard else { return };
        match rustix::io::read(keyboard, &mut typed) {
            Ok(0) => self.terminal_gone(),
            Ok(read) => {
                let typed = &typed[..read];
                let interrupts = typed_interrupts(&user.ptys[0], typed);
                user.pending.extend_from_slice(typed);
                for _ in 0..interrupts {
                    if let Some(signals) = self.signals {
                        signals.count_interrupt();
                    }
                    // The child's own terminal turns the key into SIGINT.
                    self.interrupt(None);
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.terminal_gone(),
        }
    }

    fn write_pending(&mut self) {
        let Some(user) = &mut self.user else { return };
        match rustix::io::write(&user.ptys[0], &user.pending) {
            Ok(written) => drop(user.pending.drain(..written)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => user.pending.clear(),
        }
    }

    /// The child was stopped from its keyboard: our whole job stops with it.
    fn stop_ourselves(&mut self) {
        if let Some(user) = &mut self.user {
            user.terminal.leave();
        }
        let _ = rustix::process::kill_current_process_group(Signal::TSTP);
        // We stop in here, until the user brings the job back; without a shell
        // to do that the kernel ignores the signal and we simply go on.
        std::thread::sleep(STOPPING);
        self.take_terminal();
        self.order(&Order::Continue);
    }

    fn order(&mut self, order: &Order) {
        // A guardian that is gone is noticed when its news are read.
        let _ = send(&mut self.socket, order);
    }
}
