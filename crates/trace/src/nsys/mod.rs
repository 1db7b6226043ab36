//! The SQLite export of nsys, of every schema: columns are looked for by name, absent
//! tables are empty, no order of rows is relied on.
//!
//! Tested with schema 3.7.2 (nsys 2023.4) and 3.20.3 (nsys 2025.3), and with the shape
//! of 3.0.0 (nsys 2022.4). Others are read the same way, and a diagnostic says so.

mod activities;
mod calls;
mod devices;
mod diagnostics;
mod environment;
mod error;
mod export;
mod gpu_metrics;
mod graph_nodes;
mod jobs;
mod loss;
mod machine;
mod merge;
mod nvtx_events;
mod parallel;
mod parts;
mod read;
mod session;
mod stacks;
mod tables;
mod timed;
mod twice;
mod weigh;

pub use environment::{environment_values, texts_to_change};
pub use error::NsysError;
pub(crate) use read::read_nsys_input;
pub use read::{read_nsys, read_nsys_bytes};
pub use session::read_nsys_session;
