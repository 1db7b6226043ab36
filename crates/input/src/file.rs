//! One file, opened once.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, SeekFrom, seek};

use crate::error::{InputError, PIPE};

/// A file as it was when it was opened. Links are followed: people link to their traces.
#[derive(Debug)]
pub struct Input {
    file: File,
    path: PathBuf,
    length: u64,
    opened: Version,
}

/// What changes when a file is written to.
type Version = (u64, i64, i64);

impl Input {
    /// Checks before opening: opening a pipe blocks, and opening a device may have side effects. Checks
    /// again afterwards, since the file may have been replaced in between.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let io = |source| InputError::Io { path: path.to_owned(), source };
        must_be_file(path, &std::fs::metadata(path).map_err(io)?)?;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let file =
            OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        must_be_file(path, &metadata)?;
        Ok(Self { file, path: path.to_owned(), length: metadata.len(), opened: version(&metadata) })
    }

    /// A file of a folder that may come from elsewhere: a link out of it is not followed.
    pub fn open_inside(folder: &Path, name: &str) -> Result<Self, InputError> {
        let path = folder.join(name);
        let resolved = |path: &Path| {
            std::fs::canonicalize(path).map_err(|source| InputError::Io { path: path.to_owned(), source })
        };
        let inside = resolved(&path)?.starts_with(resolved(folder)?);
        if inside { Self::open(&path) } else { Err(InputError::Outside { path }) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size when it was opened: data appended later is not read.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether the file was written to since it was opened. Replacing it does not count: the opened file is
    /// still intact.
    pub fn has_changed(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| version(&metadata) != self.opened)
    }

    /// The start of the file, at most `most` bytes.
    pub fn start(&self, most: usize) -> Result<Vec<u8>, InputError> {
        let mut start = Vec::new();
        self.reader().take(most as u64).read_to_end(&mut start).map_err(|source| self.io(source))?;
        Ok(start)
    }

    /// All of the file, from its beginning.
    pub fn reader(&self) -> Reader<'_> {
        Reader { input: self, at: 0 }
    }

    /// Fills `buffer` as far as the file goes, and returns how many bytes that is.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let within = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(within);
        let mut filled = 0;
        while filled < wanted {
            match self.file.read_at(&mut buffer[filled..wanted], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// All data in the file. The hole at the end of a sparse file is not read: the tracer preallocates
    /// space, and a terabyte of zeros needs no memory.
    pub fn whole(&self, most: u64) -> Result<Vec<u8>, InputError> {
        let end = self.written_end();
        if end > most {
            return Err(InputError::TooLarge { path: self.path.clone(), bytes: end, most });
        }
        let mut bytes = Vec::new();
        self.reader().take(end).read_to_end(&mut bytes).map_err(|source| self.io(source))?;
        Ok(bytes)
    }

    /// The same as text.
    pub fn whole_text(&self, most: u64) -> Result<String, InputError> {
        String::from_utf8(self.whole(most)?).map_err(|_| InputError::NotText { path: self.path.clone() })
    }

    /// The end of the last written byte.
    pub fn written_end(&self) -> u64 {
        // No holes: the usual case.
        let allocated =
            self.file.metadata().map_or(u64::MAX, |metadata| metadata.blocks().saturating_mul(512));
        if allocated >= self.length {
            return self.length;
        }
        self.after_last_data().unwrap_or(self.length)
    }

    /// Whether it has holes of hundreds of megabytes.
    pub fn has_large_hole(&self) -> bool {
        const LARGE: u64 = 256 << 20;
        let written = self.file.metadata().map_or(u64::MAX, |metadata| metadata.blocks().saturating_mul(512));
        self.length.saturating_sub(written) > LARGE
    }

    /// Where the next data is from a place on: holes need not be read. None at the end.
    pub fn data_from(&self, at: u64) -> Option<u64> {
        let data = match seek(&self.file, SeekFrom::Data(at)) {
            Ok(data) => Some(data),
            Err(rustix::io::Errno::NXIO) => None,
            // The file system cannot tell.
            Err(_) => Some(at),
        };
        data.filter(|data| *data < self.length)
    }

    /// None if the file system cannot tell.
    fn after_last_data(&self) -> Option<u64> {
        let mut end = 0;
        loop {
            match seek(&self.file, SeekFrom::Data(end)) {
                Ok(data) if data < self.length => end = seek(&self.file, SeekFrom::Hole(data)).ok()?,
                // No data from there on.
                Ok(_) | Err(rustix::io::Errno::NXIO) => return Some(end.min(self.length)),
                Err(_) => return None,
            }
        }
    }

    fn io(&self, source: io::Error) -> InputError {
        InputError::Io { path: self.path.clone(), source }
    }
}

/// Reads a file with its own position: the file's own one is not used.
#[derive(Debug)]
pub struct Reader<'a> {
    input: &'a Input,
    at: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn version(metadata: &Metadata) -> Version {
    (metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

fn must_be_file(path: &Path, metadata: &Metadata) -> Result<(), InputError> {
    match other_kind(metadata.file_type()) {
        None => Ok(()),
        Some(kind) => Err(InputError::NotAFile { path: path.to_owned(), kind }),
    }
}

/// What it is if it is not a plain file.
fn other_kind(kind: FileType) -> Option<&'static str> {
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a folder"),
        () if kind.is_fifo() => Some(PIPE),
        () if kind.is_socket() => Some("a socket"),
        () => Some("a device"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn said(path: &Path) -> String {
        let error = Input::open(path).unwrap_err();
        error.to_string().replace(&path.parent().unwrap().display().to_string(), "/f")
    }

    /// None of these may be waited for.
    #[test]
    fn what_is_no_file_is_said_so() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let fifo = rustix::fs::CWD;
        rustix::fs::mknodat(fifo, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let _listening = UnixListener::bind(at("socket")).unwrap();
        std::fs::create_dir(at("folder.json")).unwrap();
        std::os::unix::fs::symlink(at("loop"), at("loop")).unwrap();
        assert_eq!(
            said(&at("pipe")),
            "`/f/pipe` is a pipe, not a file\nhint: write its output to a file first, and name that file"
        );
        assert_eq!(said(&at("socket")), "`/f/socket` is a socket, not a file");
        assert_eq!(said(&at("folder.json")), "`/f/folder.json` is a folder, not a file");
        assert_eq!(said(Path::new("/dev/zero")), "`/f/zero` is a device, not a file");
        assert_eq!(said(&at("loop")), "`/f/loop` cannot be read");
    }

    #[test]
    fn links_out_of_a_folder_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("run/part")).unwrap();
        for name in ["run/file", "outside"] {
            std::fs::write(at(name), name).unwrap();
        }
        std::os::unix::fs::symlink("../file", at("run/part/inner")).unwrap();
        std::os::unix::fs::symlink("../outside", at("run/out")).unwrap();
        std::os::unix::fs::symlink(at("run"), at("link")).unwrap();
        let read = |folder: &str, name: &str| Input::open_inside(&at(folder), name)?.whole_text(100);
        assert_eq!(read("run", "file").unwrap(), "run/file");
        assert_eq!(read("run", "part/inner").unwrap(), "run/file");
        assert_eq!(read("link", "file").unwrap(), "run/file");
        assert!(matches!(read("run", "out"), Err(InputError::Outside { .. })));
        assert!(read("run", "none").unwrap_err().is_absent());
    }

    #[test]
    fn only_what_was_there_at_the_opening_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("growing");
        std::fs::write(&path, "first").unwrap();
        let input = Input::open(&path).unwrap();
        assert!(!input.has_changed());
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b" second").unwrap();
        assert_eq!(input.whole(100).unwrap(), b"first");
        assert!(input.has_changed());
        // Cut short: what is left is read.
        OpenOptions::new().write(true).open(&path).unwrap().set_len(2).unwrap();
        assert_eq!(input.whole(100).unwrap(), b"fi");
    }

    #[test]
    fn a_file_that_is_replaced_is_read_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("replaced");
        std::fs::write(&path, "old").unwrap();
        let input = Input::open(&path).unwrap();
        std::fs::write(folder.path().join("new"), "another").unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        assert_eq!((input.whole(100).unwrap().as_slice(), input.has_changed()), (&b"old"[..], false));
    }

    #[test]
    fn a_terabyte_of_nothing_needs_no_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        let file = File::create(&path).unwrap();
        file.write_all_at(b"begin", 0).unwrap();
        file.set_len(1 << 40).unwrap();
        let whole = Input::open(&path).unwrap().whole(1 << 20).unwrap();
        assert!(whole.starts_with(b"begin") && whole.len() <= 1 << 20, "{}", whole.len());
        file.write_all_at(b"end", 1 << 39).unwrap();
        let error = Input::open(&path).unwrap().whole(1 << 30).unwrap_err();
        assert!(error.to_string().ends_with("is too large: 512 GB (the limit is 1 GB)"), "{error}");
    }
}
