//! One screen: what was captured, where the time goes, what to change.

use std::cmp::Reverse;
use std::collections::HashSet;

use analysis::{Findings, GpuRegion, IdleRow, Stage};

use super::stakeholder::limit;
use crate::form::terminal::Align::{Left, Right};
use crate::form::terminal::{shortened, table};
use crate::page::{Page, StepLine};
use crate::printable::printable;
use crate::units::{duration, fixed, percent};

const WIDEST: usize = 100;
const WIDEST_NAME: usize = 44;
const KERNELS: usize = 5;
const REGIONS: usize = 5;
const ADVICE: usize = 3;
/// Devices, idle causes and costs in a sentence.
const MOST_NAMED: usize = 4;

/// The screen; `files` are those that were written, as they are to be opened.
pub fn summary(page: &Page<'_>, files: &[String]) -> String {
    let mut text = format!("{}\n{}\n", printable(page.title), fitted("", page.workload));
    captures(&mut text, page);
    if let Some(findings) = page.findings {
        time(&mut text, findings);
        regions(&mut text, page, findings);
        kernels(&mut text, page, findings);
    }
    advice(&mut text, page);
    cost(&mut text, page);
    if !files.is_empty() {
        heading(&mut text, "files");
        files.iter().for_each(|file| text.push_str(&format!("  {}\n", printable(file))));
    }
    text
}

fn heading(text: &mut String, title: &str) {
    text.push_str(&format!("\n{title}\n"));
}

/// As many lines as it needs, the first after `before`.
fn wrapped(text: &mut String, before: &str, words: &str) {
    let indent = before.chars().count();
    let mut line = before.to_owned();
    for word in printable(&words.replace('\n', " ")).split_whitespace() {
        let wide = line.chars().count() + word.chars().count() > WIDEST;
        if wide && line.chars().count() > indent {
            text.push_str(&format!("{}\n", line.trim_end()));
            line = " ".repeat(indent);
        }
        line.push_str(word);
        line.push(' ');
    }
    text.push_str(&format!("{}\n", line.trim_end()));
}

/// One line, not wider than the screen.
fn fitted(before: &str, text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    format!("{before}{}", shortened(&printable(line), WIDEST - before.chars().count()))
}

/// What each tool ended with, and what to do where it is not all; then what was not tried.
fn captures(text: &mut String, page: &Page<'_>) {
    heading(text, "captures");
    let mut said = false;
    for (at, verdict) in page.verdicts.iter().enumerate() {
        // Of a ladder the last rung counts.
        if page.verdicts[at + 1..].iter().any(|later| later.tool == verdict.tool) {
            continue;
        }
        said = true;
        let before = format!("  {:<9}  {:<9}  ", verdict.tool, verdict.outcome);
        wrapped(text, &before, &verdict.text);
        if let Some(remedy) = verdict.remedy.as_ref().filter(|_| verdict.outcome != "captured") {
            wrapped(text, "             do: ", remedy);
        }
    }
    let by_a_verdict =
        |step: &StepLine| page.verdicts.iter().any(|verdict| step.note.contains(&verdict.text));
    let is_told = |step: &&StepLine| match &*step.status {
        // Most programs are not PyTorch's, and need not be told.
        "skipped" => step.name != "stage1" && !by_a_verdict(step),
        "failed" => !by_a_verdict(step),
        "interrupted" => true,
        _ => false,
    };
    for step in page.steps.iter().filter(is_told) {
        said = true;
        let before = format!("  {:<9}  {:<9}  ", step.name, step.status);
        wrapped(text, &before, step.note.lines().next().unwrap_or_default());
    }
    if !said {
        text.push_str("  none was tried\n");
    }
}

fn time(text: &mut String, findings: &Findings) {
    heading(text, "where the time goes");
    text.push_str(&format!(
        "  {} recorded: {}\n",
        duration(findings.span_ns as f64),
        printable(&findings.source)
    ));
    let devices: Vec<&IdleRow> = findings.idle.iter().filter(|row| row.region.is_none()).collect();
    for row in devices.iter().take(MOST_NAMED) {
        let causes: Vec<String> = row
            .cause_shares
            .iter()
            .take(MOST_NAMED)
            .map(|(cause, share)| format!("{cause} {}", percent(*share)))
            .collect();
        let waits =
            if causes.is_empty() { String::new() } else { format!(", waits for {}", causes.join(", ")) };
        text.push_str(&format!("  GPU {} busy {}{waits}\n", row.device, percent(row.busy_share)));
    }
    if devices.len() > MOST_NAMED {
        text.push_str(&format!("  and {} devices more\n", devices.len() - MOST_NAMED));
    }
}

/// The stages of a language model, then the longest of the other regions.
fn regions(text: &mut String, page: &Page<'_>, findings: &Findings) {
    let columns = [
        ("region", Left),
        ("instances", Right),
        ("total", Right),
        ("mean", Right),
        ("p50", Right),
        ("p95", Right),
        ("GPU busy", Right),
        ("tokens/s", Right),
        ("MFU", Right),
        ("MBU", Right),
    ];
    let busy = |path: &str| {
        let row = findings.idle.iter().find(|row| row.region.as_deref() == Some(path));
        row.map(|row| percent(row.busy_share)).unwrap_or_default()
    };
    let stage_cells = |stage: &Stage| {
        let times = stage.times?;
        let steady = stage.steady.unwrap_or(times);
        let efficiency = page.insight.efficiency.iter().find(|row| row.region == stage.region);
        Some([
            shortened(&stage.region, WIDEST_NAME),
            times.count.to_string(),
            duration(times.total_ns as f64),
            String::new(),
            duration(steady.p50_ns as f64),
            duration(steady.p95_ns as f64),
            busy(&stage.region),
            stage.tokens_per_second.map(|rate| fixed(rate, 1)).unwrap_or_default(),
            efficiency.map(|row| percent(row.mfu)).unwrap_or_default(),
            efficiency.and_then(|row| row.mbu).map(percent).unwrap_or_default(),
        ])
    };
    let region_cells = |row: &GpuRegion| {
        let mut cells = [const { String::new() }; 10];
        cells[0] = shortened(&row.path, WIDEST_NAME);
        cells[1] = row.instances.to_string();
        cells[2] = duration(row.wall_ns as f64);
        cells[3] = duration(row.wall_ns as f64 / row.instances.max(1) as f64);
        cells[6] = busy(&row.path);
        cells
    };
    let stages = findings.stages.iter().filter_map(|stage| {
        let order = (!stage.is_usual(), Reverse(stage.times?.total_ns));
        Some((order, stage_cells(stage)?))
    });
    let ended = findings.stages.iter().filter(|stage| stage.times.is_some());
    let of_stages: HashSet<&String> = ended.flat_map(|stage| &stage.regions).collect();
    let others = findings.regions.iter().filter(|row| !of_stages.contains(&row.path));
    let others = others.map(|row| ((true, Reverse(row.wall_ns)), region_cells(row)));
    let mut rows: Vec<_> = stages.chain(others).collect();
    rows.sort_by_key(|(order, _)| *order);
    rows.truncate(REGIONS);
    let rows: Vec<_> = rows.into_iter().map(|(_, cells)| cells).collect();
    // What was not measured takes no room.
    let kept: Vec<bool> = (0..columns.len()).map(|at| rows.iter().any(|row| !row[at].is_empty())).collect();
    let keep = |at: &usize| kept[*at];
    let columns: Vec<_> = (0..columns.len()).filter(keep).map(|at| columns[at]).collect();
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| (0..row.len()).filter(keep).map(|at| row[at].clone()).collect()).collect();
    if !rows.is_empty() {
        text.push('\n');
        indented(text, &table(&columns, &rows));
    }
}

fn kernels(text: &mut String, page: &Page<'_>, findings: &Findings) {
    if findings.kernels.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = findings
        .kernels
        .iter()
        .take(KERNELS)
        .map(|row| {
            let statistics = row.statistics;
            vec![
                percent(statistics.share),
                duration(statistics.total_ns as f64),
                statistics.calls.to_string(),
                limit(page, &row.name),
                shortened(&row.short_name, WIDEST_NAME),
            ]
        })
        .collect();
    let columns =
        [("share", Right), ("total", Right), ("calls", Right), ("limited by", Left), ("kernel", Left)];
    text.push('\n');
    indented(text, &table(&columns, &rows));
    if findings.kernels.len() > KERNELS {
        text.push_str(&format!("  and {} kernels more\n", findings.kernels.len() - KERNELS));
    }
}

fn indented(text: &mut String, table: &str) {
    table.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
}

fn advice(text: &mut String, page: &Page<'_>) {
    if page.insight.recommendations.is_empty() {
        return;
    }
    heading(text, "what to change");
    for (at, advice) in page.insight.recommendations.iter().take(ADVICE).enumerate() {
        let stake = format!(
            "{} of {} at stake, at most {}x",
            percent(advice.share),
            advice.of.as_str(),
            fixed(advice.gain, 2)
        );
        wrapped(text, &format!("  {}. ", at + 1), &format!("{}: {stake}", advice.title));
        wrapped(text, "     do: ", &advice.advice);
    }
    if page.insight.recommendations.len() > ADVICE {
        text.push_str(&format!("  and {} more\n", page.insight.recommendations.len() - ADVICE));
    }
}

/// What the profiler did to the times above.
fn cost(text: &mut String, page: &Page<'_>) {
    let costs: Vec<String> = page
        .insight
        .overhead
        .iter()
        .take(MOST_NAMED)
        .map(|row| format!("{} {}x", shortened(&row.region, WIDEST_NAME), fixed(row.ratio, 2)))
        .collect();
    if !costs.is_empty() {
        heading(text, "what profiling cost");
        wrapped(text, "  against the rehearsal: ", &costs.join(", "));
        if let Some(doubt) = &page.insight.unsteady {
            wrapped(text, "  doubtful: ", doubt);
        }
    }
}
