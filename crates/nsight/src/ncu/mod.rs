//! Nsight Compute.

mod choose;
mod classes;
mod command;
mod entry;
mod find;
mod judge;
mod log;
mod options;
mod pace;
mod plan;
mod probe;
mod replay;
mod schedule;
mod window;

pub use choose::{Unknown, Wanted, choose};
pub use command::{Capture, Gate, NameBase, ReplayMode, Selection, command};
pub use entry::{Entry, check, named, samples};
pub use find::find;
pub use judge::{Case, Ending, WantedRegion, judge, verdict};
pub use log::{FIRST_LAUNCH, Progress, progress, told_by, unknown_error, unsupported_call};
pub use options::Options;
pub use pace::Pace;
pub use plan::{Chosen, Covered, Demand, Invocation, Part, Plan, plan};
pub use probe::{Probe, Section, Set, metrics, sections, sets};
pub use replay::{Cost, Refused, Replay, range_replay};
pub use schedule::{Milestone, Schedule};
