//! What the GPU does, by CUPTI: an activity client, without a subscription, so that there is
//! room for another.
//!
//! Safety, for all of it: CUPTI calls back with buffers that we gave it and pointers that
//! live until the callback returns.

mod abi;
mod aside;
mod at;
mod attach;
mod buffers;
mod calls;
mod device;
mod flush;
mod library;
mod records;

pub(crate) use attach::start;
