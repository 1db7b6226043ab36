//! Files that are complete or absent: written under a temporary name, then renamed.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tempfile::NamedTempFile;

/// The name of a file until it is complete.
pub(crate) const UNFINISHED: &str = ".writing-";
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

/// Readers see the old file or the new one. A failed write leaves nothing behind.
/// A durable file is renamed only once it is on disk: otherwise a crash may keep the new name and lose its
/// contents. The folder holds the name.
pub fn write_whole(
    path: &Path,
    readers: Readers,
    durable: Durable,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mode = if readers == Readers::Owner { 0o600 } else { 0o666 };
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED).permissions(Permissions::from_mode(mode));
    let (file, _listed) = Listed::create(&builder, folder)?;
    let mut out = BufWriter::with_capacity(BUFFER, file);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    if durable == Durable::Yes {
        file.as_file().sync_all()?;
    }
    file.persist(path).map_err(|error| error.error)?;
    if durable == Durable::Yes {
        std::fs::File::open(folder)?.sync_all().or_else(unless_unsupported)?;
    }
    Ok(())
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

/// The same for a document that people may read, too.
pub(crate) fn write_json_whole(path: &Path, readers: Readers, document: &impl Serialize) -> io::Result<()> {
    write_whole(path, readers, Durable::No, |out| {
        serde_json::to_writer_pretty(&mut *out, document)?;
        out.write_all(b"\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_whole(&path, Readers::Usual, Durable::No, |out| out.write_all(b"old")).unwrap();
        let failed = write_whole(&path, Readers::Usual, Durable::No, |out| {
            out.write_all(b"new")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err());
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
}
