//! Where the files of a dataset lie: a folder for each table, in it one for each day, in it a file for each run or rank.

use std::fmt;
use std::path::{Path, PathBuf};

/// Raised when a query that was right before would be answered wrong: a column that changes its meaning or is removed. New
/// columns and tables can appear at any time.
pub const SCHEMA: u32 = 1;

/// In every file's metadata.
pub const SCHEMA_KEY: &str = "rangefinder.schema";
pub const TABLE_KEY: &str = "rangefinder.table";

/// What makes a folder a dataset.
pub const MARKER: &str = "rangefinder-dataset";

const FIRST_LINE: &str = "Rangefinder dataset, schema ";

/// The text of the marker.
pub fn marker() -> String {
    format!("{FIRST_LINE}{SCHEMA}\n")
}

const COMPACTED: &str = "compacted";

/// The same of a copy in which files of many runs are one: runs are not added to it.
pub fn compacted_marker() -> String {
    format!("{}{COMPACTED}\n", marker())
}

/// Why a folder is no dataset that can be added to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutError {
    /// The marker has another text.
    NoMarker,
    Schema(u32),
    Compacted,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMarker => write!(out, "its file `{MARKER}` is damaged"),
            Self::Compacted => {
                write!(out, "it is a compacted copy of another, to which runs are added instead")
            }
            Self::Schema(other) if *other > SCHEMA => {
                write!(out, "it was written by a newer Rangefinder (schema {other}; this one knows {SCHEMA})")
            }
            Self::Schema(other) => {
                write!(
                    out,
                    "it was written by an older Rangefinder (schema {other}; this one knows {SCHEMA})"
                )
            }
        }
    }
}

/// Whether files can be added to a dataset with this marker.
pub fn understood(marker: &str) -> Result<(), LayoutError> {
    understood_by_readers(marker)?;
    match marker.lines().any(|line| line == COMPACTED) {
        true => Err(LayoutError::Compacted),
        false => Ok(()),
    }
}

/// Whether it can be read.
pub fn understood_by_readers(marker: &str) -> Result<(), LayoutError> {
    let schema = marker.strip_prefix(FIRST_LINE).and_then(|rest| rest.lines().next()?.trim().parse().ok());
    match schema {
        Some(SCHEMA) => Ok(()),
        Some(other) => Err(LayoutError::Schema(other)),
        None => Err(LayoutError::NoMarker),
    }
}

/// `DATASET/launches/date=2026-01-02`
pub fn folder_of(dataset: &Path, table: &str, date: &str) -> PathBuf {
    dataset.join(table).join(format!("date={date}"))
}

/// `DATASET/launches/date=2026-01-02/RUN.parquet`, or `RUN.rank-3.parquet`
pub fn file_of(dataset: &Path, table: &str, date: &str, run: &str, rank: Option<u32>) -> PathBuf {
    let rank = rank.map(|rank| format!(".rank-{rank}")).unwrap_or_default();
    folder_of(dataset, table, date).join(format!("{run}{rank}.parquet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers() {
        assert_eq!(understood(&marker()), Ok(()));
        assert_eq!(understood(&compacted_marker()), Err(LayoutError::Compacted));
        assert_eq!(understood_by_readers(&compacted_marker()), Ok(()));
        assert_eq!(understood("Rangefinder dataset, schema 7\n"), Err(LayoutError::Schema(7)));
        assert_eq!(understood("Rangefinder dataset, schema 0"), Err(LayoutError::Schema(0)));
        for other in ["", "x", "Rangefinder dataset, schema ", "Rangefinder dataset, schema one"] {
            assert_eq!(understood(other), Err(LayoutError::NoMarker), "{other}");
        }
    }

    #[test]
    fn files() {
        let file = file_of(Path::new("d"), "runs", "2026-01-02", "a-1", Some(3));
        assert_eq!(file, Path::new("d/runs/date=2026-01-02/a-1.rank-3.parquet"));
    }
}
