//! Writes the files of a run: through the redactor, atomically, and with a
//! reserve that lets the last manifest be written on a full disk.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use process::is_full;
use record::{MANIFEST, Manifest};
use report::{printable_lines, write_json};
use secrets::{Masking, MaskingWriter, Redactor};
use serde::Serialize;

use super::manifest::masked;
use super::masked_json::Masked;
use super::whole::{Durable, Readers, write_whole};

/// Released when the disk is full, so that the last files can still be written.
const RESERVE: &str = ".reserve";
const RESERVE_BYTES: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("the disk is full: cannot write `{}`", path.display())]
    DiskFull { path: PathBuf },
    #[error("`{}` is a file, not a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error("cannot make a run directory in `{}`: {error}\nhint: set `run.dir` to a folder that you can write to", root.display())]
    Root { root: PathBuf, error: io::Error },
    #[error("cannot write `{}`: {error}", path.display())]
    Other { path: PathBuf, error: io::Error },
}

impl WriteError {
    pub(crate) fn new(path: &Path, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path: path.to_owned() }
            }
            _ => Self::Other { path: path.to_owned(), error },
        }
    }

    /// The same, about the folder that all runs are in: the user knows no other.
    pub(crate) fn in_root(root: &Path, error: io::Error) -> Self {
        match Self::new(root, error) {
            Self::Other { path: root, error } => Self::Root { root, error },
            other => other,
        }
    }
}

#[derive(Debug)]
pub struct Files {
    root: PathBuf,
    pub redactor: Redactor,
    readers: Readers,
}

impl Files {
    pub fn new(root: PathBuf, redactor: Redactor) -> Self {
        Self { root, redactor, readers: Readers::Owner }
    }

    /// In a folder that the user named: as readable as other files there.
    pub fn in_the_open(root: PathBuf, redactor: Redactor) -> Self {
        Self { readers: Readers::Usual, ..Self::new(root, redactor) }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Reserves disk space for the last files.
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

    /// Streams the document, with secrets masked in every string.
    pub fn json<T: Serialize + ?Sized>(&self, relative: &str, document: &T) -> Result<(), WriteError> {
        self.unmasked(relative, |out| {
            write_json(document, &Masked(&self.redactor), out)?;
            out.write_all(b"\n")
        })
    }

    /// The manifest masks its own free text: its names and states must stay readable.
    pub fn manifest(&self, manifest: &Manifest) -> Result<(), WriteError> {
        let path = self.path(MANIFEST);
        let text = serde_json::to_string_pretty(&masked(manifest, &self.redactor));
        let text = text.map_err(|error| WriteError::Other { path, error: error.into() })?;
        self.replaced(MANIFEST, Durable::Yes, |out| out.write_all(format!("{text}\n").as_bytes()))
    }

    /// Secrets are masked in the text, and terminal control sequences removed.
    pub fn text(&self, relative: &str, text: &str) -> Result<(), WriteError> {
        self.stream(relative, |out| out.write_all(printable_lines(text).as_bytes()))
    }

    /// Text that is already masked.
    pub fn masked(&self, relative: &str, text: &str) -> Result<(), WriteError> {
        self.write(relative, text.as_bytes())
    }

    /// Streamed text, secrets masked. `make` may be called again if the disk is full.
    pub fn stream(
        &self,
        relative: &str,
        make: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        self.unmasked(relative, |out| {
            let mut masking = MaskingWriter::new(out, &self.redactor, Masking::Stars);
            make(&mut masking)?;
            masking.finish().map(drop)
        })
    }

    /// Streamed output that needs no masking.
    pub fn unmasked(
        &self,
        relative: &str,
        write: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        self.replaced(relative, Durable::No, write)
    }

    fn replaced(
        &self,
        relative: &str,
        durable: Durable,
        write: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let path = self.path(relative);
        match write_whole(&path, self.readers, durable, |out| write(out)) {
            Err(error) if is_full(&error) => {
                self.release_reserve();
                write_whole(&path, self.readers, durable, |out| write(out))
            }
            result => result,
        }
        .map_err(|error| WriteError::new(&path, error))
    }

    fn write(&self, relative: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.unmasked(relative, |out| out.write_all(bytes))
    }
}
