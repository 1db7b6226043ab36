//! Where it all comes from: machine, commands, and what is doubtful.

use crate::form::escape::{prose, text};
use crate::page::Page;
use crate::units::{duration, fixed};

/// Regions shown with their cost; the rest is in `overhead.csv`.
const MOST: usize = 50;

pub(super) fn environment(page: &Page<'_>) -> String {
    format!("{}<h3>What profiling cost</h3>\n{}", machine(page), overhead(page))
}

/// Regions with the profiler and with only the tracer.
fn overhead(page: &Page<'_>) -> String {
    if page.insight.overhead.is_empty() {
        return format!("<p class=\"absent\">Not measured, because {}.</p>\n", text(page.no_overhead()));
    }
    let rows = page.insight.overhead.iter().take(MOST).map(|row| {
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            text(&row.region),
            text(&duration(row.rehearsed_ns as f64)),
            text(&duration(row.profiled_ns as f64)),
            fixed(row.ratio, 2)
        )
    });
    let doubt = page.insight.unsteady.as_ref().map(|doubt| format!(" Doubtful: {}.", prose(doubt)));
    let more = page.insight.overhead.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" {more} regions more are in overhead.csv.") } else { String::new() };
    format!(
        "<table class=\"plain facts\">\n<thead><tr><th scope=\"col\">region</th><th scope=\"col\">rehearsed</th>\
         <th scope=\"col\">profiled</th><th scope=\"col\">ratio</th></tr></thead>\n<tbody>\n{}</tbody>\n</table>\n\
         <p class=\"note\">Medians of the instances after the first.{more}{}</p>\n",
        rows.collect::<String>(),
        doubt.unwrap_or_default()
    )
}

fn machine(page: &Page<'_>) -> String {
    if page.environment.is_empty() {
        return "<p class=\"absent\">Nothing is known about the machine.</p>\n".to_owned();
    }
    let rows = page.environment.iter().map(|(name, value)| {
        format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", text(name), text(value))
    });
    format!("<table class=\"plain facts\">\n<tbody>\n{}</tbody>\n</table>\n", rows.collect::<String>())
}

pub(super) fn commands(page: &Page<'_>) -> String {
    if page.commands.is_empty() {
        return "<p class=\"absent\">No command was recorded.</p>\n".to_owned();
    }
    let one = |(pass, command): &(String, String)| {
        format!(
            "<li><h3>{pass}</h3><div class=\"command\"><pre tabindex=\"0\"><code>{}</code></pre>\
             <button type=\"button\" data-copy aria-label=\"copy the command of {pass}\">copy</button></div></li>\n",
            text(command),
            pass = text(pass)
        )
    };
    format!("<ul class=\"commands\">\n{}</ul>\n", page.commands.iter().map(one).collect::<String>())
}

/// Warnings of the run, then what the trace and the counters say of themselves.
pub(super) fn warnings(page: &Page<'_>) -> String {
    let mut all: Vec<(&str, &str)> = page.warnings.iter().map(|line| ("warning", line.as_str())).collect();
    for row in page.findings.into_iter().flat_map(|findings| &findings.diagnostics) {
        all.push((if row.lost { "lost" } else { "note" }, &row.text));
    }
    all.extend(
        page.counters.into_iter().flat_map(|counters| &counters.notes).map(|note| ("note", note.as_str())),
    );
    if all.is_empty() {
        return "<p class=\"absent\">None.</p>\n".to_owned();
    }
    let line = |(kind, line): (&str, &str)| format!("<li><b>{kind}:</b> {}</li>\n", prose(line));
    format!("<ul class=\"warnings\">\n{}</ul>\n", all.into_iter().map(line).collect::<String>())
}
