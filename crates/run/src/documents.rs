//! The only place that writes documents, for a run and for `analyze`.

use report::{Body, Document, Format, Page, documents};

use crate::rundir::{Files, Masked, WriteError};

/// One screen.
pub const SUMMARY: &str = "summary.txt";
/// What was found, for programs.
pub const ANALYSIS: &str = "analysis.json";
/// Everything, for programs.
pub const DOCUMENT: &str = "report.json";

/// Writes every document of a page, and `own`, which only the caller knows. If one fails, the others are
/// still written.
pub fn write_documents(
    files: &Files,
    page: &Page<'_>,
    formats: &[Format],
    own: Vec<Document<'_>>,
) -> Vec<WriteError> {
    let all = documents(page, formats).into_iter().chain(own);
    let mut failed: Vec<WriteError> =
        all.filter_map(|document| write_document(files, &document).err()).collect();
    let there = report::files(page).filter(|(name, _)| files.path(name).exists());
    let there: Vec<String> = there.map(|(name, what)| format!("{name:<24}{what}")).collect();
    failed.extend(files.text(SUMMARY, &report::summary(page, &there)).err());
    failed
}

/// Secrets are masked, and readers see the whole file or none.
pub fn write_document(files: &Files, document: &Document<'_>) -> Result<(), WriteError> {
    let name = document.name.as_str();
    if let Some((folder, _)) = name.rsplit_once('/') {
        files.folder(folder)?;
    }
    match &document.body {
        Body::Text(make) => files.text(name, &make()),
        Body::Stream(write) => files.stream(name, write),
        Body::Binary(write) => files.unmasked(name, write),
        Body::Json(write) => files.unmasked(name, |out| write(&Masked(&files.redactor), out)),
    }
}
