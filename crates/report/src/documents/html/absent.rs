//! What stands in a section that has nothing to show: the reason why.

use super::summary;
use crate::form::escape;
use crate::page::Page;
use crate::units::{count, duration};
use record::StepName;

fn absent(text: &str) -> String {
    format!("<p class=\"absent\">{}</p>\n", escape::prose(text))
}

pub(super) fn timeline(page: &Page<'_>) -> String {
    let otherwise = match page.trace {
        Some(_) => "the trace of this run holds no event",
        None => "there is no trace of this run",
    };
    absent(&format!(
        "Not recorded, because {}.",
        summary::missing(page, &[StepName::Timeline, StepName::Rehearse], otherwise)
    ))
}

/// By the steps that would have brought it.
fn not_measured(page: &Page<'_>, steps: &[StepName], otherwise: &str) -> String {
    absent(&format!("Not measured, because {}.", summary::missing(page, steps, otherwise)))
}

fn findings(page: &Page<'_>) -> String {
    not_measured(page, &[StepName::Analyze, StepName::Timeline], "nothing was analyzed")
}

pub(super) fn regions(page: &Page<'_>) -> String {
    match page.findings {
        None => findings(page),
        Some(findings) if findings.regions.is_empty() => absent("The workload emitted no NVTX range."),
        Some(_) => String::new(),
    }
}

pub(super) fn kernels(page: &Page<'_>) -> String {
    match page.findings {
        None => findings(page),
        Some(findings) if findings.kernels.is_empty() && findings.graphs == 0 => {
            not_measured(page, &[StepName::Timeline], "no kernel is in the trace")
        }
        Some(findings) if findings.graphs > 0 => absent(&format!(
            "{} graph launches were recorded as a whole; nsys --cuda-graph-trace=node records their kernels.",
            count(findings.graphs)
        )),
        Some(_) => String::new(),
    }
}

pub(super) fn idle(page: &Page<'_>) -> String {
    match page.findings {
        None => findings(page),
        Some(findings) if findings.idle.is_empty() => {
            not_measured(page, &[StepName::Timeline], "nothing ran on a GPU in the trace")
        }
        Some(_) => String::new(),
    }
}

pub(super) fn roofline(page: &Page<'_>) -> String {
    if !page.insight.roofline.is_empty() {
        return String::new();
    }
    let otherwise = match page.counters {
        Some(_) => "the metrics that were taken count neither operations nor bytes",
        None => "no counters were taken",
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
    not_measured(page, &[StepName::Counters], "no counters were taken")
}

/// Why there are no counters beside the timeline, as a note under a table.
pub(super) fn beside_timeline(page: &Page<'_>) -> Option<String> {
    if page.insight.joined.is_some() {
        return None;
    }
    let otherwise = match page.counters {
        Some(_) => "there is no timeline to set the counters beside",
        None => "no counters were taken",
    };
    let why = summary::missing(page, &[StepName::Counters], otherwise);
    Some(format!("Bound, SM, DRAM and occupancy: not measured, because {why}."))
}

/// Kernels that no region has.
pub(super) fn unattributed(page: &Page<'_>) -> String {
    let Some(findings) = page.findings else { return String::new() };
    let outside = &findings.unattributed;
    if outside.kernels == 0 || findings.regions.is_empty() {
        return String::new();
    }
    let without_call = match outside.without_call {
        0 => String::new(),
        without => format!(", {} of them with no call that started them", count(without)),
    };
    format!(
        "<p class=\"note\">In no range: {} kernels, {}{without_call}.</p>\n",
        count(outside.kernels),
        duration(outside.gpu_ns as f64)
    )
}
