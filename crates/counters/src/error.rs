//! Why there is no report.

use std::path::PathBuf;

use input::InputError;

#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("`{}` is empty: ncu ended before it wrote anything", path.display())]
    Empty { path: PathBuf },
    #[error("`{}` is not an ncu report: it does not start with `NVR`", path.display())]
    NotAReport { path: PathBuf },
    #[error("`{}` is not a CSV from ncu: {what}\nhint: ncu --import report.ncu-rep --csv --page raw --print-units base", path.display())]
    NotACsv { path: PathBuf, what: String },
    #[error("`{}` has no counters: it is neither an ncu report nor a CSV from ncu\nhint: pass a `.ncu-rep`, or the output of ncu --import report.ncu-rep --csv --page raw", path.display())]
    Unknown { path: PathBuf },
    /// Not a single result could be read.
    #[error("`{}` is broken at byte {at}: {what}; no results could be recovered\nhint: capture it again, or copy it again from where it was captured", path.display())]
    Broken { path: PathBuf, at: u64, what: String },
}
