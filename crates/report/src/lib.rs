//! An analysis → documents for people and programs.

mod documents;
mod form;
mod json;
mod page;
mod perfetto;
mod printable;
mod sampled;
mod tables;
mod units;

pub use documents::{
    AnalysisDocument, Around, Body, CheckDocument, Compared, Diff, Document, Format, Recorded, compared_html,
    counter_region_json, counter_region_markdown, counter_regions_json, counter_regions_markdown, documents,
    files, html, kernels_markdown, operators_markdown, report_markdown, screen, stakeholder_markdown,
    summary, write_counter_regions, write_counters_csv,
};
pub use json::{AsIs, Strings, json_line, write_json};
pub use page::{Page, Rehearsal};
pub use perfetto::{PerfettoSummary, write_perfetto};
pub use printable::{is_hostile, printable, printable_lines};
pub use units::{bytes, duration, percent, roughly};
