//! Writes the files of a run: through the redactor, atomically, and with a
//! reserve that lets the last manifest be written on a full disk.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::manifest::MANIFEST;
use crate::secrets::Redactor;

/// Given up when the disk is full, so that what is known can still be written.
const RESERVE: &str = ".reserve";
const RESERVE_BYTES: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("the disk is full: cannot write `{}`", path.display())]
    DiskFull { path: PathBuf },
    #[error("cannot write `{}`: {source}", path.display())]
    Other { path: PathBuf, source: io::Error },
}

impl WriteError {
    pub(crate) fn new(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path: path.to_owned() }
            }
            _ => Self::Other { path: path.to_owned(), source },
        }
    }
}

/// No space, or none that this user may have.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

#[derive(Debug)]
pub struct Files {
    root: PathBuf,
    pub redactor: Redactor,
}

impl Files {
    pub fn new(root: PathBuf, redactor: Redactor) -> Self {
        Self { root, redactor }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Sets space aside for the end.
    pub fn reserve(&self) -> Result<(), WriteError> {
        let path = self.path(RESERVE);
        std::fs::write(&path, vec![0; RESERVE_BYTES]).map_err(|error| WriteError::new(&path, error))
    }

    pub fn release_reserve(&self) {
        let _ = std::fs::remove_file(self.path(RESERVE));
    }

    pub fn folder(&self, relative: &str) -> Result<PathBuf, WriteError> {
        let path = self.path(relative);
        std::fs::create_dir_all(&path).map_err(|error| WriteError::new(&path, error))?;
        Ok(path)
    }

    /// Secrets are masked in every string of the document.
    pub fn json<T: Serialize>(&self, relative: &str, document: &T) -> Result<(), WriteError> {
        let path = self.path(relative);
        let other = |error: serde_json::Error| WriteError::Other { path: path.clone(), source: error.into() };
        let mut document = serde_json::to_value(document).map_err(other)?;
        self.redactor.document(&mut document);
        let mut text = serde_json::to_string_pretty(&document).map_err(other)?;
        text.push('\n');
        self.write(relative, text.as_bytes())
    }

    /// The manifest masks its own free text: its names and states must stay readable.
    pub fn manifest(&self, manifest: &super::manifest::Manifest) -> Result<(), WriteError> {
        let path = self.path(MANIFEST);
        let text = serde_json::to_string_pretty(&manifest.masked(&self.redactor));
        let text = text.map_err(|error| WriteError::Other { path, source: error.into() })?;
        self.write_with(MANIFEST, format!("{text}\n").as_bytes(), Durable::Yes)
    }

    /// Secrets are masked in the text.
    pub fn text(&self, relative: &str, text: &str) -> Result<(), WriteError> {
        self.write(relative, self.redactor.text(text).as_bytes())
    }

    /// Text in which nothing is left to mask.
    pub fn masked(&self, relative: &str, text: &str) -> Result<(), WriteError> {
        self.write(relative, text.as_bytes())
    }

    /// All or nothing: a reader sees the old file or the new one.
    fn write(&self, relative: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.write_with(relative, bytes, Durable::No)
    }

    fn write_with(&self, relative: &str, bytes: &[u8], durable: Durable) -> Result<(), WriteError> {
        let path = self.path(relative);
        match replace(&path, bytes, durable) {
            Err(error) if is_full(&error) => {
                self.release_reserve();
                replace(&path, bytes, durable)
            }
            result => result,
        }
        .map_err(|error| WriteError::new(&path, error))
    }
}

/// Whether a file must outlive the machine: the manifest and the verdicts in it, by which a run is
/// resumed and judged. The rest can be made again from the captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durable {
    Yes,
    No,
}

/// The name is given last, when all of the file is on the disk: otherwise a machine that fails may
/// keep the new name and lose what it stands for. The folder holds the name.
fn replace(path: &Path, bytes: &[u8], durable: Durable) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    if durable == Durable::Yes {
        file.as_file().sync_all()?;
    }
    file.persist(path).map_err(|error| error.error)?;
    if durable == Durable::Yes {
        std::fs::File::open(folder)?.sync_all().or_else(unless_unsupported)?;
    }
    Ok(())
}

/// Some file systems cannot flush a folder, and need not.
fn unless_unsupported(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    }
}
