//! Findings → what people and other programs read.

mod documents;
mod form;
mod json;
mod page;
mod perfetto;
mod printable;
mod units;

pub use documents::{
    bounds_text, counter_region_json, counter_region_markdown, counter_regions_json,
    counter_regions_markdown, counters_terminal, html, kernels_markdown, operators_markdown,
    recommendations_text, roofline_text, stakeholder_markdown, summary, terminal, write_counter_regions,
    write_counters_csv,
};
pub use form::csv::{CsvTable, csv_tables};
pub use form::markdown::{cell, sentence};
pub use json::{AsIs, Strings, json_line, write_json};
pub use page::{Page, StepLine, VerdictLine};
pub use perfetto::{PerfettoSummary, write_perfetto};
pub use printable::{printable, printable_lines};
pub use units::{bytes, duration, percent};
