//! One page for somebody who decides: what was run, how long it took, what limits it.

use crate::form::markdown::{cell, sentence};
use crate::page::Page;
use crate::units::{bytes, count, duration, fixed, operations, percent};

/// Rows of each table.
const TOP: usize = 10;
/// One page has room for so many.
const MOST_STAGES: usize = 30;
const NO_STAGE: &str = "no range is called `prefill` or `decode`, and what is outermost is nothing or too much to \
    be stages; `rangefinder analyze --stage NAME` takes other names";

/// Every section is there; one without data says why.
pub fn stakeholder_markdown(page: &Page<'_>) -> String {
    let mut text = format!("# Summary of {}\n\n`{}`\n\n", cell(page.title), cell(page.workload));
    environment(&mut text, page);
    aggregates(&mut text, page);
    stages(&mut text, page);
    efficiency(&mut text, page);
    operators(&mut text, page);
    kernels(&mut text, page);
    overhead(&mut text, page);
    takeaways(&mut text, page);
    recommendations(&mut text, page);
    text
}

fn not_measured(text: &mut String, why: &str) {
    text.push_str(&format!("Not measured, because {why}.\n\n"));
}

/// Why there is no timeline, or nothing in it.
fn no_timeline(page: &Page<'_>) -> String {
    let step = page.steps.iter().find(|step| step.name == "timeline" && step.status != "done");
    match step {
        Some(step) => format!("there is no timeline: {}", one_line(&step.note)),
        None => "the program ran nothing of the kind".to_owned(),
    }
}

fn one_line(text: &str) -> String {
    sentence(text.lines().next().unwrap_or_default())
}

fn environment(text: &mut String, page: &Page<'_>) {
    text.push_str("## Environment\n\n");
    if page.environment.is_empty() {
        return not_measured(text, "the machine was not asked");
    }
    text.push_str("| | |\n|---|---|\n");
    for (name, value) in page.environment {
        text.push_str(&format!("| {} | {} |\n", cell(name), cell(value)));
    }
    text.push('\n');
}

fn aggregates(text: &mut String, page: &Page<'_>) {
    text.push_str("## Aggregates\n\n");
    let Some(findings) = page.findings else {
        return not_measured(text, &no_timeline(page));
    };
    text.push_str("| | |\n|---|---|\n");
    text.push_str(&format!("| time recorded | {} |\n", duration(findings.span_ns as f64)));
    text.push_str(&format!(
        "| kernels | {} |\n| regions | {} |\n",
        count(findings.kernel_calls()),
        findings.region_count()
    ));
    for row in findings.idle.iter().filter(|row| row.region.is_none()) {
        let causes: Vec<String> =
            row.cause_shares.iter().map(|(cause, share)| format!("{cause} {}", percent(*share))).collect();
        let causes = if causes.is_empty() { "nothing".to_owned() } else { causes.join(", ") };
        text.push_str(&format!(
            "| GPU {} busy | {}; waits for {causes} |\n",
            row.device,
            percent(row.busy_share)
        ));
    }
    text.push('\n');
}

fn stages(text: &mut String, page: &Page<'_>) {
    text.push_str("## Per-Stage Timings\n\n");
    let Some(findings) = page.findings else { return not_measured(text, &no_timeline(page)) };
    if findings.stages.is_empty() {
        return not_measured(text, NO_STAGE);
    }
    text.push_str("| stage | instances | total | first | then mean | p95 | tokens/s |\n|---|---:|---:|---:|---:|---:|---:|\n");
    for stage in findings.stages.iter().take(MOST_STAGES) {
        let time = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), |ns| duration(ns as f64));
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            cell(&stage.region),
            stage.times.map_or(0, |times| times.count),
            time(stage.times.map(|times| times.total_ns)),
            time(stage.first_ns),
            time(stage.steady.map(|times| times.mean_ns)),
            time(stage.steady.map(|times| times.p95_ns)),
            stage.tokens_per_second.map_or_else(|| "-".to_owned(), |rate| fixed(rate, 1)),
        ));
    }
    let all = findings.stages.len() as u64 + findings.more_stages.map_or(0, |more| more.rows);
    if all > MOST_STAGES as u64 {
        text.push_str(&format!("\nand {} more\n", count(all - MOST_STAGES as u64)));
    }
    text.push('\n');
}

fn efficiency(text: &mut String, page: &Page<'_>) {
    text.push_str("## MFU\n\n");
    if page.insight.efficiency.is_empty() {
        return not_measured(text, page.no_efficiency());
    }
    text.push_str(
        "| stage | one instance | operations | MFU | bytes | MBU |\n|---|---:|---:|---:|---:|---:|\n",
    );
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    for row in &page.insight.efficiency {
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            cell(&row.region),
            duration(row.seconds * 1e9),
            operations(row.flops),
            percent(row.mfu),
            or_dash(row.bytes.map(bytes)),
            or_dash(row.mbu.map(percent)),
        ));
    }
    text.push('\n');
    for (stage, line) in page.assumptions() {
        let stage = stage.map(|stage| format!("{}: ", cell(stage))).unwrap_or_default();
        text.push_str(&format!("- {stage}{}\n", sentence(line)));
    }
    text.push('\n');
}

fn operators(text: &mut String, page: &Page<'_>) {
    text.push_str("## Top Operators\n\n");
    let rows = page.findings.map_or(&[][..], |findings| &findings.operators);
    if rows.is_empty() {
        let stage1 = page.steps.iter().find(|step| step.name == "stage1" && !step.note.is_empty());
        return not_measured(
            text,
            &match stage1 {
                Some(step) => format!("{} of stage 1: {}", step.status, one_line(&step.note)),
                None => "no trace of a framework's profiler is part of this run".to_owned(),
            },
        );
    }
    text.push_str("| operator | calls | own time on the host | on the GPU |\n|---|---:|---:|---:|\n");
    for row in rows.iter().take(TOP) {
        text.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            cell(&row.name),
            count(row.calls),
            duration(row.host_self_ns as f64),
            duration(row.device_total_ns as f64)
        ));
    }
    text.push('\n');
}

fn kernels(text: &mut String, page: &Page<'_>) {
    text.push_str("## Top Kernels\n\n");
    let rows = page.findings.map_or(&[][..], |findings| &findings.kernels);
    if rows.is_empty() {
        return not_measured(text, &no_timeline(page));
    }
    text.push_str("| kernel | calls | total | mean | share | limited by |\n|---|---:|---:|---:|---:|---|\n");
    for row in rows.iter().take(TOP) {
        let statistics = row.statistics;
        text.push_str(&format!(
            "| `{}` | {} | {} | {} | {} | {} |\n",
            cell(&row.short_name),
            count(statistics.calls),
            duration(statistics.total_ns as f64),
            duration(statistics.mean_ns),
            percent(statistics.share),
            limit(page, &row.name),
        ));
    }
    text.push('\n');
}

/// What limits most of a kernel's time.
pub(crate) fn limit(page: &Page<'_>, name: &str) -> String {
    let kinds =
        page.insight.joined.iter().flat_map(|joined| &joined.kernels).filter(|kernel| kernel.name == name);
    let known = kinds.filter(|kernel| !kernel.results.is_empty()).max_by_key(|kernel| kernel.gpu_ns);
    known.map_or("not measured".to_owned(), |kernel| kernel.bound.as_str().to_owned())
}

fn overhead(text: &mut String, page: &Page<'_>) {
    text.push_str("## Profiling Overhead\n\n");
    if page.insight.overhead.is_empty() {
        return not_measured(text, page.no_overhead());
    }
    text.push_str("| region | instances | rehearsed | profiled | ratio |\n|---|---:|---:|---:|---:|\n");
    for row in page.insight.overhead.iter().take(TOP) {
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            cell(&row.region),
            row.instances,
            duration(row.rehearsed_ns as f64),
            duration(row.profiled_ns as f64),
            fixed(row.ratio, 2),
        ));
    }
    text.push_str(
        "\nMedians of the instances after the first. In the rehearsal only the tracer is in the program.\n\n",
    );
    if let Some(doubt) = &page.insight.unsteady {
        text.push_str(&format!("Doubtful: {}.\n\n", sentence(doubt)));
    }
}

fn takeaways(text: &mut String, page: &Page<'_>) {
    text.push_str("## Takeaways\n\n");
    for verdict in page.verdicts {
        text.push_str(&format!("- {}: {}, {}\n", verdict.tool, verdict.outcome, one_line(&verdict.text)));
    }
    for step in page.steps.iter().filter(|step| step.status == "skipped") {
        text.push_str(&format!("- {} was skipped: {}\n", step.name, one_line(&step.note)));
    }
    if let Some(first) = page.insight.recommendations.first() {
        text.push_str(&format!("- {}\n", sentence(&first.title)));
    }
    if let Some(joined) = &page.insight.joined {
        for region in joined.regions.iter().take(3) {
            let name = region.region.as_deref().unwrap_or("outside all regions");
            let bounds: Vec<String> = region
                .bounds
                .iter()
                .take(3)
                .map(|(kind, part)| format!("{} {}", kind.as_str(), percent(*part)))
                .collect();
            text.push_str(&format!("- kernels of `{}` are limited by {}\n", cell(name), bounds.join(", ")));
        }
    }
    text.push('\n');
}

fn recommendations(text: &mut String, page: &Page<'_>) {
    text.push_str("## Recommendations\n\n");
    if page.insight.recommendations.is_empty() {
        let why = match page.findings {
            Some(_) => "nothing that was measured takes enough time to be worth a change".to_owned(),
            None => no_timeline(page),
        };
        text.push_str(&format!("None: {why}.\n"));
        return;
    }
    text.push_str("| | what | at stake | at most | do |\n|---:|---|---:|---:|---|\n");
    for (at, advice) in page.insight.recommendations.iter().enumerate() {
        text.push_str(&format!(
            "| {} | {} | {} of {} | {}x | {} |\n",
            at + 1,
            sentence(&advice.title),
            percent(advice.share),
            advice.of.as_str(),
            fixed(advice.gain, 2),
            sentence(&advice.advice)
        ));
    }
}
