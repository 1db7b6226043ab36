//! How long an iteration would take if something about it were different.
//!
//! The steady iterations of a loop become a graph ([`Graph`]): calls of the host in their order, the work that each
//! starts, the order of each stream, and what calls and streams wait for. Replayed as it is, it must give the time that was
//! measured; replayed with a change, it says what the change would gain.

mod awaited;
mod build;
mod graph;
mod index;
mod recorded;
mod streams;

pub(crate) use crate::attribute::CallKind;
pub(crate) use build::build;
pub(crate) use graph::{Call, Graph, QUICK, Work};
pub(crate) use index::Index;
