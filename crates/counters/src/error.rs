//! Why there is no report.

use std::path::PathBuf;

use input::InputError;

#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("`{}` is empty: ncu ended before it wrote anything", path.display())]
    Empty { path: PathBuf },
    #[error("`{}` is no report of ncu: it does not begin with `NVR`", path.display())]
    NotAReport { path: PathBuf },
    #[error("`{}` is no CSV of ncu: {what}\nhint: ncu --import report.ncu-rep --csv --page raw --print-units base", path.display())]
    NotACsv { path: PathBuf, what: String },
    #[error("`{}` holds no counters: it is neither a report of ncu nor a CSV printed by it\nhint: give a `.ncu-rep`, or what ncu --import report.ncu-rep --csv --page raw prints", path.display())]
    Unknown { path: PathBuf },
    /// Not a single result could be read.
    #[error("`{}` is broken at byte {at}: {what}, and no result comes before\nhint: capture it again, or copy it again from where it was captured", path.display())]
    Broken { path: PathBuf, at: u64, what: String },
}
