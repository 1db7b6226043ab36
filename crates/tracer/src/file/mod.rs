//! The mapped file of this process, and who may write where in it.
//!
//! The file grows by arenas and is given out in chunks. An arena is first allocated on disk, so
//! that no write can fail for lack of space, and then mapped. Both happen under the lock; inside
//! its chunk a thread writes without a lock.
//!
//! No file descriptor is kept open: a program might close it and open a file of its own under the
//! same number. To grow, the file is opened again by its path, and it must be the same file before
//! and after it is mapped.

mod arena;
mod chunk;
mod halt;
mod header;
mod open;
mod write;

pub(crate) use chunk::{largest_chunk, retire, take_event_chunk, take_gpu_chunk, take_string_chunk};
pub(crate) use header::{count, note_end};
pub(crate) use open::{ready, start};
pub(crate) use write::{publish, write_words};
