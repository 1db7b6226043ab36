//! Files of other people: judged before they are opened, and read as what they are.
//!
//! What is given to `analyze`, and what lies in a run folder, may be anything: a pipe nobody
//! writes to, a device, a link to itself, a file of a terabyte with nothing in it, one that
//! another program is writing, cutting or replacing right now. None of these may hang us or
//! take all memory. Files are therefore read, never mapped: a file that is cut short while it
//! is mapped kills whoever looks at it (SIGBUS), one that is read merely ends.

mod error;
mod file;
mod folder;
mod text;
mod zstd;

pub use error::InputError;
pub use file::Input;
pub use folder::{Found, files_in};
pub use text::{Compression, Text};
