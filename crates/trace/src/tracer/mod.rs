//! Reads the files our tracer leaves, one a process.

mod clock;
mod gpu;
mod graph_nodes;
mod graph_samples;
mod loss;
mod read;
mod reader;
mod runs;

pub use loss::{unseen, why_unseen};
pub use read::{ReadError, read_tracer_bytes, read_tracer_files};
pub(crate) use runs::by_run;
