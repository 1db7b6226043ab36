//! Writes the files of a run: through the redactor, atomically, and with a
//! reserve that lets the last manifest be written on a full disk.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use output::{Durable, Readers, stays_inside, write_plain, write_whole};
use process::is_full;
use record::{MANIFEST, Manifest};
use report::{printable_lines, write_json};
use secrets::{Masking, MaskingWriter, Redactor};
use serde::Serialize;

use super::manifest::masked;
use super::masked_json::Masked;

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
    #[error(
        "`{}` is no longer the folder that it was: it was moved or removed, or something else has its name; nothing more is written there",
        root.display()
    )]
    Gone { root: PathBuf },
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

#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
    pub redactor: Redactor,
    owner: Owner,
}

/// Whose folder it is.
#[derive(Debug, Clone)]
enum Owner {
    /// Ours: nobody else reads it, and what has the name of a file is replaced. Held open, so that it can be told from
    /// another one in its place.
    Us(Option<Arc<File>>),
    /// A folder that the user named. It may have something else where a file is to be written.
    User,
}

impl Files {
    pub fn new(root: PathBuf, redactor: Redactor) -> Self {
        let held = File::open(&root).ok().map(Arc::new);
        Self { root, redactor, owner: Owner::Us(held) }
    }

    /// In a folder that the user named: as readable as other files there.
    pub fn in_the_open(root: PathBuf, redactor: Redactor) -> Self {
        Self { root, redactor, owner: Owner::User }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// An error if a run directory was exchanged for something else since it was opened.
    pub(crate) fn is_there(&self) -> Result<(), WriteError> {
        let Owner::Us(Some(held)) = &self.owner else { return Ok(()) };
        let which = |found: std::fs::Metadata| (found.dev(), found.ino());
        match (held.metadata().map(which), std::fs::metadata(&self.root).map(which)) {
            (Ok(held), Ok(there)) if held == there => Ok(()),
            _ => Err(WriteError::Gone { root: self.root.clone() }),
        }
    }

    /// Reserves disk space for the last files.
    pub fn reserve(&self) -> Result<(), WriteError> {
        self.unmasked(RESERVE, |out| out.write_all(&vec![0; RESERVE_BYTES]))
    }

    pub fn release_reserve(&self) {
        if self.is_there().is_ok() {
            let _ = std::fs::remove_file(self.path(RESERVE));
        }
    }

    pub fn folder(&self, relative: &str) -> Result<PathBuf, WriteError> {
        self.is_there()?;
        let path = self.path(relative);
        stays_inside(&self.root, &path.join("file"))
            .and_then(|()| std::fs::create_dir_all(&path))
            .map_err(|error| WriteError::new(&path, error))?;
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
        self.is_there()?;
        match self.whole(&path, durable, &write) {
            Err(error) if is_full(&error) => {
                self.release_reserve();
                self.whole(&path, durable, &write)
            }
            result => result,
        }
        .map_err(|error| WriteError::new(&path, error))
    }

    fn whole(
        &self,
        path: &Path,
        durable: Durable,
        write: &impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        stays_inside(&self.root, path)?;
        match self.owner {
            Owner::Us(_) => write_whole(path, Readers::Owner, durable, |out| write(out)),
            Owner::User => write_plain(path, durable, |out| write(out)),
        }
    }

    /// A file below the folder, by its path; its contents need no masking.
    pub fn bytes(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.is_there().map_err(io::Error::other)?;
        self.whole(path, Durable::No, &|out: &mut dyn Write| out.write_all(bytes))
    }

    fn write(&self, relative: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.unmasked(relative, |out| out.write_all(bytes))
    }
}

/// A document that needs no masking, for us alone.
pub(crate) fn write_json_whole(path: &Path, document: &impl Serialize) -> io::Result<()> {
    write_whole(path, Readers::Owner, Durable::No, |out| json_lines(out, document))
}

/// A document as people may read it, too.
pub(crate) fn json_lines(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}
