//! Nsight Systems.

mod command;
mod export;
mod find;
mod fitness;
mod importer;
mod installation;
mod installed;
mod judge;
mod log;
mod nothing_left;
mod options;
mod predict;
mod probe;
mod range_end;

use analysis::{Region, Registered};
pub use command::{Capture, Gate, command};
pub use export::{Export, ExportError, PARTIAL, Unsealed, to_sqlite};
pub use importer::Importer;
pub use installation::{Installation, package_of};
pub use installed::{Nsys, NsysRecord};
pub use judge::{Case, Ending, judge, meant_by};
pub use log::{clues, lost_its_agent};
pub use nothing_left::{NoReport, ending, export_failed, import_failed, no_report};
pub use options::Options;
pub use predict::{Prediction, Rehearsed, Setup, predict};
pub use probe::Probe;
pub use range_end::RangeEnd;

/// Bytes that a report holds before anything is recorded, and for each range: measured on
/// nsys 2022.4.2 and 2023.4.4 with 1,000 to 1,000,000 ranges, rounded up.
const EMPTY_REPORT_BYTES: u64 = 190_000;
const BYTES_A_RANGE: u64 = 12;

/// How large a report of so many ranges will be, CUDA's part not counted.
pub fn expected_report_bytes(ranges: u64) -> u64 {
    EMPTY_REPORT_BYTES + ranges.saturating_mul(BYTES_A_RANGE)
}

/// nsys opens a gate for a name that was not registered only when told to.
pub fn needs_register_only_off(region: &Region) -> bool {
    region.registered != Registered::Yes
}
