//! `report.md`: everything, as text.

use crate::form::markdown::{Markdown, cell, code, sentence};
use crate::form::shown::Digits;
use crate::form::terminal::Names;
use crate::page::Page;
use crate::tables::{
    OVERHEAD_TIMES, Tabular, View, captures, ended_early, facts, host_lines, overhead, passes, processes,
    rank_verdict_table, rehearsed, steps, unread_lines,
};

use super::counters_screen::counters_terminal;
use super::insight::{bounds_text, findings_text, roofline_text, what_if_text};
use super::screen::terminal;

/// A section that has nothing to say is left out.
pub fn report_markdown(page: &Page<'_>) -> String {
    let mut text = format!("# {}\n\n", cell(page.title));
    if !page.workload.is_empty() {
        text.push_str(&format!("{}\n\n", code(page.workload)));
    }
    if let Some(what) = ended_early(page) {
        text.push_str(&format!("**{}**\n\n", sentence(&what)));
    }
    let unread = unread_lines(page);
    unread.iter().for_each(|line| text.push_str(&format!("**Read in part**: {}.\n\n", sentence(line))));
    table(&mut text, "Passes", &passes(page.passes));
    table(&mut text, "Ranks", &rank_verdict_table(page));
    table(&mut text, "Processes", &processes(page));
    table(&mut text, "Captures", &captures(page.verdicts));
    let what_if = what_if_text(page.analysis);
    if !what_if.is_empty() {
        screen(&mut text, "What if", &what_if);
    }
    if page.analysis.is_some() {
        screen(&mut text, "Timeline", &terminal(page, page.top));
    }
    insight(&mut text, page);
    cost(&mut text, page);
    if let Some(counters) = page.counters {
        screen(&mut text, "Counters", &counters_terminal(page, "ncu", counters, page.top));
        let file = format!("{}/report.md", page.counters_at);
        text.push_str(&format!("Every metric by region: [{file}]({file})\n\n"));
    }
    if let Some(rehearsal) = page.rehearsal {
        heading(&mut text, "Regions");
        text.push_str(&format!("{}. Host times from the rehearsal.\n\n", sentence(rehearsal.said)));
        body(&mut text, &rehearsed(rehearsal.regions), usize::MAX);
    }
    table(&mut text, "Steps", &steps(page.steps));
    table(&mut text, "Environment", &facts(page.environment));
    if !page.warnings.is_empty() {
        heading(&mut text, "Warnings");
        page.warnings.iter().for_each(|warning| text.push_str(&format!("- {}\n", sentence(warning))));
    }
    text
}

fn heading(text: &mut String, title: &str) {
    text.push_str(&format!("## {title}\n\n"));
}

fn table(text: &mut String, title: &str, rows: &dyn Tabular) {
    if rows.len() > 0 {
        heading(text, title);
        body(text, rows, usize::MAX);
    }
}

fn body(text: &mut String, table: &dyn Tabular, rows: usize) {
    let form = Markdown { view: View::Sheet, rows, names: Names::Whole, digits: Digits::Plain, absent: "" };
    if table.len() > 0 {
        text.push_str(&format!("{}\n", form.table(table)));
    }
}

/// What a terminal shows, as it is.
fn screen(text: &mut String, title: &str, shown: &str) {
    heading(text, title);
    text.push_str(&format!("```text\n{shown}```\n\n"));
}

/// What limits the program, and what to change.
fn insight(text: &mut String, page: &Page<'_>) {
    let insight = page.insight;
    let limits = findings_text(page.analysis, &insight.findings);
    if !limits.is_empty() {
        screen(text, "What limits it", &limits);
    }
    if let Some(analysis) = page.analysis {
        let lines = host_lines(analysis);
        if lines.len() > 0 {
            heading(text, lines.about().caption);
            body(text, &lines, page.top);
        }
    }
    if let Some(joined) = &insight.joined {
        screen(text, "What limits the kernels", &bounds_text(joined, page.top));
    }
    if !insight.roofline.is_empty() {
        screen(text, "Roofline", &roofline_text(&insight.roofline, page.top));
    }
}

/// How much nsys changed the times above.
fn cost(text: &mut String, page: &Page<'_>) {
    if page.insight.overhead.is_empty() {
        return;
    }
    heading(text, "What profiling cost");
    text.push_str(&format!("{OVERHEAD_TIMES}; with nsys and in the rehearsal.\n\n"));
    body(text, &overhead(&page.insight.overhead), page.top);
    if let Some(doubt) = &page.insight.unsteady {
        text.push_str(&format!("Doubtful: {}.\n\n", sentence(doubt)));
    }
}
