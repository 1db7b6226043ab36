//! MFU and MBU of stages, with what they are told from.

use crate::form::escape::{prose, text};
use crate::page::Page;
use crate::units::{bytes, duration, operations, percent};

pub(super) fn efficiency(page: &Page<'_>) -> String {
    let mut html = "<div class=\"efficiency\">\n<h3>MFU and MBU of stages</h3>\n".to_owned();
    if page.insight.efficiency.is_empty() {
        let why = page.no_efficiency().trim_end_matches('.');
        html.push_str(&format!("<p class=\"absent\">Not measured, because {}.</p>\n</div>\n", prose(why)));
        return html;
    }
    html.push_str(
        "<div class=\"wide fit\" tabindex=\"0\" role=\"region\" aria-label=\"MFU and MBU\">\n\
         <table class=\"plain\">\n<thead><tr><th scope=\"col\">stage</th>",
    );
    for title in ["one instance", "operations", "MFU", "bytes", "MBU"] {
        html.push_str(&format!("<th scope=\"col\" class=\"num\">{title}</th>"));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    let number =
        |value: Option<String>| format!("<td class=\"num\">{}</td>", value.as_deref().unwrap_or("–"));
    for row in &page.insight.efficiency {
        html.push_str(&format!("<tr><th scope=\"row\">{}</th>", text(&row.region)));
        for value in [
            Some(duration(row.seconds * 1e9)),
            Some(operations(row.flops)),
            Some(percent(row.mfu)),
            row.bytes.map(bytes),
            row.mbu.map(percent),
        ] {
            html.push_str(&number(value));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</div>\n<ul class=\"evidence\">\n");
    for (stage, line) in page.assumptions() {
        let stage = stage.map(|stage| format!("{}: ", text(stage))).unwrap_or_default();
        html.push_str(&format!("<li>{stage}{}</li>\n", prose(line)));
    }
    html.push_str("</ul>\n</div>\n");
    html
}
