//! What was not read: it comes before everything that follows from the rest.

use crate::page::Page;

/// A sentence for each recording and report of which only the beginning was read.
pub(crate) fn unread_lines(page: &Page<'_>) -> Vec<String> {
    let rows = page.analysis.into_iter().flat_map(|analysis| &analysis.unread);
    let recordings = rows.map(|row| match row.recording {
        Some(recording) => format!("recording {recording}: {}", row.text),
        None => row.text.clone(),
    });
    let counted = page.measured.and_then(|report| report.partly).map(|partly| partly.to_string());
    recordings.chain(counted).collect()
}
