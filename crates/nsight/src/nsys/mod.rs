//! Nsight Systems.

mod agent;
mod command;
mod find;
mod installation;
mod options;
mod predict;
mod range_end;
mod verdict;

pub use agent::lost_its_agent;
use analysis::{Region, Registered};
pub use command::{Capture, Gate, command};
pub use find::{Places, find};
pub use installation::{Installation, find_library, missing_library, package_of};
pub use options::Options;
pub use predict::{Prediction, Rehearsed, Setup, predict};
pub use range_end::RangeEnd;
pub use verdict::{Cause, Coverage, Outcome, Verdict, judge};

/// nsys opens a gate for a name that was not registered only when told to.
pub fn needs_register_only_off(region: &Region) -> bool {
    region.registered != Registered::Yes
}
