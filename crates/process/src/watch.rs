//! Watches a running child: messages, signals, keys and the clock.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use record::{Ending, Leftover, Reason, Usage};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::load::Loading;
use super::protocol::{News, Order, Session, receive, send};
use super::signals::{Received, Signals};
use super::spec::{Milestone, Seen, Spec, StopBy};
use super::streams::User;
use super::terminal::{resize, typed_interrupts};
use super::timespec::timespec;

/// How often a background job checks whether it is in the foreground.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How often we check whether the load is over, or we are to end.
const LOOK_SOON: Duration = Duration::from_millis(50);
/// How long a child may take to end of itself after its client has.
const SETTLING: Duration = Duration::from_millis(200);
/// Long enough for a stop signal to reach every thread of ours.
const STOPPING: Duration = Duration::from_millis(20);
/// How often we check whether the guardian itself was stopped.
const LOOK_AT_GUARDIAN: Duration = Duration::from_secs(1);
/// A guardian that was told to kill everything and has not confirmed it after this long never will: it is
/// longer than the guardian takes to give up on an unkillable process.
const LAST_RESORT: Duration = Duration::from_secs(6);
/// How long a stop command may take.
const STOP_COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// What is known when every process is gone.
pub(super) struct Over {
    /// None if the child itself could not be killed.
    pub(super) ending: Option<(Duration, Ending)>,
    pub(super) usage: Usage,
    pub(super) leftovers: Vec<Leftover>,
}

/// The watch over a running child.
pub(super) struct Watch<'a> {
    pub(super) spec: &'a Spec,
    pub(super) session: Session,
    pub(super) signals: Option<&'a Signals>,
    pub(super) socket: UnixStream,
    pub(super) guardian: Pid,
    pub(super) user: Option<User>,
    pub(super) clock: Instant,
    pub(super) ending: Option<(Duration, Ending)>,
    pub(super) ended_by_us: Option<Reason>,
    /// The text that starts the stop's clock was seen.
    pub(super) seen_at: Option<Instant>,
    /// The milestone of the stop was reached.
    pub(super) on_time: bool,
    pub(super) missed_at: Option<Instant>,
    pub(super) kill_at: Option<Instant>,
    /// Runs the stop command. Returns what went wrong, if anything.
    pub(super) run_stop_command: fn(&Spec) -> Option<String>,
    pub(super) stop_command: Option<std::thread::JoinHandle<Option<String>>>,
    pub(super) killed: bool,
    /// When the guardian was told to kill everything.
    pub(super) kill_ordered: Option<Instant>,
    pub(super) loading: Option<Loading>,
    /// When that was seen to be over.
    pub(super) load_over: Option<Instant>,
    pub(super) interrupts_before: u32,
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
    pub(super) fn take_terminal(&mut self) {
        if let Some(user) = &mut self.user
            && user.keyboard.is_some()
        {
            user.terminal.enter();
        }
    }

    pub(super) fn run(&mut self) -> Option<Over> {
        loop {
            let woken = self.sleep();
            if woken.guardian {
                match receive::<News>(&mut self.socket) {
                    Ok(Some(News::Exited { ending })) => {
                        self.ending = Some((self.clock.elapsed(), ending));
                        self.cancel_load();
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
            // We may have come to the foreground, with or without SIGCONT.
            self.take_terminal();
            if woken.keyboard {
                self.read_keyboard();
            }
            if woken.pty_writable || woken.keyboard {
                self.write_pending();
            }
            self.look_at_clock();
            self.look_at_load();
            self.look_at_guardian();
        }
    }

    /// Whatever happens to the guardian, timeouts and interrupts must work: a stopped guardian is
    /// continued, one that does not respond is killed, and we take over its processes.
    fn look_at_guardian(&mut self) {
        if is_stopped(self.guardian) {
            let _ = kill_process(self.guardian, Signal::CONT);
        }
        if self.kill_ordered.is_some_and(|ordered| ordered.elapsed() > LAST_RESORT) {
            let _ = kill_process(self.guardian, Signal::KILL);
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
            // Even with no events requested, it reports when the terminal goes away.
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
        // A running job is not notified when it comes to the foreground.
        let look_again = (in_background || self.awaited().is_some()).then(|| Instant::now() + LOOK_AGAIN);
        let is_told_by_others = self.loading.is_some() || self.spec.cancel.is_some();
        let look_soon = is_told_by_others.then(|| Instant::now() + LOOK_SOON);
        let look_at_guardian = Instant::now() + LOOK_AT_GUARDIAN;
        let next = self.next_deadline().into_iter().chain(look_again).chain(look_soon).min();
        let next = next.map_or(look_at_guardian, |next| next.min(look_at_guardian));
        let timeout = timespec(next.saturating_duration_since(Instant::now()));
        if poll(&mut watched, Some(&timeout)).is_err() {
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
        // The child handles the interrupt, but not forever.
        if self.ended_by_us.is_some_and(|reason| reason != Reason::Interrupted) || self.killed {
            return None;
        }
        let timeout = self.spec.timeout.map(|timeout| self.clock + timeout);
        timeout.into_iter().chain(self.stop_at()).min()
    }

    fn stop_at(&self) -> Option<Instant> {
        let stop = self.spec.stop.as_ref()?;
        let begins = match (&stop.once, &self.loading) {
            (Some(_), _) => self.seen_at?,
            (None, Some(loading)) => loading.began()?,
            (None, None) => self.clock,
        };
        Some(begins + self.ahead().map_or(stop.after, |milestone| milestone.after))
    }

    /// The milestone, until it is reached. An interrupt is not followed by another one.
    fn ahead(&self) -> Option<Milestone> {
        self.spec.stop.as_ref()?.milestone.filter(|_| !self.on_time && self.ended_by_us.is_none())
    }

    /// Whether the milestone is due, and reached.
    fn is_on_time(&self, now: Instant) -> bool {
        let due = self.ahead().filter(|_| self.stop_at().is_some_and(|at| now >= at));
        let seen = self.spec.stop.as_ref().and_then(|stop| stop.once.as_ref());
        due.zip(seen).is_some_and(|(milestone, seen)| seen.times() >= milestone.times)
    }

    /// What must be seen before the stop's clock starts.
    fn awaited(&self) -> Option<&Seen> {
        let once = self.spec.stop.as_ref()?.once.as_ref();
        once.filter(|_| self.seen_at.is_none() && self.ending.is_none())
    }

    fn look_at_clock(&mut self) {
        let now = Instant::now();
        if self.awaited().is_some_and(|seen| seen.times() > 0) {
            self.seen_at = Some(now);
        }
        self.on_time |= self.is_on_time(now);
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
            self.missed_at = self.ahead().map(|_| now);
            self.ended_by_us.get_or_insert(Reason::Stopped);
            self.ask_to_end(&stop.by);
        }
        self.kill_at = Some(now + self.spec.grace);
        self.cancel_load();
    }

    fn ask_to_end(&mut self, by: &StopBy) {
        match by {
            StopBy::Term => self.order(&Order::Signal(Signal::TERM.as_raw())),
            StopBy::Int => self.order(&Order::Signal(Signal::INT.as_raw())),
            StopBy::Command(argv) => {
                let question = Spec::question(
                    argv.clone(),
                    self.spec.env.clone(),
                    self.spec.cwd.clone(),
                    STOP_COMMAND_TIMEOUT,
                );
                let asking = std::thread::Builder::new().name("stop".to_owned());
                // When the grace period is over, everything is killed anyway.
                let run = self.run_stop_command;
                self.stop_command = asking.spawn(move || run(&question)).ok();
            }
        }
    }

    /// The child is not needed any more when its client has ended; and we are not, if somebody says so.
    fn look_at_load(&mut self) {
        let spec = self.spec;
        // A server that is interrupted may wait for clients that do not come any more.
        if self.ended_by_us == Some(Reason::Interrupted) && spec.load.is_some() && !self.killed {
            self.kill_at.get_or_insert_with(|| Instant::now() + spec.grace);
        }
        if self.ending.is_some() || self.ended_by_us.is_some() {
            return;
        }
        let is_over = self.loading.as_ref().is_some_and(Loading::is_over);
        // A client that fails may do so because the child is ending.
        let since = is_over.then(|| *self.load_over.get_or_insert_with(Instant::now));
        let load = spec.load.as_ref().filter(|_| since.is_some_and(|since| since.elapsed() >= SETTLING));
        let is_cancelled = spec.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Acquire));
        let Some(by) = load.map(|load| &load.stop).or(is_cancelled.then_some(&StopBy::Term)) else { return };
        self.ended_by_us = Some(Reason::Stopped);
        self.ask_to_end(by);
        self.kill_at = Some(Instant::now() + spec.grace);
    }

    fn cancel_load(&self) {
        self.loading.iter().for_each(Loading::cancel);
    }

    fn take_signals(&mut self) {
        while let Some(received) = self.signals.and_then(Signals::next) {
            match received {
                Received::Resized => {
                    if let Some(user) = &self.user {
                        resize(user.terminal.terminal(), user.ptys.iter());
                    }
                }
                Received::Continued => {}
                Received::Message(signal) => self.order(&Order::Message(signal)),
                Received::Interrupt { signal, from_terminal } => {
                    // In a shared process group the terminal has already signaled the child.
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
        self.cancel_load();
        if count > 1 {
            self.kill();
        } else if let Some(signal) = pass_on {
            self.order(&Order::Signal(signal));
        }
    }

    fn kill(&mut self) {
        self.killed = true;
        self.kill_ordered.get_or_insert(Instant::now());
        self.order(&Order::Kill);
    }

    /// The terminal is gone: no one can answer or interrupt the child any more.
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
        // A dead guardian is noticed when its messages are read.
        let _ = send(&mut self.socket, order);
    }
}

/// Whether a process is stopped, as by SIGSTOP.
fn is_stopped(pid: Pid) -> bool {
    let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
    let state = stat.rsplit(|byte| *byte == b')').next().and_then(|rest| rest.trim_ascii_start().first());
    state == Some(&b'T')
}
