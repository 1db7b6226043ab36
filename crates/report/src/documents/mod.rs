//! Which tables and sentences make which document.

mod analysis;
mod check;
mod comparison;
mod counter_regions;
mod counters_csv;
mod counters_screen;
pub(crate) mod html;
mod insight;
mod list;
mod report;
mod screen;
mod sheets;
mod stakeholder;
mod summary;

pub use analysis::AnalysisDocument;
pub use check::CheckDocument;
pub use comparison::{Around, Diff};
pub use counter_regions::{
    counter_region_json, counter_region_markdown, counter_regions_json, counter_regions_markdown,
    write_counter_regions,
};
pub use counters_csv::write_counters_csv;
pub use html::{Compared, Recorded, compared_html, html};
pub use list::{Body, Document, Format, documents, files};
pub use report::report_markdown;
pub use screen::screen;
pub use sheets::{kernels_markdown, operators_markdown};
pub use stakeholder::stakeholder_markdown;
pub use summary::summary;
