//! Nsight Compute.

mod replay;

pub use replay::{Cost, Refused, Replay, range_replay};
