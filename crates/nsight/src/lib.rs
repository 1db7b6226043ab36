//! The vendor tools: find them, know what each version can do, build its command, judge
//! what comes out.

mod cupti;
mod expand;
mod find;
mod help;
pub mod ncu;
pub mod nsys;
mod proof;
pub mod verdict;
mod version;
mod wish;

pub use cupti::{CuptiPlaces, find_cupti};
pub use find::Places;
pub use proof::{Cause, NsysGating, Proof, Question, Remedy, ToolProof, When, prove};
pub use version::{numbers, version_in};
pub use wish::{Wanted, listed, wanted};
