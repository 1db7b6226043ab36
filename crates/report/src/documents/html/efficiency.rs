//! MFU and MBU of stages, with the assumptions behind them.

use crate::form::escape::{prose, text};
use crate::form::html::html_table;
use crate::page::Page;
use crate::tables;

pub(super) fn efficiency(page: &Page<'_>) -> String {
    let mut html = "<div class=\"efficiency\">\n<h3>MFU and MBU of stages</h3>\n".to_owned();
    if page.insight.efficiency.is_empty() {
        let why = page.no_efficiency().trim_end_matches('.');
        html.push_str(&format!("<p class=\"absent\">Not measured: {}.</p>\n</div>\n", prose(why)));
        return html;
    }
    let table = html_table(&tables::efficiency(&page.insight.efficiency), "", usize::MAX, &|_, _| None);
    html.push_str(&format!(
        "<div class=\"wide fit\" tabindex=\"0\" role=\"region\" aria-label=\"MFU and MBU\">\n{table}</div>\n\
         <ul class=\"evidence\">\n"
    ));
    for (stage, line) in page.assumptions() {
        let stage = stage.map(|stage| format!("{}: ", text(stage))).unwrap_or_default();
        html.push_str(&format!("<li>{stage}{}</li>\n", prose(line)));
    }
    html.push_str("</ul>\n</div>\n");
    html
}
