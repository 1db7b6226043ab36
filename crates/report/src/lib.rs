//! Findings → what people and other programs read.

mod csv;
mod markdown;
mod table;
mod terminal;
mod units;

pub use csv::{kernels_csv, regions_csv};
pub use markdown::{kernels_markdown, operators_markdown};
pub use terminal::terminal;
pub use units::{bytes, duration, percent};
