//! Hardware counters as ncu measured them, whatever they were read from.

mod append;
mod error;
mod kernel_name;
mod memory;
mod model;
mod names;
mod ncu_csv;
mod ncu_rep;
mod nvtx_state;
mod open;
mod rename;
mod row;
mod units;

pub use error::CountersError;
pub use model::{
    Damage, Device, FocusMetric, Kernel, Measured, MessageKind, Metric, Partly, Process, Report, Rule,
    RuleMessage, Section, Session, Severity, Speedup, SpeedupKind, Subject, Value,
};
pub use names::{MetricId, Names};
pub use ncu_csv::{read_ncu_csv, read_ncu_csv_bytes};
pub use ncu_rep::{read_ncu_report, read_ncu_report_bytes};
pub use nvtx_state::{NvtxRange, NvtxState, NvtxThread, Payload};
pub use open::{is_counters, open};
pub use row::{Row, Rows, rows};
