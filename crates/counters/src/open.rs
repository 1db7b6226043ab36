//! Opens any file with counters; the format is recognized from the content.

use std::path::Path;

use input::Input;

use crate::error::CountersError;
use crate::model::Report;
use crate::{ncu_csv, ncu_rep};

/// A CSV may begin with everything that the program printed; its header comes later.
const LOOKED_AT: usize = 1 << 20;

enum Format {
    Report,
    Csv,
}

pub fn open(path: &Path) -> Result<Report, CountersError> {
    let input = Input::open(path)?;
    match format(&input)? {
        Format::Report => ncu_rep::read_ncu_report_input(&input),
        Format::Csv => ncu_csv::read_ncu_csv_input(&input),
    }
}

/// Whether a file is one that [`open`] would read.
pub fn is_counters(path: &Path) -> bool {
    Input::open(path).is_ok_and(|input| format(&input).is_ok())
}

fn format(input: &Input) -> Result<Format, CountersError> {
    let path = input.path().to_owned();
    let start = input.start(LOOKED_AT)?;
    if start.starts_with(ncu_rep::MAGIC) {
        return Ok(Format::Report);
    }
    let header = ncu_csv::START.as_bytes();
    let csv = start.starts_with(header)
        || start.windows(header.len() + 1).any(|at| at[0] == b'\n' && &at[1..] == header);
    match csv {
        true => Ok(Format::Csv),
        false if start.is_empty() => Err(CountersError::Empty { path }),
        false => Err(CountersError::Unknown { path }),
    }
}
