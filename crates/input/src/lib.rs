//! Files from others: checked before they are opened, and read by their actual format.
//! The files given to `analyze` or found in a run folder may be anything: a pipe without a writer, a
//! device, a link to itself, an empty sparse file of a terabyte, one that another program is writing,
//! truncating or replacing right now. None of these may hang us or exhaust memory. Files are therefore
//! read, never mapped: truncating a mapped file kills its reader (SIGBUS), truncating one that is read
//! merely ends it.

mod error;
mod file;
mod folder;
mod memory;
mod text;
mod zstd;

pub use error::InputError;
pub use file::Input;
pub use folder::{Found, files_in};
pub use memory::{memory_held, memory_limit};
pub use text::{Compression, Text};
