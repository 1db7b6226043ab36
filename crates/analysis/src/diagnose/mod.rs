//! What to change, and what that could bring.

mod from_counters;
mod from_timeline;
mod recommend;
mod recommendation;
mod whole;

pub use recommend::recommend;
pub use recommendation::Recommendation;
pub use whole::Whole;
