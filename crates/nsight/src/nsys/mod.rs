//! Nsight Systems.

mod agent;
mod predict;
mod range_end;

pub use agent::lost_its_agent;
use analysis::{Region, Registered};
pub use predict::{Prediction, Rehearsed, Setup, predict};
pub use range_end::RangeEnd;

/// nsys opens a gate for a name that was not registered only when told to.
pub fn needs_register_only_off(region: &Region) -> bool {
    region.registered != Registered::Yes
}
