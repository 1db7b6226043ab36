//! `ncu/regions/`: what counters say about each region.

mod json;
mod markdown;
mod region;
mod write;

pub use json::{counter_region_json, counter_regions_json};
pub use markdown::counter_regions_markdown;
pub use region::counter_region_markdown;
pub use write::write_counter_regions;
