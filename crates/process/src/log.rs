//! The log of one output stream.
//!
//! One thread masks secrets and writes the file, another hashes it. So the thread that reads the
//! child's output only hands buffers over, and the child waits only when the disk cannot keep up.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

use secrets::StreamScrubber;

/// Buffers on their way to the file.
const MOST_WAITING: usize = 4;

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

/// What became of the file.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Why it holds less than it was given, if it does.
    pub(super) error: Option<String>,
    pub(super) disk_full: bool,
    pub(super) hash: Option<KnownHash>,
}

/// A buffer of which so many bytes are meant.
type Filled = (Vec<u8>, usize);

#[derive(Debug)]
pub(super) struct Log {
    to_writer: SyncSender<Filled>,
    /// Buffers the writer is done with.
    spare: Receiver<Vec<u8>>,
    writer: JoinHandle<Written>,
}

impl Log {
    pub(super) fn create(path: &Path, scrubber: StreamScrubber) -> io::Result<Self> {
        let file = Hashed::create(path)?;
        let (to_writer, filled) = sync_channel(MOST_WAITING);
        let (give_back, spare) = channel();
        let path = path.to_owned();
        let writer = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write_all(&filled, &give_back, file, scrubber, &path))?;
        Ok(Self { to_writer, spare, writer })
    }

    /// Takes the first bytes of a buffer, and leaves another in its place, which may be empty.
    pub(super) fn take(&self, buffer: &mut Vec<u8>, length: usize) {
        let full = std::mem::replace(buffer, self.spare.try_recv().unwrap_or_default());
        // A writer that is gone shows as an absent hash.
        let _ = self.to_writer.send((full, length));
    }

    /// Waits until everything is written.
    pub(super) fn finish(self) -> Written {
        drop(self.to_writer);
        self.writer.join().unwrap_or_default()
    }
}

fn write_all(
    filled: &Receiver<Filled>,
    give_back: &Sender<Vec<u8>>,
    mut file: Hashed,
    mut scrubber: StreamScrubber,
    path: &Path,
) -> Written {
    let mut written = Written::default();
    let note = |result: io::Result<()>, written: &mut Written| {
        if let Err(error) = result {
            written.disk_full = is_full(&error);
            written.error = Some(format!("{} is incomplete: {error}", path.display()));
        }
    };
    for (buffer, length) in filled {
        // What comes after an error is dropped, so that nobody waits for us.
        if written.error.is_none() {
            note(scrubber.write(&buffer[..length], &mut file), &mut written);
        }
        // The reader may be gone already.
        let _ = give_back.send(buffer);
    }
    if written.error.is_none() {
        note(scrubber.finish(&mut file), &mut written);
    }
    written.hash = file.hash();
    written
}

/// A file that is hashed while it is written: nobody has to read it again.
struct Hashed {
    file: File,
    to_hasher: SyncSender<Vec<u8>>,
    /// Buffers the hasher is done with.
    spare: Receiver<Vec<u8>>,
    hasher: JoinHandle<String>,
}

impl Hashed {
    fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        let (to_hasher, to_hash) = sync_channel::<Vec<u8>>(MOST_WAITING);
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
        Ok(Self { file, to_hasher, spare, hasher })
    }

    /// The hash of everything written.
    fn hash(self) -> Option<KnownHash> {
        drop(self.to_hasher);
        let blake3 = self.hasher.join().ok()?;
        let metadata = self.file.metadata().ok()?;
        Some(KnownHash { bytes: metadata.len(), modified: metadata.modified().ok()?, blake3 })
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        let mut copy = self.spare.try_recv().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(&bytes[..written]);
        // A hasher that is gone shows as an absent hash.
        let _ = self.to_hasher.send(copy);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
