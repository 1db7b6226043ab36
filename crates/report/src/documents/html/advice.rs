//! What to change, with the most at stake first.

use super::summary::missing;
use crate::form::escape::{self, prose, text};
use crate::page::Page;
use crate::units::{fixed, percent};
use record::StepName;

pub(super) fn advice(page: &Page<'_>) -> String {
    if page.insight.recommendations.is_empty() {
        let why = match page.findings {
            Some(findings) if findings.idle.is_empty() => "no GPU work was recorded.".to_owned(),
            Some(_) => "nothing measured takes enough time to be worth changing.".to_owned(),
            None => format!(
                "{}.",
                missing(page, &[StepName::Analyze, StepName::Timeline], "nothing was analyzed")
            ),
        };
        return format!("<p class=\"absent\">None: {}</p>\n", prose(&why));
    }
    let mut html = "<ol class=\"advice\">\n".to_owned();
    for one in &page.insight.recommendations {
        let share = one.share.clamp(0.0, 1.0);
        html.push_str(&format!(
            "<li><h3>{}</h3>\n<p class=\"stake\"><svg class=\"bar\" viewBox=\"0 0 100 6\" \
             preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"back\" width=\"100\" height=\"6\"/>\
             <rect class=\"fill\" width=\"{:.2}\" height=\"6\"/></svg><span><b>{}</b> of {} at stake</span>\
             <span>speedup at most <b>{}x</b></span></p>\n",
            prose(&one.title),
            share * 100.0,
            escape::unsplit(&percent(share)),
            one.of.as_str(),
            fixed(one.gain, 2)
        ));
        html.push_str(&format!("<p class=\"do\">{}</p>\n", prose(&one.advice)));
        if !one.evidence.is_empty() {
            let lines: String = one.evidence.iter().map(|line| format!("<li>{}</li>", prose(line))).collect();
            html.push_str(&format!("<ul class=\"evidence\">{lines}</ul>\n"));
        }
        for (label, name) in [("region", &one.region), ("kernel", &one.kernel)] {
            if let Some(name) = name {
                html.push_str(&format!(
                    "<p class=\"where\">{label} <button type=\"button\" class=\"link name\" data-find=\"{}\">{}</button></p>\n",
                    text(name),
                    text(name)
                ));
            }
        }
        html.push_str("</li>\n");
    }
    html.push_str("</ol>\n");
    html
}
