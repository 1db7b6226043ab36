//! What `ncu --csv` prints: a row for each result (`--page raw`, its second row holds
//! the units) or a row for each metric (`--page details`).

mod cells;
mod columns;
mod ranges;
mod read;
mod scale;
mod value;

pub(crate) use read::START;
pub(crate) use read::read_ncu_csv_input;
pub use read::{read_ncu_csv, read_ncu_csv_bytes};
