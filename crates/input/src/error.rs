//! Why a file cannot be read.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("`{}` cannot be read", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("`{}` is {kind}, not a file{}", path.display(), hint(kind))]
    NotAFile { path: PathBuf, kind: &'static str },
    #[error("`{}` is too large: {} GB (the limit is {} GB)", path.display(), bytes >> 30, most >> 30)]
    TooLarge { path: PathBuf, bytes: u64, most: u64 },
    #[error("`{}` is UTF-16 text; only UTF-8 is supported\nhint: iconv -f UTF-16 -t UTF-8 {} > \
    utf8.json", path.display(), path.display())]
    Utf16 { path: PathBuf },
}

impl InputError {
    /// With the system's error, on one line.
    pub fn with_cause(&self) -> String {
        match self {
            Self::Io { source, .. } => format!("{self}: {source}"),
            _ => self.to_string(),
        }
    }
}

fn hint(kind: &str) -> &'static str {
    match kind {
        PIPE => "\nhint: write its output to a file first, and analyze that file",
        _ => "",
    }
}

pub(crate) const PIPE: &str = "a pipe";
