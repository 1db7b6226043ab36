//! Nsight Compute.

mod choice;
mod choose;
mod classes;
mod command;
mod entry;
mod find;
mod installed;
mod judge;
mod log;
pub(crate) mod open;
mod options;
mod outermost;
mod pace;
mod permission;
mod plan;
mod probe;
mod replay;
mod schedule;
mod target;
mod window;

pub use choice::{Allowance, Choice, Given, Preferences, choose_launches, has_kernels, passes};
pub use choose::{Unknown, Wanted, choose};
pub use command::{Capture, Gate, NameBase, ReplayMode, Selection, command};
pub use entry::{Entry, check, named, samples};
pub use installed::{Ncu, NcuRecord, reports};
pub use judge::{Case, Ending, WantedTarget, judge};
pub use log::{FIRST_LAUNCH, Progress, clues, progress, unknown_error, unsupported_call};
pub use options::Options;
pub use outermost::{Outermost, outermost};
pub use pace::Pace;
pub use permission::{Permission, permission};
pub use plan::{Chosen, Covered, Demand, Invocation, Part, Plan, plan};
pub use probe::{Probe, Section, Set};
pub use replay::{Cost, Refused, Replay, range_replay};
pub use schedule::{Milestone, Schedule};
pub use target::{Target, unchecked_includes};
