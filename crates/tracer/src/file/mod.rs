//! The mapped file of this process, and who may write where in it.
//!
//! Space is taken in arenas (allocated on disk first, so that no write can fail
//! for want of space, then mapped) and handed out in chunks. All of it happens
//! under the lock; between two chunks a thread writes without asking anyone.
//!
//! No descriptor is kept: a program may close it and open a file of its own under the same
//! number. To grow, the file is opened again by its path, and it must be the same file before and
//! after it is mapped.

mod arena;
mod chunk;
mod halt;
mod header;
mod open;
mod write;

pub(crate) use chunk::{largest_chunk, retire, take_event_chunk, take_gpu_chunk, take_string_chunk};
pub(crate) use header::count;
pub(crate) use open::{ready, start};
pub(crate) use write::{publish, write_words};
