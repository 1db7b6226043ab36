//! Records what the GPU does, with CUPTI's activity API, and which nodes graphs are made of, with its callbacks
//! ([`graphs`]). When another client wants CUPTI, we leave it; see [`aside`].
//!
//! Safety, for all of it: CUPTI calls us with buffers that we gave it and with pointers that are
//! valid until the callback returns.

mod abi;
mod aside;
mod at;
mod attach;
mod buffers;
mod calls;
mod device;
mod flush;
mod graphs;
mod library;
mod records;

pub(crate) use attach::start;
pub(crate) use flush::flush_now;
