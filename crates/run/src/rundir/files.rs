//! Writes the files of a run: through the redactor, atomically, and with a
//! reserve that lets the last manifest be written on a full disk.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use report::{Strings, printable_lines, write_json};
use serde::Serialize;

use super::manifest::MANIFEST;
use super::whole::{Durable, Readers, write_whole};
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

    /// Secrets are masked in every string of the document, which is written as it is made.
    pub fn json<T: Serialize + ?Sized>(&self, relative: &str, document: &T) -> Result<(), WriteError> {
        self.unmasked(relative, |out| {
            write_json(document, &Masked(&self.redactor), out)?;
            out.write_all(b"\n")
        })
    }

    /// The manifest masks its own free text: its names and states must stay readable.
    pub fn manifest(&self, manifest: &super::manifest::Manifest) -> Result<(), WriteError> {
        let path = self.path(MANIFEST);
        let text = serde_json::to_string_pretty(&manifest.masked(&self.redactor));
        let text = text.map_err(|error| WriteError::Other { path, source: error.into() })?;
        self.replaced(MANIFEST, Durable::Yes, |out| out.write_all(format!("{text}\n").as_bytes()))
    }

    /// Secrets are masked in the text, and nothing in it is a command to a terminal.
    pub fn text(&self, relative: &str, text: &str) -> Result<(), WriteError> {
        self.write(relative, printable_lines(&self.redactor.text(text)).as_bytes())
    }

    /// Text in which nothing is left to mask.
    pub fn masked(&self, relative: &str, text: &str) -> Result<(), WriteError> {
        self.write(relative, text.as_bytes())
    }

    /// Text that is written as it is made. Secrets are masked line by line.
    pub fn lines(
        &self,
        relative: &str,
        write: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        self.unmasked(relative, |out| {
            let mut lines = MaskedLines { redactor: &self.redactor, out, line: Vec::new() };
            write(&mut lines)?;
            lines.finish()
        })
    }

    /// What is written as it is made and has nothing to mask.
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
        match write_whole(&path, Readers::Owner, durable, &write) {
            Err(error) if is_full(&error) => {
                self.release_reserve();
                write_whole(&path, Readers::Owner, durable, &write)
            }
            result => result,
        }
        .map_err(|error| WriteError::new(&path, error))
    }

    fn write(&self, relative: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.unmasked(relative, |out| out.write_all(bytes))
    }
}

/// Strings of a document: whole values under secret names, else what is secret inside them.
struct Masked<'a>(&'a Redactor);

impl Strings for Masked<'_> {
    fn value(&self, field: Option<&str>, text: String) -> String {
        match field {
            Some(name) => self.0.named(name, &text),
            None => self.0.text(&text),
        }
    }
}

struct MaskedLines<'a> {
    redactor: &'a Redactor,
    out: &'a mut dyn Write,
    line: Vec<u8>,
}

impl MaskedLines<'_> {
    fn finish(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.out.write_all(self.redactor.text(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl Write for MaskedLines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&rest[..=end]);
            self.finish()?;
            rest = &rest[end + 1..];
        }
        self.line.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
