//! Records what the GPU does, with CUPTI's activity API. We do not subscribe to callbacks, so that
//! another client can; see [`aside`].
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
mod library;
mod records;

pub(crate) use attach::start;
