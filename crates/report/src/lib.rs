//! Findings → what people and other programs read.

mod counter_regions;
mod counters;
mod counters_terminal;
mod csv;
mod html;
mod insight;
mod json;
mod markdown;
mod page;
mod perfetto;
mod printable;
mod stakeholder;
mod summary;
mod table;
mod terminal;
mod units;

pub use counter_regions::{
    counter_region_json, counter_region_markdown, counter_regions_json, counter_regions_markdown,
    write_counter_regions,
};
pub use counters::write_counters_csv;
pub use counters_terminal::counters_terminal;
pub use csv::{CsvTable, csv_tables};
pub use html::html;
pub use insight::{bounds_text, recommendations_text, roofline_text};
pub use json::{AsIs, Strings, json_line, write_json};
pub use markdown::{cell, kernels_markdown, operators_markdown, sentence};
pub use page::Page;
pub use perfetto::{PerfettoSummary, write_perfetto};
pub use printable::{printable, printable_lines};
pub use stakeholder::stakeholder_markdown;
pub use summary::summary;
pub use terminal::terminal;
pub use units::{bytes, duration, percent};
