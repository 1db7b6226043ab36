//! When does it repeat, and from when on is it steady.

mod find;
mod from_launches;
mod from_ranges;
mod launched;
mod slow;
mod steady;

pub use find::{Loop, LoopSource, Period};
pub(crate) use find::{Steady, loops};
pub use slow::SlowIterations;
pub(crate) use slow::is_slow;
pub(crate) use steady::{median, warm_up};
