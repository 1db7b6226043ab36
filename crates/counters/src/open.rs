//! Any file that holds counters, told by what is in it.

use std::io::Read;
use std::path::Path;

use crate::error::CountersError;
use crate::model::Report;
use crate::{ncu_csv, ncu_rep};

/// A CSV may begin with everything that the program printed; its header comes later.
const LOOKED_AT: u64 = 1 << 20;

enum Format {
    Report,
    Csv,
}

pub fn open(path: &Path) -> Result<Report, CountersError> {
    match format(path)? {
        Format::Report => ncu_rep::read_ncu_report(path),
        Format::Csv => ncu_csv::read_ncu_csv(path),
    }
}

/// Whether a file is one that [`open`] would read.
pub fn is_counters(path: &Path) -> bool {
    format(path).is_ok()
}

fn format(path: &Path) -> Result<Format, CountersError> {
    let io = |source| CountersError::Io { path: path.to_owned(), source };
    let mut start = Vec::new();
    std::fs::File::open(path).map_err(io)?.take(LOOKED_AT).read_to_end(&mut start).map_err(io)?;
    if start.starts_with(ncu_rep::MAGIC) {
        return Ok(Format::Report);
    }
    let header = ncu_csv::START.as_bytes();
    let csv = start.starts_with(header)
        || start.windows(header.len() + 1).any(|at| at[0] == b'\n' && &at[1..] == header);
    match csv {
        true => Ok(Format::Csv),
        false if start.is_empty() => Err(CountersError::Empty { path: path.to_owned() }),
        false => Err(CountersError::Unknown { path: path.to_owned() }),
    }
}
