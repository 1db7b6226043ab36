//! What to change, and what it could gain.

mod from_counters;
mod from_timeline;
mod recommend;
mod recommendation;
mod whole;

pub use recommend::recommend;
pub use recommendation::Recommendation;
pub use whole::Whole;
