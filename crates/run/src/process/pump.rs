//! Moves one output stream of a child to where it is shown and into its log.
//!
//! Reading never stops before the child does: when nobody reads our own stdout
//! any more, or the log's disk is full, the rest still flows.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::Serialize;

use crate::secrets::StreamScrubber;

const BUFFER: usize = 256 << 10;
/// How long a stream is drained after every process of the child is gone. Only
/// someone outside its family can still hold it open then.
const DRAIN: Duration = Duration::from_millis(300);

/// What became of one stream.
#[derive(Debug, Default, Serialize)]
pub struct LogOutcome {
    /// Bytes the child wrote.
    pub bytes: u64,
    /// Why the log holds less than that, if it does.
    pub log_error: Option<String>,
    /// The log ran out of disk space.
    #[serde(skip)]
    pub disk_full: bool,
    /// What was captured, for a child whose output is not logged.
    #[serde(skip)]
    pub captured: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum Keep {
    Log { path: PathBuf, file: File, scrubber: Option<StreamScrubber> },
    Memory { limit: usize },
}

pub(super) struct Pump {
    pub(super) source: OwnedFd,
    /// Where the stream is shown.
    pub(super) sink: Option<OwnedFd>,
    pub(super) keep: Keep,
    /// The source is a terminal, which writes `\r\n` where the child wrote `\n`.
    pub(super) from_terminal: bool,
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
                Ok(read) => self.take(&mut buffer[..read], &mut outcome),
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
        let timeout = deadline.map(|deadline: Instant| {
            let left = deadline.saturating_duration_since(Instant::now());
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
        });
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

    fn take(&mut self, bytes: &mut [u8], outcome: &mut LogOutcome) {
        outcome.bytes += bytes.len() as u64;
        if let Some(sink) = &self.sink
            && write_all(sink, bytes).is_err()
        {
            self.sink = None;
        }
        match &mut self.keep {
            Keep::Memory { limit } => {
                let room = limit.saturating_sub(outcome.captured.len());
                outcome.captured.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Keep::Log { path, file, scrubber } if outcome.log_error.is_none() => {
                let bytes = if self.from_terminal { without_terminal_returns(bytes) } else { bytes };
                let written = match scrubber {
                    Some(scrubber) => scrubber.write(bytes, file),
                    None => file.write_all(bytes),
                };
                note(written, path, outcome);
            }
            Keep::Log { .. } => {}
        }
    }

    fn finish(&mut self, outcome: &mut LogOutcome) {
        if let Keep::Log { path, file, scrubber: Some(scrubber) } = &mut self.keep
            && outcome.log_error.is_none()
        {
            note(scrubber.finish(file), path, outcome);
        }
    }
}

fn note(written: io::Result<()>, path: &std::path::Path, outcome: &mut LogOutcome) {
    if let Err(error) = written {
        outcome.disk_full = error.kind() == io::ErrorKind::StorageFull;
        outcome.log_error = Some(format!("{} is incomplete: {error}", path.display()));
    }
}

/// Writes everything, also to a descriptor that someone made non-blocking.
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

/// Turns `\r\n` into `\n` in place.
fn without_terminal_returns(bytes: &mut [u8]) -> &[u8] {
    let mut length = 0;
    for at in 0..bytes.len() {
        if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
            continue;
        }
        bytes[length] = bytes[at];
        length += 1;
    }
    &bytes[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_returns_go_and_bare_ones_stay() {
        let mut bytes = *b"a\r\nb\rc\r\r\n\r";
        assert_eq!(without_terminal_returns(&mut bytes), b"a\nb\rc\r\n\r");
    }
}
