//! The vendor tools: find them, know what each version can do, build its command, judge
//! what comes out.

mod cupti;
mod expand;
pub mod ncu;
pub mod nsys;
mod proof;
mod wish;

pub use cupti::{CuptiPlaces, find_cupti};
pub use proof::{Cause, NsysGating, Proof, Question, Remedy, ToolProof, When, prove};
pub use wish::{Wanted, wanted};
