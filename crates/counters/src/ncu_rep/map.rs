//! The one place that maps a file into memory.

use std::fs::File;
use std::path::Path;

use crate::error::CountersError;
use crate::model::Report;
use crate::ncu_rep::read_ncu_report_bytes;

/// Mapped, not read: most of a report is CUDA modules that nobody looks at.
pub fn read_ncu_report(path: &Path) -> Result<Report, CountersError> {
    let io = |source| CountersError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() == 0 {
        return Err(CountersError::Empty { path: path.to_owned() });
    }
    let bytes = map(&file).map_err(io)?;
    read_ncu_report_bytes(&bytes, path)
}

#[allow(
    unsafe_code,
    reason = "a file cut short while it is mapped stops the program; ncu writes a report once, before we open it"
)]
fn map(file: &File) -> std::io::Result<memmap2::Mmap> {
    // SAFETY: nothing read from the map outlives it, and no value of it is trusted twice.
    unsafe { memmap2::Mmap::map(file) }
}
