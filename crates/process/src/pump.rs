//! Copies one output stream of a child to the terminal and into its log.
//! Reading never stops before the child does: if our own stdout is closed, or the log's disk is full, the
//! rest still flows.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use secrets::StreamScrubber;
use serde::Serialize;

use super::timespec::timespec;

/// The hash of a file that was hashed while it was written.
#[derive(Debug, Clone)]
pub struct KnownHash {
    pub bytes: u64,
    pub modified: SystemTime,
    pub blake3: String,
}

/// No space, or none that this user may have.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

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
    Log { path: PathBuf, file: Box<HashedFile>, scrubber: Box<StreamScrubber> },
    Memory { limit: usize },
}

/// A file that is hashed by a separate thread while it is written: it need not be read again, and the
/// writer does not wait.
#[derive(Debug)]
pub(super) struct HashedFile {
    file: File,
    to_hasher: Option<SyncSender<Vec<u8>>>,
    /// Buffers the hasher is done with.
    spare: Receiver<Vec<u8>>,
    hasher: Option<JoinHandle<String>>,
}

impl HashedFile {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        let (to_hasher, to_hash) = sync_channel::<Vec<u8>>(4);
        let (give_back, spare) = channel();
        let hasher = std::thread::Builder::new().name("hash".to_owned()).spawn(move || {
            let mut hasher = blake3::Hasher::new();
            for bytes in to_hash {
                hasher.update(&bytes);
                // The writer may be gone already.
                let _ = give_back.send(bytes);
            }
            hasher.finalize().to_hex().to_string()
        })?;
        Ok(Self { file, to_hasher: Some(to_hasher), spare, hasher: Some(hasher) })
    }

    /// The hash of everything written.
    fn finish(&mut self) -> Option<KnownHash> {
        drop(self.to_hasher.take());
        let blake3 = self.hasher.take()?.join().ok()?;
        let metadata = self.file.metadata().ok()?;
        Some(KnownHash { bytes: metadata.len(), modified: metadata.modified().ok()?, blake3 })
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        if let Some(to_hasher) = &self.to_hasher {
            let mut copy = self.spare.try_recv().unwrap_or_default();
            copy.clear();
            copy.extend_from_slice(&bytes[..written]);
            // If the hasher is gone, the hash is absent.
            let _ = to_hasher.send(copy);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

pub(super) struct Pump {
    pub(super) source: OwnedFd,
    /// Where the stream is shown.
    pub(super) sink: Option<OwnedFd>,
    pub(super) keep: Keep,
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
                Ok(read) => self.take(&buffer[..read], &mut outcome),
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

    fn take(&mut self, bytes: &[u8], outcome: &mut LogOutcome) {
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
                let mut write = |bytes: &[u8]| scrubber.write(bytes, file.as_mut());
                let mut written = Ok(());
                let mut bytes: &[u8] = bytes;
                let plain;
                if self.from_terminal {
                    if std::mem::take(&mut self.held_return) && bytes.first() != Some(&b'\n') {
                        written = write(b"\r");
                    }
                    if let Some((b'\r', rest)) = bytes.split_last() {
                        self.held_return = true;
                        bytes = rest;
                    }
                    plain = without_terminal_returns(bytes);
                    bytes = &plain;
                }
                note(written.and_then(|()| write(bytes)), path, outcome);
            }
            Keep::Log { .. } => {}
        }
    }

    fn finish(&mut self, outcome: &mut LogOutcome) {
        let Keep::Log { path, file, scrubber } = &mut self.keep else { return };
        if std::mem::take(&mut self.held_return) && outcome.log_error.is_none() {
            let written = scrubber.write(b"\r", file.as_mut());
            note(written, path, outcome);
        }
        if outcome.log_error.is_none() {
            note(scrubber.finish(file.as_mut()), path, outcome);
        }
        outcome.hash = file.finish();
    }
}

fn note(written: io::Result<()>, path: &Path, outcome: &mut LogOutcome) {
    if let Err(error) = written {
        outcome.disk_full = is_full(&error);
        outcome.log_error = Some(format!("{} is incomplete: {error}", path.display()));
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
fn without_terminal_returns(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            plain.push(*byte);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_returns_go_and_bare_ones_stay() {
        assert_eq!(without_terminal_returns(b"a\r\nb\rc\r\r\n\r"), b"a\nb\rc\r\n\r");
    }
}
