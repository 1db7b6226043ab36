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
    #[error("no result in `{}` can be read: {what}\nhint: copy the file again from where it was captured, or capture it again", path.display())]
    Broken { path: PathBuf, what: String },
}
