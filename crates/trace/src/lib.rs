//! One model of what happened, whatever it was read from.

mod model;
mod tracer;

pub use model::{Diagnostic, OPEN, Process, Ranges, StringId, Strings, Thread, Trace};
pub use nvtx::Kind;
pub use tracer::{ReadError, read_tracer_bytes, read_tracer_files};
