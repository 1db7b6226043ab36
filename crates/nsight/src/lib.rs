//! The vendor tools. So far: what their gates will do, told before they are used.

pub mod nsys;
mod proof;
mod wish;

pub use proof::{Cause, NsysGating, Proof, Question, Remedy, ToolProof, When, prove};
pub use wish::{Wanted, wanted};
