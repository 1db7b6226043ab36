//! Copies one output stream of a child to the terminal and into its log.
//! Reading never stops before the child does: if our own stdout is closed, or the log's disk is full, the
//! rest still flows.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Serialize;

use super::log::{KnownHash, Log};
use super::ready::Listener;
use super::timespec::timespec;

const BUFFER: usize = 256 << 10;
/// How long a stream is drained after every process of the child is gone. Only an unrelated process can
/// still hold it open then.
const DRAIN: Duration = Duration::from_millis(300);

/// The result of one stream.
#[derive(Debug, Default, Serialize)]
pub struct LogOutcome {
    /// Bytes the child wrote.
    pub bytes: u64,
    /// Why the log has less than that, if it does.
    pub log_error: Option<String>,
    /// The log's size, time of change and hash.
    #[serde(skip)]
    pub hash: Option<KnownHash>,
    /// The log ran out of disk space.
    #[serde(skip)]
    pub disk_full: bool,
    /// What was captured, for a child whose output is not logged.
    #[serde(skip)]
    pub captured: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum Keep {
    Log(Log),
    Memory { limit: usize },
}

pub(super) struct Pump {
    pub(super) source: OwnedFd,
    /// Where the stream is shown.
    pub(super) sink: Option<OwnedFd>,
    pub(super) keep: Keep,
    /// Who waits for a text in it.
    pub(super) listener: Option<Listener>,
    /// The source is a terminal, which writes `\r\n` where the child wrote `\n`.
    pub(super) from_terminal: bool,
    /// A `\r` at the end of the last read, held back until it is known what follows.
    pub(super) held_return: bool,
    /// Hangs up when every process of the child is gone.
    pub(super) over: OwnedFd,
}

impl Pump {
    pub(super) fn run(mut self) -> LogOutcome {
        let mut outcome = LogOutcome::default();
        let mut buffer = vec![0; BUFFER];
        let mut deadline = None;
        loop {
            match rustix::io::read(&self.source, &mut buffer) {
                // A pty whose last writer has gone answers EIO.
                Ok(0) | Err(Errno::IO) => break,
                Ok(read) => self.take(&mut buffer, read, &mut outcome),
                Err(Errno::AGAIN) => {
                    if !self.wait(&mut deadline) {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    outcome.log_error.get_or_insert(format!("cannot read the stream: {error}"));
                    break;
                }
            }
        }
        self.finish(&mut outcome);
        outcome
    }

    /// Waits for data. False when there will be none.
    fn wait(&self, deadline: &mut Option<Instant>) -> bool {
        let timeout =
            deadline.map(|deadline: Instant| timespec(deadline.saturating_duration_since(Instant::now())));
        let mut watched = vec![PollFd::from_borrowed_fd(self.source.as_fd(), PollFlags::IN)];
        if deadline.is_none() {
            watched.push(PollFd::from_borrowed_fd(self.over.as_fd(), PollFlags::IN));
        }
        let ready = poll(&mut watched, timeout.as_ref());
        if watched.get(1).is_some_and(|over| !over.revents().is_empty()) {
            *deadline = Some(Instant::now() + DRAIN);
            return true;
        }
        !matches!(ready, Ok(0))
    }

    fn take(&mut self, buffer: &mut Vec<u8>, length: usize, outcome: &mut LogOutcome) {
        let bytes = &buffer[..length];
        outcome.bytes += length as u64;
        if let Some(listener) = &mut self.listener {
            listener.hear(bytes);
        }
        if let Some(sink) = &self.sink
            && write_all(sink, bytes).is_err()
        {
            self.sink = None;
        }
        match &self.keep {
            Keep::Memory { limit } => {
                let room = limit.saturating_sub(outcome.captured.len());
                outcome.captured.extend_from_slice(&bytes[..length.min(room)]);
            }
            Keep::Log(log) if self.from_terminal => {
                let mut plain = Vec::with_capacity(length + 1);
                if std::mem::take(&mut self.held_return) && bytes.first() != Some(&b'\n') {
                    plain.push(b'\r');
                }
                let bytes = match bytes.split_last() {
                    Some((b'\r', rest)) => {
                        self.held_return = true;
                        rest
                    }
                    _ => bytes,
                };
                without_terminal_returns(bytes, &mut plain);
                let length = plain.len();
                log.take(&mut plain, length);
            }
            Keep::Log(log) => {
                log.take(buffer, length);
                buffer.resize(BUFFER, 0);
            }
        }
    }

    fn finish(self, outcome: &mut LogOutcome) {
        let Keep::Log(log) = self.keep else { return };
        if self.held_return {
            log.take(&mut vec![b'\r'], 1);
        }
        let written = log.finish();
        if written.error.is_some() {
            outcome.log_error = written.error;
            outcome.disk_full = written.disk_full;
        }
        outcome.hash = written.hash;
    }
}

/// Writes everything, even if the descriptor was made non-blocking.
fn write_all(sink: &OwnedFd, mut bytes: &[u8]) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(sink, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let mut watched = [PollFd::from_borrowed_fd(sink.as_fd(), PollFlags::OUT)];
                let _ = poll(&mut watched, None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Turns `\r\n` into `\n`.
fn without_terminal_returns(bytes: &[u8], plain: &mut Vec<u8>) {
    for (at, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            plain.push(*byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_returns_go_and_bare_ones_stay() {
        let mut plain = Vec::new();
        without_terminal_returns(b"a\r\nb\rc\r\r\n\r", &mut plain);
        assert_eq!(plain, b"a\nb\rc\r\n\r");
    }
}
