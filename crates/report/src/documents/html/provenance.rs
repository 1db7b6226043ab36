//! Provenance: machine, commands, overhead and warnings.

use crate::form::escape::{prose, text};
use crate::form::html::html_table;
use crate::page::Page;
use crate::tables;
use crate::units::counted;

/// Regions shown with their overhead; the rest is in `overhead.csv`.
const MOST: usize = 50;

pub(super) fn environment(page: &Page<'_>) -> String {
    format!("{}<h3>What profiling cost</h3>\n{}", machine(page), overhead(page))
}

/// Regions with the profiler and with only the tracer.
fn overhead(page: &Page<'_>) -> String {
    if page.insight.overhead.is_empty() {
        return format!("<p class=\"absent\">Not measured: {}.</p>\n", text(page.no_overhead()));
    }
    let doubt = page.insight.unsteady.as_ref().map(|doubt| format!(" Doubtful: {}.", prose(doubt)));
    let more = page.insight.overhead.len().saturating_sub(MOST);
    let more = if more > 0 {
        format!(" For {}, see overhead.csv.", counted(more as u64, "more region"))
    } else {
        String::new()
    };
    let table = html_table(&tables::overhead(&page.insight.overhead), " facts", MOST, &|_, _| None);
    format!("{table}<p class=\"note\">{}.{more}{}</p>\n", tables::OVERHEAD_TIMES, doubt.unwrap_or_default())
}

fn machine(page: &Page<'_>) -> String {
    if page.environment.is_empty() {
        return "<p class=\"absent\">No information about the machine.</p>\n".to_owned();
    }
    html_table(&tables::facts(page.environment), " facts", usize::MAX, &|_, _| None)
}

pub(super) fn commands(page: &Page<'_>) -> String {
    if page.commands.is_empty() {
        return "<p class=\"absent\">No command was recorded.</p>\n".to_owned();
    }
    let one = |(pass, command): &(String, String)| {
        format!(
            "<li><h3>{pass}</h3><div class=\"command\"><pre tabindex=\"0\"><code>{}</code></pre>\
             <button type=\"button\" data-copy aria-label=\"copy the command for {pass}\">copy</button></div></li>\n",
            text(command),
            pass = text(pass)
        )
    };
    format!("<ul class=\"commands\">\n{}</ul>\n", page.commands.iter().map(one).collect::<String>())
}

/// Warnings of the run, then diagnostics of the trace and notes on the counters.
pub(super) fn warnings(page: &Page<'_>) -> String {
    let mut all: Vec<(&str, &str)> = page.warnings.iter().map(|line| ("warning", line.as_str())).collect();
    for row in page.analysis.into_iter().flat_map(|analysis| &analysis.diagnostics) {
        all.push((if row.lost { "lost" } else { "note" }, &row.text));
    }
    all.extend(page.counter_notes());
    if all.is_empty() {
        return "<p class=\"absent\">None.</p>\n".to_owned();
    }
    let line = |(kind, line): (&str, &str)| format!("<li><b>{kind}:</b> {}</li>\n", prose(line));
    format!("<ul class=\"warnings\">\n{}</ul>\n", all.into_iter().map(line).collect::<String>())
}
