//! The vendor tools: find them, know what each version can do, build its command, judge the result.

mod ask;
mod cache;
mod clue;
mod cupti;
mod expand;
mod find;
mod help;
mod locate;
mod namesakes;
pub mod ncu;
pub mod nsys;
mod proof;
#[cfg(test)]
mod seen;
mod version;
mod wish;

pub use ask::last_lines;
pub use clue::Clue;
pub use cupti::{CuptiPlaces, find_cupti};
pub use find::Places;
pub use locate::NoTool;
pub use namesakes::Namesakes;
pub use proof::{Correction, GateProblem, NsysGating, Proof, Question, ToolProof, When, prove};
pub use version::{numbers, version_in};
pub use wish::{Reading, Wanted, listed, patterns, wanted};
