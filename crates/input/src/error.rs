//! Why a file cannot be read.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("`{}` cannot be read", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("`{}` is {kind}, not a file{}", path.display(), hint(kind))]
    NotAFile { path: PathBuf, kind: &'static str },
    #[error("`{}` is too large: {}", path.display(), above(*bytes, *most))]
    TooLarge { path: PathBuf, bytes: u64, most: u64 },
    #[error("`{}` is a link out of the folder that it is in", path.display())]
    Outside { path: PathBuf },
    #[error("`{}` is UTF-16 text; only UTF-8 is supported\nhint: iconv -f UTF-16 -t UTF-8 {} > \
    utf8.json", path.display(), path.display())]
    Utf16 { path: PathBuf },
    #[error("`{}` is not text: only UTF-8 is supported", path.display())]
    NotText { path: PathBuf },
}

impl InputError {
    /// With the system's error, on one line.
    pub fn with_cause(&self) -> String {
        match self {
            Self::Io { source, .. } => format!("{self}: {source}"),
            _ => self.to_string(),
        }
    }

    /// The same without the path, for those who name it.
    pub fn reason(&self) -> String {
        match self {
            Self::Io { source, .. } => source.to_string(),
            Self::NotAFile { kind, .. } => format!("it is {kind}, not a file{}", hint(kind)),
            Self::TooLarge { bytes, most, .. } => format!("it is too large: {}", above(*bytes, *most)),
            Self::Outside { .. } => "it is a link out of the folder that it is in".to_owned(),
            Self::Utf16 { .. } => "it is UTF-16 text; only UTF-8 is supported".to_owned(),
            Self::NotText { .. } => "it is not text: only UTF-8 is supported".to_owned(),
        }
    }

    /// There is nothing at all.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }
}

fn hint(kind: &str) -> &'static str {
    match kind {
        PIPE => "\nhint: write its output to a file first, and name that file",
        _ => "",
    }
}

/// How much it is, and how much it may be, where the two can be told apart.
fn above(bytes: u64, most: u64) -> String {
    let (found, limit) = (size(bytes), size(most));
    match found == limit {
        true => format!("the limit is {limit}"),
        false => format!("{found} (the limit is {limit})"),
    }
}

/// In the largest unit of which it has one.
fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB"];
    let unit = (0..units.len()).rev().find(|unit| bytes >> (10 * unit) > 0).unwrap_or(0);
    format!("{} {}", bytes >> (10 * unit), units[unit])
}

pub(crate) const PIPE: &str = "a pipe";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_units_that_fit() {
        let told = |bytes: u64, most: u64| InputError::TooLarge { path: "x".into(), bytes, most }.to_string();
        assert_eq!(told(20 << 20, 16 << 20), "`x` is too large: 20 MB (the limit is 16 MB)");
        assert_eq!(told(5000, 4096), "`x` is too large: the limit is 4 kB");
        assert_eq!(told(3 << 30, 4096), "`x` is too large: 3 GB (the limit is 4 kB)");
        assert_eq!(told(1500, 100), "`x` is too large: 1 kB (the limit is 100 B)");
    }
}
