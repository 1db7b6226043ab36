//! Files that are complete or absent: written under a temporary name, then renamed.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::place::{Place, folder_of, must_be_plain};

/// The name of a file until it is complete.
pub const UNFINISHED: &str = ".writing-";
const BUFFER: usize = 256 << 10;

/// Files that are being written, to clean up if we must end in the middle of one.
static BEING_WRITTEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    BEING_WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    Owner,
    /// As the user's `umask` has it.
    Usual,
}

/// Whether a file must survive a crash of the machine: the manifest and its verdicts, which `resume` and
/// the report need. The rest can be made again from the captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    Yes,
    No,
}

/// Replaces what has this name, which is ours. Readers see the old file or the new one. A failed write leaves nothing
/// behind.
/// A durable file is renamed only once it is on disk: otherwise a crash may keep the new name and lose its
/// contents. The folder holds the name.
pub fn write_whole(
    path: &Path,
    readers: Readers,
    durable: Durable,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, Unfinished::create(path, readers)?);
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.finish(durable)
}

/// Writes to a path that a user gave. A file is replaced as a whole, at the end of all links; what is written to a device
/// or a pipe reaches it.
pub fn write_named(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, Named::create(path)?);
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}

/// A file of ours in a folder that a user gave: whatever else has its name stays, and is an error.
pub fn write_plain(
    path: &Path,
    durable: Durable,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    must_be_plain(path)?;
    write_whole(path, Readers::Usual, durable, write)
}

/// What [`write_named`] writes to, for whoever writes over a longer time. Dropped before it is finished, it leaves no file.
#[derive(Debug)]
pub struct Named(Form);

#[derive(Debug)]
enum Form {
    File(Unfinished),
    Stream(File),
}

impl Named {
    pub fn create(path: &Path) -> io::Result<Self> {
        let place = Place::of(path)?;
        Ok(Self(match place.stream()? {
            Some(stream) => Form::Stream(stream),
            None => Form::File(Unfinished::create(place.path(), Readers::Usual)?),
        }))
    }

    /// Nobody sees anything of it before it is finished.
    pub fn is_file(&self) -> bool {
        matches!(self.0, Form::File(_))
    }

    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Form::File(file) => file.finish(Durable::No),
            Form::Stream(mut stream) => stream.flush(),
        }
    }
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Form::File(file) => file.write(bytes),
            Form::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Form::File(file) => file.flush(),
            Form::Stream(stream) => stream.flush(),
        }
    }
}

/// A file that gets its name when it is finished.
#[derive(Debug)]
struct Unfinished {
    // Removed before it leaves the list.
    file: NamedTempFile,
    _listed: Listed,
    path: PathBuf,
}

impl Unfinished {
    fn create(path: &Path, readers: Readers) -> io::Result<Self> {
        let mode = if readers == Readers::Owner { 0o600 } else { 0o666 };
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED).permissions(Permissions::from_mode(mode));
        let (file, listed) = Listed::create(&builder, folder_of(path))?;
        Ok(Self { file, _listed: listed, path: path.to_owned() })
    }

    fn finish(self, durable: Durable) -> io::Result<()> {
        if durable == Durable::Yes {
            self.file.as_file().sync_all()?;
        }
        self.file.persist(&self.path).map_err(|error| error.error)?;
        if durable == Durable::Yes {
            File::open(folder_of(&self.path))?.sync_all().or_else(unless_unsupported)?;
        }
        Ok(())
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Some file systems cannot sync a folder, and do not need to.
fn unless_unsupported(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    }
}

/// Removes half-written files right before the process ends. No other file can be started while this is held.
#[must_use = "a new file may be started once this is dropped"]
pub fn remove_unfinished() -> impl Sized {
    let held = unfinished();
    for path in held.iter() {
        let _ = std::fs::remove_file(path);
    }
    held
}

#[derive(Debug)]
struct Listed(PathBuf);

impl Listed {
    /// A file and its entry in the list, added together.
    fn create(builder: &tempfile::Builder<'_, '_>, folder: &Path) -> io::Result<(NamedTempFile, Self)> {
        let mut held = unfinished();
        let file = builder.tempfile_in(folder)?;
        let path = file.path().to_owned();
        held.insert(path.clone());
        Ok((file, Self(path)))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished().remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::{FileTypeExt, symlink};

    use super::*;

    #[test]
    fn half_of_a_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_whole(&path, Readers::Usual, Durable::No, |out| out.write_all(b"old")).unwrap();
        let half = |out: &mut (dyn Write + Send)| {
            out.write_all(b"new")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        assert!(write_whole(&path, Readers::Usual, Durable::No, half).is_err());
        assert!(write_named(&path, half).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_under_way_can_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let _ = write_whole(&path, Readers::Owner, Durable::No, |out| {
            out.write_all(b"half")?;
            drop(remove_unfinished());
            assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
            Err(io::ErrorKind::Interrupted.into())
        });
        assert!(!path.exists());
    }

    #[test]
    fn a_link_stays_and_its_target_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("shared")).unwrap();
        std::fs::write(at("shared/file"), "old").unwrap();
        symlink("shared/file", at("link")).unwrap();
        write_named(&at("link"), |out| out.write_all(b"new")).unwrap();
        assert!(at("link").is_symlink());
        assert_eq!(std::fs::read(at("shared/file")).unwrap(), b"new");
        // In a folder of ours, and in one in which others may have put things.
        assert_eq!(
            write_plain(&at("link"), Durable::No, |_| Ok(())).unwrap_err().to_string(),
            "it is a link"
        );
        write_whole(&at("link"), Readers::Usual, Durable::No, |out| out.write_all(b"ours")).unwrap();
        assert!(!at("link").is_symlink());
        assert_eq!(std::fs::read(at("shared/file")).unwrap(), b"new");
    }

    #[test]
    fn a_pipe_passes_on_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o600.into(), 0).unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        write_named(&pipe, |out| out.write_all(b"through")).unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
        // What only we have open, at the end of a link.
        let (ours, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&theirs);
        symlink(format!("/proc/self/fd/{number}"), folder.path().join("descriptor")).unwrap();
        write_named(&folder.path().join("descriptor"), |out| out.write_all(b"as well")).unwrap();
        drop(theirs);
        let mut text = String::new();
        File::from(ours).read_to_string(&mut text).unwrap();
        assert_eq!(text, "as well");
    }
}
