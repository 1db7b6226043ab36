//! One way to measure.

use std::time::Duration;

use nsight::ncu::{Allowance, Gate, Plan, ReplayMode, Selection, Target, WantedTarget};
use record::{Rung, Verdict};

pub(super) struct Way {
    pub(super) rung: Rung,
    pub(super) replay: ReplayMode,
    /// Each is a run of the program.
    pub(super) runs: Vec<OneRun>,
    /// Results to expect.
    pub(super) planned: Option<u64>,
    /// The launches that were chosen, if they were.
    pub(super) plan: Option<Plan>,
    /// Time limit for the replays.
    pub(super) budget: Option<Duration>,
    /// Measure everywhere; results outside the named ranges are removed afterwards.
    pub(super) open: bool,
    pub(super) targets: Vec<WantedTarget>,
    /// Ranges on other threads count as well.
    pub(super) any_thread: bool,
    /// Known before it is tried.
    pub(super) foretold: Option<Verdict>,
}

/// What is measured in one run of the program.
pub(super) struct OneRun {
    pub(super) gate: Gate,
    pub(super) selection: Selection,
}

/// Shared by all ways.
pub(super) struct Common {
    pub(super) gate: Gate,
    /// Without a gate, whatever ranges there are.
    pub(super) open: bool,
    pub(super) targets: Vec<Target>,
    pub(super) wanted: Vec<WantedTarget>,
    pub(super) any_thread: bool,
    pub(super) wall: Duration,
    pub(super) allowance: Allowance,
}
