//! What a run records about itself, as types: the interface between the rooms that run things and
//! the rooms that report them. Nothing here starts a program, reads a file or formats a document.
//!
//! Outcomes, causes and statuses are compared as values. Their names appear in `run.json`, and only
//! this crate turns one into the other.

mod cause;
mod count;
mod ending;
mod job;
mod manifest;
mod pass;
mod process;
mod remedy;
mod rung;
mod step;
mod tool;
mod verdict;
mod withheld;

pub use cause::Cause;
pub use count::counted;
pub use ending::{Ending, Leftover, Reason, Usage};
pub use job::{JOB, JobRecord, PLACE, PlaceRecord, SeenRanks};
pub use manifest::{Artifact, Invocation, MANIFEST, Manifest, RunStatus, SCHEMA, WorkloadRecord};
pub use pass::{LoadRecord, Moment, Pass, PassKind, PassName, rehearsal_failure};
pub use process::{Launcher, Rank, RecordedProcess, SeenProcess, Start};
pub use remedy::{advice, remedy};
pub use rung::Rung;
pub use step::{Step, StepName, StepStatus};
pub use tool::Tool;
pub use verdict::{Coverage, Outcome, Verdict, VerdictRecord};
pub use withheld::{Withheld, WithheldFrom};
