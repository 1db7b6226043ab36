//! The documents of a run: the name of each, and what writes it.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::analysis::AnalysisDocument;
use super::html::html;
use super::report::report_markdown;
use super::sheets::{kernels_markdown, operators_markdown};
use super::stakeholder::stakeholder_markdown;
use crate::form::csv::write_csv;
use crate::form::ndjson::write_ndjson;
use crate::json::{Strings, write_json};
use crate::page::Page;
use crate::perfetto::write_perfetto;
use crate::tables::{Tabular, of_programs};

/// What may be asked for: `report.formats`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Md,
    Json,
    Html,
    Perfetto,
    Csv,
    Ndjson,
}

/// Files for people that have something in them, in the order in which they would open them, and what is in each.
pub fn files(page: &Page<'_>) -> impl Iterator<Item = (&'static str, &'static str)> {
    let has_any = |name: &str| match (name, page.analysis) {
        ("operators.md", analysis) => analysis.is_some_and(|analysis| !analysis.operators.is_empty()),
        ("kernels.md", analysis) => analysis.is_some_and(|analysis| !analysis.kernels.is_empty()),
        _ => true,
    };
    FILES.into_iter().filter(move |(name, _)| has_any(name))
}

const FILES: [(&str, &str); 9] = [
    ("report.html", "everything, for a browser"),
    ("report.md", "everything, as text"),
    ("stakeholder_summary.md", "one-page summary to pass on"),
    ("operators.md", "PyTorch's operators"),
    ("kernels.md", "the kernels"),
    ("trace.perfetto", "for ui.perfetto.dev"),
    ("report.json", "for programs"),
    ("csv/", "every table"),
    ("ndjson/", "every table, one JSON object per row"),
];

type Stream<'p> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'p>;

type Json<'p> = Box<dyn Fn(&dyn Strings, &mut dyn Write) -> io::Result<()> + 'p>;

/// How a document is made; whoever writes it masks secrets.
pub enum Body<'p> {
    /// Made whole.
    Text(Box<dyn Fn() -> String + 'p>),
    /// Text that is written as it is made.
    Stream(Stream<'p>),
    /// The same for binary data.
    Binary(Stream<'p>),
    Json(Json<'p>),
}

/// One file.
#[derive(Debug)]
pub struct Document<'p> {
    /// Below the folder that all are written to.
    pub name: String,
    pub body: Body<'p>,
}

impl std::fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text",
            Self::Stream(_) => "Stream",
            Self::Binary(_) => "Binary",
            Self::Json(_) => "Json",
        })
    }
}

impl<'p> Document<'p> {
    fn text(name: &str, make: impl Fn() -> String + 'p) -> Self {
        Self { name: name.to_owned(), body: Body::Text(Box::new(make)) }
    }

    pub fn json(name: &str, document: impl Serialize + 'p) -> Self {
        let write = move |strings: &dyn Strings, out: &mut dyn Write| {
            write_json(&document, strings, out)?;
            out.write_all(b"\n")
        };
        Self { name: name.to_owned(), body: Body::Json(Box::new(write)) }
    }

    /// A table in a form that is written row by row.
    fn rows(
        table: Box<dyn Tabular + 'p>,
        form: &str,
        write: fn(&dyn Tabular, &mut dyn Write) -> io::Result<()>,
    ) -> Self {
        let name = format!("{form}/{}.{form}", table.about().id);
        Self { name, body: Body::Stream(Box::new(move |out| write(&*table, out))) }
    }
}

/// What the timeline says, which is always written, then what was asked for. `summary.txt` comes after all of them:
/// it names those that are there.
pub fn documents<'p>(page: &'p Page<'p>, formats: &[Format]) -> Vec<Document<'p>> {
    let mut all = Vec::new();
    if page.analysis.is_some() || page.measured.is_some() {
        all.push(Document::json("analysis.json", AnalysisDocument::of(page)));
    }
    if page.analysis.is_some() {
        all.push(Document::text("kernels.md", || kernels_markdown(page)));
        all.push(Document::text("operators.md", || operators_markdown(page)));
    }
    formats.iter().for_each(|format| add(&mut all, page, *format));
    all
}

fn add<'p>(all: &mut Vec<Document<'p>>, page: &'p Page<'p>, format: Format) {
    match format {
        Format::Md => {
            all.push(Document::text("report.md", || report_markdown(page)));
            all.push(Document::text("stakeholder_summary.md", || stakeholder_markdown(page)));
        }
        // The run adds what only it knows.
        Format::Json => {}
        Format::Html => all.push(Document::text("report.html", || html(page))),
        Format::Perfetto => all.extend(page.trace.map(|trace| {
            let write: Stream<'p> = Box::new(move |out| write_perfetto(trace, out).map(drop));
            Document { name: "trace.perfetto".to_owned(), body: Body::Binary(write) }
        })),
        Format::Csv => {
            all.extend(of_programs(page).into_iter().map(|table| Document::rows(table, "csv", write_csv)));
        }
        Format::Ndjson => {
            let document = |table| Document::rows(table, "ndjson", write_ndjson);
            all.extend(of_programs(page).into_iter().map(document));
        }
    }
}
