//! Writes the files of a run: through the redactor, atomically, and with a
//! reserve that lets the last manifest be written on a full disk.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::manifest::MANIFEST;
use crate::secrets::{Masking, MaskingWriter, Redactor};

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
    /// Permissions of what is written, as far as the umask allows.
    mode: u32,
}

impl Files {
    pub fn new(root: PathBuf, redactor: Redactor) -> Self {
        Self { root, redactor, mode: 0o600 }
    }

    /// In a folder that the user named: as readable as other files there.
    pub fn in_the_open(root: PathBuf, redactor: Redactor) -> Self {
        Self { mode: 0o666, ..Self::new(root, redactor) }
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
        self.write(MANIFEST, format!("{text}\n").as_bytes())
    }

    /// Secrets are masked in the text.
    pub fn text(&self, relative: &str, text: &str) -> Result<(), WriteError> {
        self.stream(relative, |file| file.write_all(text.as_bytes()))
    }

    /// Text in which nothing is left to mask.
    pub fn masked(&self, relative: &str, text: &str) -> Result<(), WriteError> {
        self.write(relative, text.as_bytes())
    }

    /// A text as it is made: all of it or nothing, its secrets masked. `make` may be
    /// called again when the disk is full.
    pub fn stream(
        &self,
        relative: &str,
        make: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        self.replace(relative, |file| {
            let mut masking = MaskingWriter::new(io::BufWriter::new(file), &self.redactor, Masking::Stars);
            make(&mut masking)?;
            masking.finish().map(drop)
        })
    }

    fn write(&self, relative: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.replace(relative, |file| file.write_all(bytes))
    }

    /// All or nothing: a reader sees the old file or the new one.
    fn replace(
        &self,
        relative: &str,
        fill: impl Fn(&mut std::fs::File) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let path = self.path(relative);
        match replace(&path, self.mode, &fill) {
            Err(error) if is_full(&error) => {
                self.release_reserve();
                replace(&path, self.mode, &fill)
            }
            result => result,
        }
        .map_err(|error| WriteError::new(&path, error))
    }
}

fn replace(path: &Path, mode: u32, fill: impl Fn(&mut std::fs::File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let permissions = std::fs::Permissions::from_mode(mode);
    let mut file =
        tempfile::Builder::new().prefix(".writing-").permissions(permissions).tempfile_in(folder)?;
    fill(file.as_file_mut())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
