//! The file a traced process leaves: what it is made of, and how to read it.
//!
//! One file a process. The tracer maps it into memory and writes records
//! straight into it, so that what was recorded is in the file whatever becomes of
//! the process. Every number is little-endian.
//!
//! ```text
//! header                     one page
//! chunk, chunk, ...          each a multiple of a page, one after the other
//! ```
//!
//! A chunk belongs to one thread at a time (events) or to the whole process
//! (strings), and says how much of it is written. A record is one to three
//! 64-bit words, a string record has its bytes behind it.
//!
//! This crate depends on nothing, because the tracer does not.

mod gpu;
pub mod layout;
mod read;
mod texts;

pub use gpu::GpuEvent;
pub use read::{Chunk, Damage, Event, Header, Payload, ReadError, Segment, StringEntry, TraceFile};
pub use texts::texts;
