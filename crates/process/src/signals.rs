//! The signals rangefinder itself receives while it works.
//!
//! Policy: the first SIGINT, SIGTERM or SIGHUP is the child's; it is passed on
//! and we wait. The second one is ours: every descendant is killed. Between
//! children the first one ends the run at the next step, and in the middle of a long
//! computation at once (`compute`).
//!
//! SIGUSR1 and SIGUSR2 mean something to the child alone (a scheduler asks for a checkpoint): they are passed on, and
//! nothing else happens.
//!
//! They are blocked and read from a descriptor, so no handler ever runs. A
//! signal that was ignored when we were started (`nohup`, a shell's background
//! job) stays ignored.

use std::cell::Cell;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// `si_code` of a signal that a terminal sent: the whole foreground group has it.
const FROM_KERNEL: i32 = 0x80;

/// The same signal again within this time counts once.
const ONE_WISH: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Signals {
    descriptor: SignalFd,
    interrupts: Cell<u32>,
    last: Cell<Option<(i32, Instant)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    Interrupt {
        signal: i32,
        from_terminal: bool,
    },
    Resized,
    Continued,
    /// For the child alone.
    Message(i32),
}

impl Signals {
    /// Call before any thread is started: threads inherit the mask.
    pub fn listen() -> io::Result<Self> {
        let ignored = ignored_at_start();
        let mut set = SigSet::empty();
        let for_the_child = [Signal::SIGUSR1, Signal::SIGUSR2];
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().chain(for_the_child) {
            if ignored & mask(signal) == 0 {
                set.add(signal);
            }
        }
        set.add(Signal::SIGWINCH);
        set.add(Signal::SIGCONT);
        // If SIGXFSZ is blocked, a file that may not grow is merely a write error.
        set.add(Signal::SIGXFSZ);
        set.thread_block()?;
        let descriptor = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self { descriptor, interrupts: Cell::new(0), last: Cell::new(None) })
    }

    /// Lets every signal through again, for another program in our place.
    pub fn unblock(self) -> io::Result<()> {
        SigSet::empty().thread_set_mask().map_err(io::Error::from)
    }

    /// Whether the user has asked us to stop.
    pub fn interrupted(&self) -> bool {
        self.drain();
        self.interrupts.get() > 0
    }

    /// Whether they have asked again: there is to be no more work.
    pub fn interrupted_again(&self) -> bool {
        self.drain();
        self.interrupts.get() > 1
    }

    /// Reads all pending signals.
    pub(super) fn drain(&self) {
        while self.next().is_some() {}
    }

    pub(super) fn next(&self) -> Option<Received> {
        let info = self.descriptor.read_signal().ok().flatten()?;
        let signal = info.ssi_signo as i32;
        Some(match Signal::try_from(signal) {
            Ok(Signal::SIGWINCH) => Received::Resized,
            Ok(Signal::SIGCONT) => Received::Continued,
            Ok(Signal::SIGXFSZ) => return self.next(),
            Ok(Signal::SIGUSR1 | Signal::SIGUSR2) => Received::Message(signal),
            // `timeout` signals us and our group; that counts once, not twice.
            _ if self.repeated(signal) => return self.next(),
            _ => {
                self.count_interrupt();
                Received::Interrupt { signal, from_terminal: info.ssi_code == FROM_KERNEL }
            }
        })
    }

    fn repeated(&self, signal: i32) -> bool {
        let now = Instant::now();
        let last = self.last.replace(Some((signal, now)));
        last.is_some_and(|(other, when)| other == signal && now.duration_since(when) < ONE_WISH)
    }

    /// Also called for a Ctrl-C typed into a terminal that we hold in raw mode.
    pub(super) fn count_interrupt(&self) {
        self.interrupts.set(self.interrupts.get() + 1);
    }

    pub(super) fn interrupts(&self) -> u32 {
        self.interrupts.get()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// As in a script's background job.
pub(super) fn interrupts_are_ignored() -> bool {
    ignored_at_start() & mask(Signal::SIGINT) != 0
}

/// Those that the C library keeps for itself. A program that it starts ignores them, and so does every program that this
/// one starts: also our guardian and the workload, if nobody restores them.
const OF_THE_C_LIBRARY: [i32; 2] = [32, 33];

/// Which of them were not ignored when we were started.
pub(super) fn heeded_at_start() -> Vec<i32> {
    let ignored = ignored_at_start();
    OF_THE_C_LIBRARY.into_iter().filter(|signal| ignored & 1 << (signal - 1) == 0).collect()
}

fn mask(signal: Signal) -> u64 {
    1 << (signal as u32 - 1)
}

/// Asked for the first time before any thread is started: with the first, the C library takes signals for itself.
fn ignored_at_start() -> u64 {
    static IGNORED: OnceLock<u64> = OnceLock::new();
    *IGNORED.get_or_init(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or(0)
    })
}
