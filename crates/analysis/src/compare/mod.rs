//! Whether it changed: how sure that is, what changed, and why.

mod align;
mod chance;
mod check;
mod comparison;
mod counters;
mod decision;
mod fold;
mod history;
mod measured;
mod metric;
mod modes;
mod moments;
mod profile;
mod reason;
mod side;
mod stray;
mod student;

pub use align::{Change, Fate};
pub use chance::Random;
pub use check::{Checked, Outcome, Unknown, check};
pub use comparison::{Comparison, CountChange, FunctionChange, PartChange, StackChange, Timed, compare};
pub use counters::{CountersChange, LevelChange};
pub use decision::{Decision, Doubt, FEWEST, FEWEST_OF_AUTO, Precise, Verdict, decide, precise, precision};
pub use history::{Step, steps};
pub use measured::{KernelCounters, LevelShare, kernel_counters};
pub use metric::{Limit, Metric, Unit, limited};
pub use modes::Modes;
pub(crate) use profile::loop_profile;
pub use profile::{Count, Kernel, LoopProfile, Often, Part, StackTime, What};
pub use reason::{Difference, Named, Reason};
pub use side::{PROFILE_SCHEMA, Profile, SampledKinds, StageTimes};
pub use stray::Stray;

#[cfg(test)]
mod simulation;
