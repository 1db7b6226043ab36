//! Several exports of one run of the program: `--capture-range-end=repeat` leaves one a
//! capture.

use std::path::PathBuf;

use super::error::NsysError;
use super::read::read_nsys;
use crate::model::Trace;

/// Reads the exports of one run, in order, as one trace with a window for each. One export
/// alone has been recorded in one piece.
pub fn read_nsys_session(paths: &[PathBuf]) -> Result<Trace, NsysError> {
    let mut all: Option<Trace> = None;
    for path in paths {
        let trace = read_nsys(path)?;
        match &mut all {
            None => all = Some(trace),
            Some(all) => all.continue_with(trace),
        }
    }
    Ok(all.unwrap_or_default())
}
