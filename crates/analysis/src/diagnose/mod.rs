//! What to change, and what that could bring.

mod from_counters;
mod from_timeline;
mod recommend;

pub use recommend::{Recommendation, Whole, recommend};
