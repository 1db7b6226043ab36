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
pub(crate) mod opening;
mod options;
pub(crate) mod predict;
mod probe;
pub(crate) mod range_end;
mod size;

pub use command::{Capture, Gate, command};
pub use export::{Export, ExportError, PARTIAL, Unsealed, to_sqlite};
pub use importer::Importer;
pub use installation::{Installation, package_of};
pub use installed::{Nsys, NsysRecord};
pub use judge::{Case, Ending, judge, meant_by};
pub use log::{clues, lost_its_agent};
pub use nothing_left::{NoReport, ending, export_failed, import_failed, no_report};
pub use opening::needs_register_only_off;
pub use options::Options;
pub use predict::{Prediction, Rehearsed, Setup, predict};
pub use probe::Probe;
pub use range_end::RangeEnd;
pub use size::expected_report_bytes;
