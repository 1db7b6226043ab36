//! One page for decision makers: what was run, how long it took, what limits it.

use analysis::{BoundKind, Joined};
use record::{StepName, StepStatus, VerdictRecord};
use trace::Selection;

use super::screen::{no_kernels, operators_pass};
use crate::form::markdown::{Markdown, cell, code, sentence};
use crate::form::shown::Digits;
use crate::form::terminal::Names;
use crate::page::Page;
use crate::tables::{self, LOOPS, View, busy_of_time, ended_early, facts, first_lines, gained, no_finding};
use crate::units::{count, duration, percent};

/// Rows of each table.
const TOP: usize = 10;
/// Findings to remember.
const TAKEN: usize = 3;
/// All that fits on one page.
const MOST_STAGES: usize = 30;
const NO_STAGE: &str = "no range is named `prefill` or `decode`, and there are no outermost regions or too many \
    to be stages; name your stages with `rangefinder analyze --stage NAME`";

/// Every section is there; one without data says why.
pub fn stakeholder_markdown(page: &Page<'_>) -> String {
    let mut text = format!("# Summary of {}\n\n", cell(page.title));
    if !page.workload.is_empty() {
        text.push_str(&format!("{}\n\n", code(page.workload)));
    }
    if let Some(what) = ended_early(page) {
        text.push_str(&format!("**{}**\n\n", sentence(&what)));
    }
    limits(&mut text, page);
    environment(&mut text, page);
    aggregates(&mut text, page);
    stages(&mut text, page);
    efficiency(&mut text, page);
    operators(&mut text, page);
    kernels(&mut text, page);
    overhead(&mut text, page);
    takeaways(&mut text, page);
    text
}

fn form(rows: usize) -> Markdown {
    Markdown { view: View::Stakeholder, rows, names: Names::Short, digits: Digits::Grouped, absent: "-" }
}

fn not_measured(text: &mut String, why: &str) {
    text.push_str(&format!("Not measured: {why}.\n\n"));
}

/// Why nothing was analyzed.
fn no_findings(page: &Page<'_>) -> String {
    match page.not_done(&[StepName::Analyze, StepName::Timeline]) {
        Some((step, note)) if step.status == StepStatus::Interrupted => {
            format!("{} was interrupted {}", step.name.as_str(), one_line(note))
        }
        Some((_, note)) => one_line(note),
        None => "nothing was analyzed".to_owned(),
    }
}

fn one_line(text: &str) -> String {
    sentence(text.lines().next().unwrap_or_default())
}

fn environment(text: &mut String, page: &Page<'_>) {
    text.push_str("## Environment\n\n");
    if page.environment.is_empty() {
        return not_measured(text, "the machine was not queried");
    }
    text.push_str(&form(usize::MAX).table(&facts(page.environment)));
    text.push('\n');
}

fn aggregates(text: &mut String, page: &Page<'_>) {
    text.push_str("## Aggregates\n\n");
    let Some(analysis) = page.analysis else { return not_measured(text, &no_findings(page)) };
    let time = match analysis.selected {
        Some(Selection::Ranges) => "time from the first selected range to the last",
        Some(Selection::Load) => "time while the load ran",
        None => "time recorded",
    };
    let mut rows = vec![
        (time.to_owned(), duration(analysis.span_ns as f64)),
        ("kernels".to_owned(), count(analysis.kernel_calls())),
        ("regions".to_owned(), analysis.region_count().to_string()),
    ];
    for row in analysis.idle.iter().filter(|row| row.region.is_none()) {
        rows.push((format!("{} busy", row.device_called()), busy_of_time(row, usize::MAX)));
    }
    text.push_str(&form(usize::MAX).table(&facts(&rows)));
    text.push('\n');
}

fn stages(text: &mut String, page: &Page<'_>) {
    text.push_str("## Per-Stage Timings\n\n");
    let Some(analysis) = page.analysis else { return not_measured(text, &no_findings(page)) };
    if analysis.stages.is_empty() {
        return not_measured(text, NO_STAGE);
    }
    let form = Markdown { absent: "", ..form(MOST_STAGES) };
    text.push_str(&form.counted(&tables::stages(analysis)));
    text.push('\n');
}

fn efficiency(text: &mut String, page: &Page<'_>) {
    text.push_str("## MFU\n\n");
    if page.insight.efficiency.is_empty() {
        return not_measured(text, page.no_efficiency());
    }
    text.push_str(&form(usize::MAX).table(&tables::efficiency(&page.insight.efficiency)));
    text.push('\n');
    for (stage, line) in page.assumptions() {
        let stage = stage.map(|stage| format!("{}: ", code(stage))).unwrap_or_default();
        text.push_str(&format!("- {stage}{}\n", sentence(line)));
    }
    text.push('\n');
}

fn operators(text: &mut String, page: &Page<'_>) {
    text.push_str("## Top Operators\n\n");
    let Some(analysis) = page.analysis.filter(|analysis| !analysis.operators.is_empty()) else {
        let stage1 = page.steps.iter().find(|step| step.name == StepName::Stage1);
        let stage1 = stage1.and_then(|step| Some((step.status, step.note.as_deref()?)));
        return not_measured(
            text,
            &match stage1 {
                Some((StepStatus::Skipped, note)) => one_line(note),
                Some((status, note)) => format!("stage 1: {}, {}", status.as_str(), one_line(note)),
                None => "this run has no trace from a framework's profiler".to_owned(),
            },
        );
    };
    text.push_str(&form(TOP).table(&tables::operators(analysis)));
    if let Some(pass) = operators_pass(page) {
        text.push_str(&format!("\nTimes are those {pass}.\n"));
    }
    text.push('\n');
}

fn kernels(text: &mut String, page: &Page<'_>) {
    text.push_str("## Top Kernels\n\n");
    let Some(analysis) = page.analysis else { return not_measured(text, &no_findings(page)) };
    if analysis.kernels.is_empty() {
        text.push_str(&format!("{}.\n\n", no_kernels(analysis)));
        return;
    }
    let (table, of) = tables::headline_kernels(page, analysis);
    if !of.is_empty() {
        text.push_str(&format!("{}.\n\n", sentence(&format!("Kernels {of}"))));
    }
    text.push_str(&form(TOP).table(&table));
    text.push('\n');
}

fn overhead(text: &mut String, page: &Page<'_>) {
    text.push_str("## Profiling Overhead\n\n");
    if page.insight.overhead.is_empty() {
        return not_measured(text, page.no_overhead());
    }
    text.push_str(&form(TOP).table(&tables::overhead(&page.insight.overhead)));
    text.push_str(&format!(
        "\n{}. In the rehearsal, only the tracer runs in the program.\n\n",
        tables::OVERHEAD_TIMES
    ));
    if let Some(doubt) = &page.insight.unsteady {
        text.push_str(&format!("Doubtful: {}.\n\n", sentence(doubt)));
    }
}

fn takeaways(text: &mut String, page: &Page<'_>) {
    text.push_str("## Takeaways\n\n");
    let before = text.len();
    for finding in page.insight.findings.iter().take(TAKEN) {
        text.push_str(&format!("- {}\n", sentence(&finding.title)));
        if let Some(gained) = gained(finding) {
            text.push_str(&format!("  - without it: {}\n", sentence(&gained)));
        }
    }
    for VerdictRecord { tool, verdict, .. } in page.verdicts {
        text.push_str(&format!("- {tool}: {}, {}\n", verdict.outcome.as_str(), one_line(&verdict.text)));
    }
    for step in page.steps.iter().filter(|step| step.status == StepStatus::Skipped) {
        let note = step.note.as_deref().unwrap_or_default();
        text.push_str(&format!("- {} was skipped: {}\n", step.name.as_str(), one_line(note)));
    }
    if let Some(joined) = &page.insight.joined {
        for region in joined.regions.iter().take(3) {
            let name = match region.region.as_deref() {
                Some(region) if has_inner(region, joined) => {
                    format!("in `{}` outside its inner regions", cell(region))
                }
                Some(region) => format!("in `{}`", cell(region)),
                None => "outside all regions".to_owned(),
            };
            let bounds = region.bounds.iter().take(3).enumerate().map(|(at, (kind, part))| {
                let of = if at == 0 { " of the kernel time is limited" } else { "" };
                let what = match kind {
                    BoundKind::Unknown => "something that was not measured".to_owned(),
                    known => with_article(known.as_str()),
                };
                format!("{}{of} by {what}", percent(*part))
            });
            text.push_str(&format!("- {name}, {}\n", bounds.collect::<Vec<_>>().join(", ")));
        }
    }
    if text.len() == before {
        text.push_str("None: nothing was found.\n");
    }
    text.push('\n');
}

/// Whether kernels belong to regions inside of it: a region's time here is without theirs.
fn has_inner(region: &str, joined: &Joined) -> bool {
    let is_inner = |other: &str| other.strip_prefix(region).is_some_and(|rest| rest.starts_with('/'));
    joined.regions.iter().filter_map(|other| other.region.as_deref()).any(is_inner)
}

/// In a sentence, a unit that there is one of has an article: the FP32 pipe, but DRAM, latency, another pipe.
fn with_article(unit: &str) -> String {
    match unit.ends_with(" pipe") && !unit.starts_with("another") {
        true => format!("the {unit}"),
        false => unit.to_owned(),
    }
}

fn limits(text: &mut String, page: &Page<'_>) {
    text.push_str("## What Limits It\n\n");
    for line in page.analysis.map(|analysis| first_lines(analysis, LOOPS)).unwrap_or_default() {
        text.push_str(&format!("{}.\n\n", sentence(&line)));
    }
    if page.insight.findings.is_empty() {
        let why = match page.analysis {
            Some(analysis) => no_finding(analysis),
            None => no_findings(page),
        };
        text.push_str(&format!("No finding: {why}.\n\n"));
        return;
    }
    text.push_str(&form(usize::MAX).table(&tables::findings(&page.insight.findings)));
    text.push('\n');
}
