//! What limits the program, the first to look at first.

use super::summary::missing;
use crate::form::escape::{self, prose, text};
use crate::page::Page;
use crate::tables::{LOOPS, first_lines, gained, line_of, no_finding, what_if_lines};
use record::StepName;

pub(super) fn findings(page: &Page<'_>) -> String {
    let mut html = String::new();
    let asked: String = page
        .analysis
        .iter()
        .flat_map(|analysis| what_if_lines(analysis))
        .map(|line| format!("<li>{}</li>", prose(&line)))
        .collect();
    if !asked.is_empty() {
        html.push_str(&format!("<h3>What if</h3>\n<ul class=\"evidence\">{asked}</ul>\n"));
    }
    for line in page.analysis.map(|analysis| first_lines(analysis, LOOPS)).unwrap_or_default() {
        html.push_str(&format!("<p class=\"loop\">{}</p>\n", prose(&line)));
    }
    if page.insight.findings.is_empty() {
        let why = match page.analysis {
            Some(analysis) => format!("{}.", no_finding(analysis)),
            None => format!(
                "{}.",
                missing(page, &[StepName::Analyze, StepName::Timeline], "nothing was analyzed")
            ),
        };
        html.push_str(&format!("<p class=\"absent\">None: {}</p>\n", prose(&why)));
        return html;
    }
    let is_steady = !page.whole && page.analysis.is_some_and(|analysis| analysis.steady.is_some());
    html.push_str("<ol class=\"findings\">\n");
    for one in &page.insight.findings {
        html.push_str(&format!("<li><h3>{}</h3>\n", prose(&one.title)));
        html.push_str(&format!("<p class=\"stake\"><span class=\"cause\">{}</span>", one.cause));
        if let Some((gained, gain)) = gained(one).zip(one.gain) {
            let left = (1.0 / gain.factor).clamp(0.0, 1.0);
            html.push_str(&format!(
                "<svg class=\"bar\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
                 <rect class=\"back\" width=\"100\" height=\"6\"/><rect class=\"fill\" width=\"{:.2}\" height=\"6\"/></svg>\
                 <span>{}</span>",
                left * 100.0,
                prose(&gained)
            ));
        }
        html.push_str("</p>\n");
        if !one.advice.is_empty() {
            html.push_str(&format!("<p class=\"do\">{}</p>\n", prose(&one.advice)));
        }
        if !one.evidence.is_empty() {
            let lines: String = one.evidence.iter().map(|line| format!("<li>{}</li>", prose(line))).collect();
            html.push_str(&format!("<ul class=\"evidence\">{lines}</ul>\n"));
        }
        if let Some(line) = line_of(one) {
            html.push_str(&format!(
                "<p class=\"where\">line <span class=\"name\">{}</span></p>\n",
                text(line)
            ));
        }
        let kernels = if is_steady { "steady_kernels" } else { "kernels" };
        let places = [("region", "regions", &one.place.region), ("kernel", kernels, &one.place.kernel)];
        for (label, table, name) in places {
            if let Some(name) = name {
                html.push_str(&format!(
                    "<p class=\"where\">{label} <button type=\"button\" class=\"link name\" data-find=\"{name}\" \
                     title=\"show it in the timeline\">{name}</button> \
                     <a href=\"#{table}={}\" data-rows=\"{table}\">in the table</a></p>\n",
                    escape::in_address(name),
                    name = text(name),
                ));
            }
        }
        html.push_str("</li>\n");
    }
    html.push_str("</ol>\n");
    html
}
