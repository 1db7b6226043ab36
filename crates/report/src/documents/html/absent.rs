//! What an empty section shows: the reason why it is empty.

use super::summary;
use crate::documents::screen::{no_kernels, whole_graphs};
use crate::form::escape;
use crate::page::Page;
use crate::units::{count, counted, duration};
use record::StepName;

fn absent(text: &str) -> String {
    format!("<p class=\"absent\">{}</p>\n", escape::prose(text))
}

pub(super) fn timeline(page: &Page<'_>) -> String {
    let otherwise = match page.trace {
        Some(_) => "the trace of this run has no events",
        None => "this run has no trace",
    };
    absent(&format!(
        "Not recorded: {}.",
        summary::missing(page, &[StepName::Timeline, StepName::Rehearse], otherwise)
    ))
}

/// The reason comes from the steps that would have measured it.
fn not_measured(page: &Page<'_>, steps: &[StepName], otherwise: &str) -> String {
    absent(&format!("Not measured: {}.", summary::missing(page, steps, otherwise)))
}

fn analysis(page: &Page<'_>) -> String {
    not_measured(page, &[StepName::Analyze, StepName::Timeline], "nothing was analyzed")
}

pub(super) fn regions(page: &Page<'_>) -> String {
    match page.analysis {
        None => analysis(page),
        Some(analysis) if analysis.regions.is_empty() => absent("The workload opened no NVTX range."),
        Some(_) => String::new(),
    }
}

pub(super) fn kernels(page: &Page<'_>) -> String {
    match page.analysis {
        None => analysis(page),
        Some(analysis) if analysis.kernels.is_empty() && analysis.graphs == 0 => {
            absent(&format!("{}.", no_kernels(analysis)))
        }
        Some(analysis) if analysis.graphs > 0 => absent(&format!("{}.", whole_graphs(analysis))),
        Some(_) => String::new(),
    }
}

pub(super) fn idle(page: &Page<'_>) -> String {
    match page.analysis {
        None => analysis(page),
        Some(analysis) if analysis.idle.is_empty() => absent("No GPU work was recorded."),
        Some(_) => String::new(),
    }
}

pub(super) fn roofline(page: &Page<'_>) -> String {
    if !page.insight.roofline.is_empty() {
        return String::new();
    }
    let otherwise = match page.counters {
        Some(_) => "the metrics collected include neither operations nor bytes",
        None => "no counters were collected",
    };
    not_measured(page, &[StepName::Counters], otherwise)
}

pub(super) fn counters(page: &Page<'_>) -> String {
    let measured = page.counters.is_some_and(|counters| {
        let ranges = counters.regions.iter().any(|region| !region.measured_on_the_whole_range.is_empty());
        counters.launches > 0 || ranges || !counters.measured_on_the_whole_range.is_empty()
    });
    if measured {
        return String::new();
    }
    not_measured(page, &[StepName::Counters], "no counters were collected")
}

/// Why there are no counters beside the timeline, as a note under a table.
pub(super) fn beside_timeline(page: &Page<'_>) -> Option<String> {
    if page.insight.joined.is_some() {
        return None;
    }
    let otherwise = match page.counters {
        Some(_) => "there is no timeline to match the counters with",
        None => "no counters were collected",
    };
    let why = summary::missing(page, &[StepName::Counters], otherwise);
    Some(format!("Limit, SM, DRAM and occupancy are not measured: {why}."))
}

/// Kernels outside all regions.
pub(super) fn unattributed(page: &Page<'_>) -> String {
    let Some(analysis) = page.analysis else { return String::new() };
    let outside = &analysis.unattributed;
    if outside.kernels == 0 || analysis.regions.is_empty() {
        return String::new();
    }
    let without_call = match outside.without_call {
        0 => String::new(),
        without => format!(", {} of them without a recorded launch", count(without)),
    };
    format!(
        "<p class=\"note\">Outside all ranges: {}, {}{without_call}.</p>\n",
        counted(outside.kernels, "kernel"),
        duration(outside.gpu_ns as f64)
    )
}
