//! The vendor tools: find them, know what each version can do, build its command, judge
//! what comes out.

pub mod nsys;
mod proof;
mod wish;

pub use proof::{Cause, NsysGating, Proof, Question, Remedy, ToolProof, When, prove};
pub use wish::{Wanted, wanted};
