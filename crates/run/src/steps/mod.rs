//! The steps of a run and the flow through them.

mod analyze;
mod asked;
mod begin;
mod counters;
mod cut;
mod doctor;
mod dry_run;
mod error;
mod fate;
mod flow;
mod ladder;
mod pass;
mod plan;
mod rehearse;
mod report;
mod resume;
mod scene;
mod session;
mod stage1;
mod timeline;

pub use begin::{Start, begin, check, redactor as config_redactor};
pub use dry_run::plan_text;
pub use error::RunError;
pub use fate::{Fate, Program};
pub use flow::{Once, Outcome, Run};
pub use resume::{Resume, reopen};
