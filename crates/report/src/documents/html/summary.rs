//! What was captured and what was not: the first thing on the page.

use record::{Outcome, Step, StepName, StepStatus, Tool, VerdictRecord};

use super::headline::headlines;
use crate::form::escape::prose;
use crate::form::html::html_table;
use crate::page::{Page, Rehearsal};
use crate::printable::joined;
use crate::tables::{self, Cell, Head};
use crate::units::counted;

pub(super) fn summary(page: &Page<'_>) -> String {
    let mut html = match tables::ended_early(page) {
        Some(what) => format!("<p class=\"callout\"><b>{}</b></p>\n", prose(&what)),
        None => String::new(),
    };
    for line in tables::unread_lines(page) {
        html.push_str(&format!("<p class=\"callout\"><b>Read in part:</b> {}.</p>\n", prose(&line)));
    }
    html.push_str(&headlines(page));
    if page.analysis.is_none() {
        let why = missing(page, &[StepName::Analyze, StepName::Timeline], "this run has no timeline");
        html.push_str(&format!("<p class=\"absent\">Nothing was analyzed: {}.</p>\n", prose(&why)));
    }
    html.push_str(&format!(
        "<div class=\"captured\">\n<div>\n{}</div>\n{}</div>\n",
        verdicts(page),
        steps(page.steps)
    ));
    if let Some(lost) =
        page.analysis.map(|analysis| analysis.diagnostics.iter().filter(|row| row.lost).count())
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

/// Why something is missing, according to a step that was not done, or else to a verdict.
pub(super) fn missing(page: &Page<'_>, steps: &[StepName], otherwise: &str) -> String {
    if let Some((step, note)) = page.not_done(steps) {
        let was = match step.status {
            StepStatus::Failed => "failed".to_owned(),
            status => format!("was {}", status.as_str()),
        };
        let note = joined(note);
        return format!("the {} step {was} ({})", step.name.as_str(), note.trim_end_matches('.'));
    }
    let tool = if steps.contains(&StepName::Counters) { Tool::Ncu } else { Tool::Nsys };
    let is_bad = |line: &&VerdictRecord| line.tool == tool && !line.verdict.outcome.is_usable();
    page.verdicts.iter().find(is_bad).map_or(otherwise.to_owned(), |line| {
        format!("{tool} {}: {}", line.verdict.outcome.as_str(), line.verdict.text.trim_end_matches('.'))
    })
}

/// A sign beside the word, because not everybody can tell colors apart.
fn badge(class: &str, sign: &str, word: &str) -> String {
    format!("<span class=\"badge {class}\"><span aria-hidden=\"true\">{sign}</span> {word}</span>")
}

fn outcome_badge(outcome: Outcome) -> String {
    let (class, sign) = match outcome {
        Outcome::Captured => ("good", "✓"),
        Outcome::Partial => ("part", "◐"),
        Outcome::Missed => ("miss", "○"),
        Outcome::Failed => ("bad", "✕"),
    };
    badge(class, sign, outcome.as_str())
}

fn status_badge(status: StepStatus) -> String {
    let (class, sign) = match status {
        StepStatus::Done => ("good", "✓"),
        StepStatus::Interrupted => ("miss", "○"),
        StepStatus::Failed => ("bad", "✕"),
        StepStatus::Skipped | StepStatus::Pending | StepStatus::Running => ("none", "–"),
    };
    badge(class, sign, status.as_str())
}

fn verdicts(page: &Page<'_>) -> String {
    let mut html = "<h3>What was captured</h3>\n".to_owned();
    if page.verdicts.is_empty() {
        html.push_str(&format!("<p class=\"absent\">{}</p>\n", prose(&unjudged(page))));
        return html;
    }
    html.push_str("<ul class=\"verdicts\">\n");
    for VerdictRecord { tool, rung, verdict } in page.verdicts {
        html.push_str(&format!("<li><div class=\"tool\"><b>{tool}</b> <span>{rung}</span>"));
        html.push_str(&format!(
            "</div><div>{}</div><div class=\"said\"><p>{}",
            outcome_badge(verdict.outcome),
            prose(&verdict.text)
        ));
        if let Some(cause) = verdict.cause {
            html.push_str(&format!(" <code class=\"cause\">{cause}</code>"));
        }
        html.push_str("</p>");
        if let Some(remedy) = &verdict.remedy {
            html.push_str(&format!("<p class=\"remedy\"><b>hint:</b> {}</p>", prose(remedy)));
        }
        if !verdict.evidence.is_empty() {
            let lines: String =
                verdict.evidence.iter().map(|line| format!("<li>{}</li>", prose(line))).collect();
            html.push_str(&format!("<ul class=\"evidence\">{lines}</ul>"));
        }
        html.push_str("</div></li>\n");
    }
    html.push_str("</ul>\n");
    html
}

/// What was captured, where there is no verdict on it.
fn unjudged(page: &Page<'_>) -> String {
    let samples = page.analysis.and_then(|analysis| analysis.host.as_ref()).map(|host| host.samples);
    let sampled = samples.map(|samples| format!("; {} of stacks", counted(samples, "sample")));
    match page.rehearsal {
        Some(Rehearsal { said, .. }) => {
            format!("One pass, recorded by Rangefinder itself: {said}{}.", sampled.unwrap_or_default())
        }
        None if page.is_of_a_run() => "Nothing was recorded.".to_owned(),
        None => "Existing reports; not checked by a run.".to_owned(),
    }
}

/// Every step, with its note.
fn steps(all: &[Step]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let badged = |head: &Head, cell: &Cell<'_>| {
        let status = StepStatus::ALL.into_iter().find(|status| cell.text() == Some(status.as_str()));
        status.filter(|_| head.key == "status").map(status_badge)
    };
    format!(
        "<div>\n<h3>Steps</h3>\n{}</div>\n",
        html_table(&tables::steps(all), " steps", usize::MAX, &badged)
    )
}
