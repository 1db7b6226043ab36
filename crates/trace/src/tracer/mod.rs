//! Reads the files our tracer leaves, one a process.

mod clock;
mod excerpt;
mod gpu;
mod graph_nodes;
mod graph_samples;
mod loss;
mod read;
mod reader;
mod runs;
mod texts;

pub use loss::{unseen, why_unseen};
pub(crate) use read::weigh_tracer_files;
pub use read::{ReadError, read_tracer_bytes, read_tracer_files};
pub(crate) use runs::by_run;
pub use texts::tracer_texts_to_change;
