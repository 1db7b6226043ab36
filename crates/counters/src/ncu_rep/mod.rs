//! Reports of ncu (`.ncu-rep`), of every version.
//!
//! ```text
//! NVR\0, size, FileHeader
//! size, BlockHeader, then as many bytes as it says:      again and again
//!     size, SourceData ...        whole CUDA modules: never looked at
//!     size, ProfileResult ...     kernels
//!     size, RangeResult ...       ranges
//!     size, ...                   what later versions added
//! ```
//!
//! Sizes are 32 bits, little-endian; the rest is protobuf, whose field numbers have not
//! changed since 2022.3. The names of metrics are in one table for the whole file, which
//! every block may add to, and a block may use a name that a later one brings.
//!
//! The input is hostile. What cannot be read is left out and reported in [`Report::notes`].
//!
//! [`Report::notes`]: crate::Report::notes

mod block;
mod budget;
mod fault;
mod file;
mod load;
mod metrics;
mod ranges;
mod resolve;
mod result;
mod rules;
mod session;
mod wire;

pub(crate) use file::MAGIC;
pub use file::read_ncu_report_bytes;
pub use load::read_ncu_report;
pub(crate) use load::read_ncu_report_input;
