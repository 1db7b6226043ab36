//! `kernels.md` and `operators.md`: one table each, with everything known about a row.

use super::screen::operators_pass;
use crate::form::markdown::{Markdown, cell};
use crate::form::shown::Digits;
use crate::form::terminal::Names;
use crate::page::Page;
use crate::tables::{Tabular, View, kernels, operators};

const FORM: Markdown =
    Markdown { view: View::Sheet, rows: usize::MAX, names: Names::Whole, digits: Digits::Plain, absent: "" };

/// Nothing where there are no findings.
pub fn kernels_markdown(page: &Page<'_>) -> String {
    let Some(analysis) = page.analysis else { return String::new() };
    format!("# Kernels\n\n{}\n\n{}", cell(&analysis.source), FORM.table(&kernels(page, analysis)))
}

/// The same for operators, which may come from another recording.
pub fn operators_markdown(page: &Page<'_>) -> String {
    let Some(analysis) = page.analysis else { return String::new() };
    let source = page.operators_source.unwrap_or(&analysis.source);
    let of = operators_pass(page).map(|pass| format!(", {pass}")).unwrap_or_default();
    let mut text = format!("# Operators\n\n{}{of}\n\n", cell(source));
    let table = operators(analysis);
    if table.len() == 0 {
        text.push_str("The trace has no framework operators.\n");
        return text;
    }
    text.push_str("Total includes the operators and CUDA calls that an operator makes; self does not.\n\n");
    text.push_str(&FORM.table(&table));
    text
}
