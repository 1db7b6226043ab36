//! The user's terminal, and the ptys a child gets instead.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr, tcsetwinsize,
};

/// A pty: our end and the child's.
#[derive(Debug)]
pub(super) struct Pty {
    pub(super) ours: OwnedFd,
    pub(super) childs: OwnedFd,
}

impl Pty {
    /// With the modes and the size of the terminal it stands in for.
    pub(super) fn like(terminal: &OwnedFd) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        unlockpt(&ours)?;
        let childs = ioctl_tiocgptpeer(&ours, flags)?;
        tcsetattr(&childs, OptionalActions::Now, &tcgetattr(terminal)?)?;
        if let Ok(size) = tcgetwinsize(terminal) {
            tcsetwinsize(&ours, size)?;
        }
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok(Self { ours, childs })
    }
}

/// The user's terminal while the child's pty stands in for it: raw, so that
/// every key reaches the child's own line discipline. Put back when dropped.
#[derive(Debug)]
pub(super) struct UserTerminal {
    terminal: OwnedFd,
    before: Termios,
    raw: bool,
}

impl UserTerminal {
    pub(super) fn new(terminal: OwnedFd) -> io::Result<Self> {
        let before = tcgetattr(&terminal)?;
        Ok(Self { terminal, before, raw: false })
    }

    /// Goes raw, unless we are a background job, which must leave the terminal alone.
    pub(super) fn enter(&mut self) {
        if !self.raw && self.foreground() {
            let mut modes = self.before.clone();
            modes.make_raw();
            self.raw = tcsetattr(&self.terminal, OptionalActions::Now, &modes).is_ok();
        }
    }

    pub(super) fn leave(&mut self) {
        if self.raw {
            let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &self.before);
            self.raw = false;
        }
    }

    pub(super) fn is_raw(&self) -> bool {
        self.raw
    }

    pub(super) fn terminal(&self) -> &OwnedFd {
        &self.terminal
    }

    fn foreground(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == rustix::process::getpgrp())
    }
}

impl Drop for UserTerminal {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Copies the size of `terminal` to the ptys, after it has changed.
pub(super) fn resize<'a>(terminal: &OwnedFd, ptys: impl Iterator<Item = &'a OwnedFd>) {
    if let Ok(size) = tcgetwinsize(terminal) {
        for pty in ptys {
            let _ = tcsetwinsize(pty, size);
        }
    }
}

/// How many of these typed bytes are a Ctrl-C the child's terminal will turn
/// into SIGINT. None while the child itself reads raw keys, as an editor does.
pub(super) fn typed_interrupts(pty: &OwnedFd, typed: &[u8]) -> u32 {
    let Ok(modes) = tcgetattr(pty) else { return 0 };
    if !modes.local_modes.contains(LocalModes::ISIG) {
        return 0;
    }
    let key = modes.special_codes[SpecialCodeIndex::VINTR];
    typed.iter().filter(|byte| **byte == key && key != 0).count() as u32
}

pub(super) fn is_terminal(descriptor: impl AsFd) -> bool {
    isatty(descriptor)
}
