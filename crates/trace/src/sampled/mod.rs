//! The file that the sampler writes beside the tracer's: values over time, and stacks.
//!
//! After the magic and a version come records: a kind (one byte), a length (four bytes, without these five),
//! and so many bytes. Numbers are little-endian, a text is its length and its bytes. A reader skips kinds that
//! it does not know. A file that ends in the middle of a record was left by a sampler that was killed.

mod bytes;
mod clock;
mod even;
mod layout;
mod read;
mod stacks;
mod write;

pub use layout::{SampledDevice, SampledSet, SetClock};
pub(crate) use read::weigh_sampled_files;
pub use read::{SampledError, read_sampled_bytes, read_sampled_files};
pub use write::SampleWriter;

#[cfg(test)]
mod tests;
