//! The process between rangefinder and a child.
//!
//! Policy, in the order it is applied:
//! 1. The child runs until it ends by itself or is told to end.
//! 2. Processes it leaves behind may linger for a moment, then get SIGTERM and, a
//!    second later, SIGKILL. Those processes are named in the report.
//! 3. If the child ends because it was told to, the processes it leaves behind have the
//!    rest of the grace period: its own group was signaled as well, the others are now.
//! 4. When the socket to rangefinder closes, everyone gets SIGTERM and, half a
//!    second later, SIGKILL; the user's terminal is put back as it was.
//!
//! All signals are blocked here: a guardian ends when its work is done.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigHandler, SigSet, Signal as NixSignal, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeValLike;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, Signal, WaitOptions, ioctl_tiocsctty, kill_process, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, setpgid, setsid, wait,
};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr, tcsetpgrp};

use super::descendants::{Descendant, descendants, signal_all};
use super::limit::limit_open_files;
use super::protocol::{Launch, News, Order, Session, receive, receive_launch, send};
use super::timespec::timespec;
use record::{Ending, Leftover, Usage};

/// The hidden first argument that makes our binary a guardian.
pub const GUARDIAN_ARGUMENT: &str = "__guardian";

/// Between SIGTERM and SIGKILL for descendants that outlive the child.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
/// The same when rangefinder is gone.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);
/// How long SIGKILL is repeated before a process counts as unkillable.
const KILL_PATIENCE: Duration = Duration::from_secs(3);

/// Runs a guardian whose socket is stdin. Returns its exit code.
pub fn guardian_main() -> i32 {
    match guard() {
        Ok(()) => 0,
        // There is no one to report to: rangefinder sees the socket close.
        Err(_) => 1,
    }
}

fn guard() -> io::Result<()> {
    SigSet::all().thread_block()?;
    let children = SignalFd::with_flags(
        &SigSet::from(NixSignal::SIGCHLD),
        SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK,
    )?;
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let mut socket = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let (launch, descriptors) = receive_launch(&mut socket)?;
    if let Some(open_files) = launch.open_files {
        limit_open_files(open_files);
    }
    let terminal = SavedTerminal::of(descriptors.get(3));
    match start(&launch, descriptors) {
        Ok(pid) => {
            let _ = send(&mut socket, &News::Started { pid: pid.as_raw_pid() });
            Guardian::new(launch, pid, terminal).watch(&mut socket, &children)
        }
        Err(error) => {
            remove(&launch.remove);
            let errno = error.raw_os_error().unwrap_or(rustix::io::Errno::INVAL.raw_os_error());
            send(&mut socket, &News::NotStarted { errno })
        }
    }
}

/// The user's terminal as it was, in case rangefinder dies holding it raw.
struct SavedTerminal(Option<(OwnedFd, Termios)>);

impl SavedTerminal {
    fn of(descriptor: Option<&OwnedFd>) -> Self {
        let saved = descriptor
            .and_then(|descriptor| Some((descriptor.try_clone().ok()?, tcgetattr(descriptor).ok()?)));
        Self(saved)
    }

    fn restore(&self) {
        if let Some((descriptor, modes)) = &self.0 {
            let _ = tcsetattr(descriptor, OptionalActions::Now, modes);
        }
    }
}

fn start(launch: &Launch, descriptors: Vec<OwnedFd>) -> io::Result<Pid> {
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next().ok_or_else(|| io::Error::from_raw_os_error(libc_ebadf()));
    let (stdin, stdout, stderr) = (next()?, next()?, next()?);
    let (program, arguments) =
        launch.argv.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(launch.env.iter().cloned()).current_dir(&launch.cwd);
    match launch.session {
        Session::Terminal => {
            setsid()?;
            ioctl_tiocsctty(&stdin)?;
            command.process_group(0);
        }
        Session::Own => {
            setsid()?;
            command.process_group(0);
        }
        Session::Shared(group) => {
            // Leave the group ourselves, so that a signal to the group does not reach us.
            setpgid(None, None)?;
            command.process_group(group);
        }
    }
    before_exec(&mut command, launch);
    command.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
    let child = command.spawn()?;
    Ok(Pid::from_child(&child))
}

fn libc_ebadf() -> i32 {
    rustix::io::Errno::BADF.raw_os_error()
}

/// What the child does before it becomes the program: it asks to be killed with us, unblocks
/// the signals that we block, restores SIGINT if that is how it will be stopped and those
/// that were not ignored when Rangefinder was started, and takes the foreground of its new
/// terminal if it has one.
///
/// It has a process group of its own below our session, and is not in ours,
/// because the kernel ignores Ctrl-Z for a group with no parent in its session.
#[allow(unsafe_code)]
fn before_exec(command: &mut Command, launch: &Launch) {
    let take_foreground = launch.session == Session::Terminal;
    let heed_interrupt = launch.heeds_interrupt;
    let heeded: [Option<i32>; 2] = std::array::from_fn(|at| launch.heeds.get(at).copied());
    let prepare = move || {
        if take_foreground {
            // Signals are still blocked: a background group that calls this
            // with SIGTTOU open would be stopped.
            tcsetpgrp(rustix::stdio::stdin(), rustix::process::getpid())?;
        }
        if heed_interrupt {
            // SAFETY: the default action runs no code of ours.
            unsafe { signal(NixSignal::SIGINT, SigHandler::SigDfl) }?;
        }
        heeded.into_iter().flatten().try_for_each(heed)?;
        // If we are killed together with rangefinder, nothing else would end it.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        SigSet::empty().thread_set_mask()?;
        Ok(())
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; the
    // closure makes system calls only, allocates nothing and takes no lock. There
    // is no other way to be in the foreground before the program's first read.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Restores the default action of a signal that the C library keeps for itself, and lets nobody else change.
#[allow(unsafe_code)]
fn heed(signal: i32) -> io::Result<()> {
    // The kernel's structure, all of it: the default action, no flags, no restorer, an empty mask.
    let default = [0u64; 4];
    let size_of_mask = size_of::<u64>();
    let before = std::ptr::null_mut::<u64>();
    // SAFETY: the kernel reads the structure, which is as large as it expects, and the default action runs no code of
    // ours.
    let done = unsafe {
        nix::libc::syscall(nix::libc::SYS_rt_sigaction, signal, default.as_ptr(), before, size_of_mask)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

enum Phase {
    Running,
    Lingering { until: Instant },
    Terminating { until: Instant },
    Killing { until: Instant },
}

struct Guardian {
    launch: Launch,
    child: Pid,
    terminal: SavedTerminal,
    phase: Phase,
    ending: Option<Ending>,
    leftovers: Vec<Leftover>,
    /// When the child was told to end.
    told_to_end: Option<Instant>,
    orphaned: bool,
}

impl Guardian {
    fn new(launch: Launch, child: Pid, terminal: SavedTerminal) -> Self {
        Self {
            launch,
            child,
            terminal,
            phase: Phase::Running,
            ending: None,
            leftovers: Vec::new(),
            told_to_end: None,
            orphaned: false,
        }
    }

    fn watch(mut self, socket: &mut UnixStream, children: &SignalFd) -> io::Result<()> {
        loop {
            while children.read_signal().is_ok_and(|signal| signal.is_some()) {}
            let alone = self.reap(socket);
            if alone && self.ending.is_some() {
                break;
            }
            if !self.advance() {
                break;
            }
            self.sleep(socket, children)?;
        }
        self.finish(socket)
    }

    /// Reaps all ended children. True if none is left.
    fn reap(&mut self, socket: &mut UnixStream) -> bool {
        loop {
            match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((pid, status))) if pid == self.child => {
                    let ending = match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => Ending::Code(code),
                        (_, Some(signal)) => Ending::Signal(signal),
                        _ => {
                            if self.launch.session == Session::Terminal {
                                let _ = send(socket, &News::Stopped);
                            }
                            continue;
                        }
                    };
                    self.ending = Some(ending);
                    let _ = send(socket, &News::Exited { ending });
                    if matches!(self.phase, Phase::Running) {
                        self.child_ended();
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    fn child_ended(&mut self) {
        match self.told_to_end {
            None => {
                let linger = Duration::from_millis(self.launch.linger_ms);
                self.phase = Phase::Lingering { until: Instant::now() + linger };
            }
            Some(told) => {
                let mut found = descendants();
                self.note_leftovers(&found);
                let told_already = self.child.as_raw_pid();
                found.retain(|found| found.group != told_already);
                signal_all(&found, Signal::TERM);
                signal_all(&found, Signal::CONT);
                self.phase = Phase::Terminating { until: told + Duration::from_millis(self.launch.grace_ms) };
            }
        }
    }

    fn note_leftovers(&mut self, found: &[Descendant]) {
        let leftover =
            |found: &Descendant| Leftover { pid: found.pid, name: found.name.clone(), survived: false };
        self.leftovers = found.iter().map(leftover).collect();
    }

    /// Moves to the next phase when its time has come. False when we give up.
    fn advance(&mut self) -> bool {
        let now = Instant::now();
        match self.phase {
            Phase::Lingering { until } if now >= until => {
                self.note_leftovers(&descendants());
                self.terminate(LEFTOVER_GRACE);
            }
            Phase::Terminating { until } if now >= until => self.kill(),
            Phase::Killing { until } => {
                signal_all(&descendants(), Signal::KILL);
                return now < until;
            }
            _ => {}
        }
        true
    }

    fn terminate(&mut self, grace: Duration) {
        let found = descendants();
        signal_all(&found, Signal::TERM);
        signal_all(&found, Signal::CONT);
        self.phase = Phase::Terminating { until: Instant::now() + grace };
    }

    fn kill(&mut self) {
        self.phase = Phase::Killing { until: Instant::now() + KILL_PATIENCE };
        signal_all(&descendants(), Signal::KILL);
    }

    /// Waits for a child to change, an order, or the end of the phase.
    fn sleep(&mut self, socket: &mut UnixStream, children: &SignalFd) -> io::Result<()> {
        let timeout = match self.phase {
            Phase::Running => None,
            Phase::Lingering { until } | Phase::Terminating { until } => {
                Some(until.saturating_duration_since(Instant::now()))
            }
            Phase::Killing { .. } => Some(Duration::from_millis(5)),
        };
        let timeout = timeout.map(timespec);
        let readable = {
            let mut watched = vec![PollFd::from_borrowed_fd(children.as_fd(), PollFlags::IN)];
            if !self.orphaned {
                watched.push(PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN));
            }
            match poll(&mut watched, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            watched.get(1).is_some_and(|socket| !socket.revents().is_empty())
        };
        if readable {
            match receive(socket) {
                Ok(Some(order)) => self.obey(&order),
                Ok(None) | Err(_) => {
                    self.orphaned = true;
                    self.terminal.restore();
                    self.terminate(ORPHAN_GRACE);
                }
            }
        }
        Ok(())
    }

    fn obey(&mut self, order: &Order) {
        match order {
            Order::Signal(signal) => {
                if let Some(signal) = Signal::from_named_raw(*signal) {
                    self.told_to_end.get_or_insert(Instant::now());
                    self.signal_child(signal);
                    self.signal_child(Signal::CONT);
                }
            }
            // To the program, as whoever started us meant it, and to nothing else.
            Order::Message(signal) => {
                if let (Some(signal), None) = (Signal::from_named_raw(*signal), &self.ending) {
                    let _ = kill_process(self.child, signal);
                }
            }
            Order::Continue => self.signal_child(Signal::CONT),
            Order::Kill => self.kill(),
        }
    }

    fn signal_child(&self, signal: Signal) {
        if self.ending.is_some() {
            return;
        }
        let _ = match self.launch.session {
            Session::Terminal | Session::Own => kill_process_group(self.child, signal),
            Session::Shared(_) => kill_process(self.child, signal),
        };
    }

    fn finish(mut self, socket: &mut UnixStream) -> io::Result<()> {
        // Rangefinder may have died before we noticed.
        self.terminal.restore();
        remove(&self.launch.remove);
        for survivor in descendants() {
            match self.leftovers.iter_mut().find(|leftover| leftover.pid == survivor.pid) {
                Some(leftover) => leftover.survived = true,
                None => {
                    self.leftovers.push(Leftover { pid: survivor.pid, name: survivor.name, survived: true });
                }
            }
        }
        if self.orphaned {
            return Ok(());
        }
        send(socket, &News::Ended { usage: usage(), leftovers: self.leftovers })
    }
}

/// Files, and folders that are then empty.
pub fn remove(paths: &[PathBuf]) {
    for path in paths {
        let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
    }
}

fn usage() -> Usage {
    let Ok(used) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Usage::default() };
    let count = |value: i64| u64::try_from(value).unwrap_or(0);
    Usage {
        user_ms: count(used.user_time().num_milliseconds()),
        system_ms: count(used.system_time().num_milliseconds()),
        max_rss_kb: count(used.max_rss()),
        voluntary_switches: count(used.voluntary_context_switches()),
        involuntary_switches: count(used.involuntary_context_switches()),
    }
}
