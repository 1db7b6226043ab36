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
//! This crate depends on nothing, because the tracer does not: the tracer takes the layout alone,
//! without the feature `read`.
#![cfg_attr(not(feature = "read"), no_std)]

#[cfg(feature = "read")]
mod gpu;
#[cfg(feature = "read")]
mod head;
pub mod layout;
#[cfg(feature = "read")]
mod outline;
#[cfg(feature = "read")]
mod read;
#[cfg(feature = "read")]
mod texts;

#[cfg(feature = "read")]
pub use gpu::GpuEvent;
#[cfg(feature = "read")]
pub use head::{Halted, Header, ReadError};
#[cfg(feature = "read")]
pub use outline::{Outline, Place, Source};
#[cfg(feature = "read")]
pub use read::{Chunk, Damage, Event, Note, Payload, Segment, StringEntry, TraceFile};
#[cfg(feature = "read")]
pub use texts::texts;
