//! When does it repeat, and from when on is it steady.

mod find;
mod from_launches;
mod from_ranges;
mod launched;
mod steady;

pub use find::{Loop, LoopSource, Period};
pub(crate) use find::{Steady, loops};
pub(crate) use steady::{median, warm_up};
