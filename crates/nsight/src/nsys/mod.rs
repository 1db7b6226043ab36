//! Nsight Systems.

mod predict;

pub use predict::{Prediction, Rehearsed, Setup, predict};
pub use range_end::RangeEnd;

mod range_end;
