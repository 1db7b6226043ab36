//! What was captured and what was not: the first thing on the page.

use super::headline::headlines;
use crate::form::escape::{prose, text};
use crate::form::html::html_table;
use crate::page::{Page, StepLine, VerdictLine};
use crate::tables::{self, Cell, Head};

pub(super) fn summary(page: &Page<'_>) -> String {
    let mut html = headlines(page);
    if page.findings.is_none() {
        let why = missing(page, &["analyse", "timeline"], "there is no timeline in this run");
        html.push_str(&format!("<p class=\"absent\">Nothing was analysed, because {}.</p>\n", prose(&why)));
    }
    html.push_str(&format!(
        "<div class=\"captured\">\n<div>\n{}</div>\n{}</div>\n",
        verdicts(page.verdicts),
        steps(page.steps)
    ));
    if let Some(lost) =
        page.findings.map(|findings| findings.diagnostics.iter().filter(|row| row.lost).count())
        && lost > 0
    {
        html.push_str(&format!(
            "<p class=\"callout\"><b>Events are missing from the trace.</b> <a href=\"#warnings\">{lost} \
             {} why</a>.</p>\n",
            if lost == 1 { "line says" } else { "lines say" }
        ));
    }
    html
}

/// Why something is not there: what a step that was not done says, or else a verdict.
pub(super) fn missing(page: &Page<'_>, steps: &[&str], otherwise: &str) -> String {
    let step = steps.iter().find_map(|name| {
        page.steps.iter().find(|step| step.name == *name && step.status != "done" && !step.note.is_empty())
    });
    if let Some(StepLine { name, status, note, .. }) = step {
        return format!("the step `{name}` {} ({})", was(status), note.trim_end_matches('.'));
    }
    let tool = if steps.contains(&"counters") { "ncu" } else { "nsys" };
    let verdict = page.verdicts.iter().find(|line| line.tool == tool && is_bad(&line.outcome));
    verdict.map_or(otherwise.to_owned(), |line| {
        format!("{tool} {}: {}", line.outcome, line.text.trim_end_matches('.'))
    })
}

fn was(status: &str) -> String {
    if status == "failed" { "has failed".to_owned() } else { format!("was {status}") }
}

fn is_bad(outcome: &str) -> bool {
    matches!(outcome, "missed" | "failed")
}

/// A sign beside the word: colour alone says nothing to some.
fn badge(word: &str) -> String {
    let (class, sign) = match word {
        "captured" | "done" => ("good", "✓"),
        "partial" => ("part", "◐"),
        "missed" | "interrupted" => ("miss", "○"),
        "failed" => ("bad", "✕"),
        _ => ("none", "–"),
    };
    format!("<span class=\"badge {class}\"><span aria-hidden=\"true\">{sign}</span> {}</span>", text(word))
}

fn verdicts(all: &[VerdictLine]) -> String {
    let mut html = "<h3>What was captured</h3>\n".to_owned();
    if all.is_empty() {
        html.push_str("<p class=\"absent\">No tool was run: there is no verdict.</p>\n");
        return html;
    }
    html.push_str("<ul class=\"verdicts\">\n");
    for line in all {
        html.push_str(&format!("<li><div class=\"tool\"><b>{}</b>", text(&line.tool)));
        if !line.rung.is_empty() {
            html.push_str(&format!(" <span>{}</span>", text(&line.rung)));
        }
        html.push_str(&format!(
            "</div><div>{}</div><div class=\"said\"><p>{}",
            badge(&line.outcome),
            prose(&line.text)
        ));
        if let Some(cause) = &line.cause {
            html.push_str(&format!(" <code class=\"cause\">{}</code>", text(cause)));
        }
        html.push_str("</p>");
        if let Some(remedy) = &line.remedy {
            html.push_str(&format!("<p class=\"remedy\"><b>hint:</b> {}</p>", prose(remedy)));
        }
        if !line.evidence.is_empty() {
            let lines: String =
                line.evidence.iter().map(|line| format!("<li>{}</li>", prose(line))).collect();
            html.push_str(&format!("<ul class=\"evidence\">{lines}</ul>"));
        }
        html.push_str("</div></li>\n");
    }
    html.push_str("</ul>\n");
    html
}

/// Every step, with what it has to say.
fn steps(all: &[StepLine]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let badged =
        |head: &Head, cell: &Cell<'_>| (head.key == "status").then(|| badge(cell.text().unwrap_or_default()));
    format!(
        "<div>\n<h3>Steps</h3>\n{}</div>\n",
        html_table(&tables::steps(all), " steps", usize::MAX, &badged)
    )
}
