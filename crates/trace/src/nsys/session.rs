//! Several exports of one run of the program: `--capture-range-end=repeat` leaves one a
//! capture.

use std::path::PathBuf;

use super::error::NsysError;
use super::read::read_nsys_within;
use crate::extent::Budget;
use crate::model::Trace;

/// Reads the exports of one run, in order, as one trace with a window for each. One export
/// alone has been recorded in one piece.
pub fn read_nsys_session(paths: &[PathBuf], budget: Budget) -> Result<Trace, NsysError> {
    let mut all: Option<Trace> = None;
    let sizes: Vec<u64> = paths.iter().map(|path| path.metadata().map_or(0, |file| file.len())).collect();
    for (path, size) in paths.iter().zip(&sizes) {
        let share = budget.share(*size, sizes.iter().sum());
        let trace = read_nsys_within(path, share)?;
        match &mut all {
            None => all = Some(trace),
            Some(all) => all.continue_with(trace),
        }
    }
    Ok(all.unwrap_or_default())
}
