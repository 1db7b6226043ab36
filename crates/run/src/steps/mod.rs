//! The eight steps of a run and the flow through them.

mod analyse;
mod begin;
mod counters;
mod cut;
mod doctor;
mod flow;
mod pass;
mod plan;
mod rehearse;
mod report;
mod resume;
mod stage1;
mod timeline;
mod verdicts;

pub use begin::{RunError, Start, begin, redactor as config_redactor};
pub use flow::{Outcome, Run};
pub use plan::plan_text;
pub use resume::{Resume, reopen};
