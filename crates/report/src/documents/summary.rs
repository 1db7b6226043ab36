//! One screen: what limits the program, what was captured, where the time goes.

use analysis::{Analysis, IdleRow};
use record::{Outcome, Step, StepName, StepStatus, Tool, VerdictRecord, rehearsal_failure};
use trace::Selection;

use crate::form::terminal::{Names, Terminal, shortened};
use crate::page::Page;
use crate::printable::{joined, printable};
use crate::tables::{
    self, Tabular, View, busy_of_time, ended_early, first_lines, gained, line_of, longest, no_finding,
    sampling_cost, what_if_lines, whole_time,
};
use crate::units::{counted, duration, fixed};

const WIDEST: usize = 100;
const WIDEST_NAME: usize = 44;
const KERNELS: usize = 5;
const REGIONS: usize = 5;
const GRAPHS: usize = 5;
const RANKS: usize = 8;
const ADVICE: usize = 3;
const LOOPS: usize = 2;
/// Devices, idle causes and costs in a sentence.
const MOST_NAMED: usize = 4;

/// The screen; `files` are the files written, as the user opens them.
pub fn summary(page: &Page<'_>, files: &[String]) -> String {
    let mut text = format!("{}\n{}\n", printable(page.title), fitted("", page.workload));
    if let Some(what) = ended_early(page) {
        text.push('\n');
        wrapped(&mut text, "", &what);
    }
    for line in tables::unread_lines(page) {
        wrapped(&mut text, "read in part: ", &line);
    }
    what_if(&mut text, page);
    limits(&mut text, page);
    captures(&mut text, page);
    if let Some(analysis) = page.analysis {
        time(&mut text, analysis);
        regions(&mut text, page, analysis);
        kernels(&mut text, page, analysis);
        graphs(&mut text, analysis);
        together(&mut text, analysis);
        served(&mut text, analysis);
    }
    cost(&mut text, page);
    if !files.is_empty() {
        heading(&mut text, "files, in the folder of the run");
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
    // A number and its percent sign stay together.
    let words = printable(&joined(words)).replace(" %", "\u{a0}%");
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        let wide = line.chars().count() + word.chars().count() > WIDEST;
        if wide && line.chars().count() > indent {
            text.push_str(&format!("{}\n", line.trim_end()));
            line = " ".repeat(indent);
        }
        line.push_str(&word.replace('\u{a0}', " "));
        line.push(' ');
    }
    text.push_str(&format!("{}\n", line.trim_end()));
}

/// One line, not wider than the screen.
fn fitted(before: &str, text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    format!("{before}{}", shortened(&printable(line), WIDEST - before.chars().count()))
}

/// The last verdict of each tool, with what to do if it is not `captured`; then steps without a verdict.
fn captures(text: &mut String, page: &Page<'_>) {
    let has_verdict = |step: &Step| page.verdicts.iter().any(|line| step.name.tools().contains(&line.tool));
    let is_unsaid = |missing: &&str| page.verdicts.iter().all(|line| line.verdict.text != **missing);
    // What was asked for and no verdict has said to be missing.
    let lacks = |step: &Step| step.missing.iter().map(String::as_str).any(|missing| is_unsaid(&missing));
    let is_news = |step: &&Step| match step.status {
        // Most programs do not use PyTorch, and that is no news.
        StepStatus::Skipped => step.name != StepName::Stage1 && !has_verdict(step),
        StepStatus::Failed => !has_verdict(step),
        StepStatus::Interrupted => step.started.is_some() && !has_verdict(step),
        // No profiler made it: its note says where it comes from.
        StepStatus::Done => step.name == StepName::Timeline && !has_verdict(step) || lacks(step),
        StepStatus::Pending | StepStatus::Running => false,
    };
    let steps: Vec<&Step> = page.steps.iter().filter(is_news).collect();
    heading(text, if steps.is_empty() { "captures" } else { "captures and steps" });
    for (at, VerdictRecord { tool, verdict, .. }) in page.verdicts.iter().enumerate() {
        // Only the last rung of a ladder counts.
        if page.verdicts[at + 1..].iter().any(|later| later.tool == *tool) {
            continue;
        }
        let before = format!("  {:<9}  {:<9}  ", tool.as_str(), verdict.outcome.as_str());
        wrapped(text, &before, &verdict.text);
        if let Some(remedy) = verdict.remedy.as_ref().filter(|_| verdict.outcome != Outcome::Captured) {
            wrapped(text, "             do: ", remedy);
        }
    }
    for step in &steps {
        let before = format!("  {:<9}  {:<9}  ", step.name.as_str(), step.status.as_str());
        let notes: Vec<&str> = match step.missing.is_empty() {
            true => vec![step.note.as_deref().unwrap_or_default()],
            false => step.missing.iter().map(String::as_str).filter(is_unsaid).collect(),
        };
        for note in notes {
            wrapped(text, &before, note.lines().next().unwrap_or_default());
            if let Some(hint) = note.lines().find_map(|line| line.strip_prefix("hint: ")) {
                wrapped(text, "             do: ", hint);
            }
        }
    }
    let is_not_run = |step: &&Step| step.status == StepStatus::Interrupted && step.started.is_none();
    let not_run: Vec<&str> = page.steps.iter().filter(is_not_run).map(|step| step.name.as_str()).collect();
    if !not_run.is_empty() {
        wrapped(text, "  not run    ", &format!("{}: the run was interrupted before", not_run.join(", ")));
    }
    let ranks = tables::rank_verdict_lines(page);
    for (at, line) in ranks.iter().enumerate() {
        wrapped(text, if at == 0 { "  ranks                 " } else { "                        " }, line);
    }
    if let Some(line) = tables::process_line(page).filter(|_| ranks.is_empty()) {
        wrapped(text, "  processes             ", &line);
    }
    if page.verdicts.is_empty() && steps.is_empty() && page.ranks.is_none() {
        let none = if page.is_of_a_run() { "none" } else { "existing reports; not checked by a run" };
        text.push_str(&format!("  {none}\n"));
    }
}

fn time(text: &mut String, analysis: &Analysis) {
    // Of samples of stacks alone, all has been said.
    if analysis.idle.is_empty()
        && analysis.region_count() == 0
        && analysis.kernel_count() == 0
        && analysis.api.is_empty()
    {
        return;
    }
    heading(text, whole_time(analysis));
    text.push_str(&format!(
        "  {} {}: {}\n",
        duration(analysis.span_ns as f64),
        match analysis.selected {
            Some(Selection::Ranges) => "from the first selected range to the last",
            Some(Selection::Load) => "while the load ran",
            None => "recorded",
        },
        printable(&analysis.source)
    ));
    let devices: Vec<&IdleRow> = analysis.idle.iter().filter(|row| row.region.is_none()).collect();
    for row in devices.iter().take(MOST_NAMED) {
        wrapped(text, &format!("  {} busy ", row.device_called()), &busy_of_time(row, MOST_NAMED));
    }
    more(text, devices.len() as u64, MOST_NAMED, "device");
}

/// The stages of a language model, then the longest of the other regions.
fn regions(text: &mut String, page: &Page<'_>, analysis: &Analysis) {
    let table = longest(page, analysis);
    if table.len() > 0 {
        text.push('\n');
        indented(text, &form(REGIONS).filled(&table));
        let left_out: u64 = analysis.more_regions.iter().map(|more| more.regions).sum();
        more(text, left_out + table.len() as u64, REGIONS, "region");
    }
}

fn kernels(text: &mut String, page: &Page<'_>, analysis: &Analysis) {
    if analysis.kernels.is_empty() {
        return;
    }
    let (table, of) = tables::headline_kernels(page, analysis);
    text.push('\n');
    if !of.is_empty() {
        text.push_str(&format!("  kernels {of}\n"));
    }
    indented(text, &form(KERNELS).filled(&table));
    more(text, table.all_rows(), KERNELS, "kernel");
}

/// What runs inside CUDA graphs; of those that were recorded as a whole, how long they take.
fn graphs(text: &mut String, analysis: &Analysis) {
    let (inside, whole) = (tables::captured(analysis), tables::cuda_graphs(analysis));
    if inside.len() > 0 {
        text.push_str("\n  inside CUDA graphs, by the region in which it was captured\n");
        indented(text, &form(GRAPHS).filled(&inside));
        more(text, inside.all_rows(), GRAPHS, "region");
    }
    if analysis.graphs > 0 {
        text.push_str("\n  CUDA graphs, recorded as a whole\n");
        indented(text, &form(GRAPHS).filled(&whole));
        more(text, whole.all_rows(), GRAPHS, "graph");
    }
}

/// Ranks of a distributed program.
fn together(text: &mut String, analysis: &Analysis) {
    let (ranks, collectives) = (tables::ranks(analysis), tables::collectives(analysis));
    if ranks.len() > 0 {
        text.push('\n');
        indented(text, &form(RANKS).filled(&ranks));
        more(text, ranks.all_rows(), RANKS, "rank");
    }
    if collectives.len() > 0 {
        text.push('\n');
        indented(text, &form(GRAPHS).filled(&collectives));
        more(text, collectives.all_rows(), GRAPHS, "collective");
    }
}

/// Requests of a server.
fn served(text: &mut String, analysis: &Analysis) {
    if let Some(line) = tables::requests_line(analysis) {
        text.push_str(&format!("\n  {line}\n"));
        indented(text, &form(GRAPHS).filled(&tables::request_times(analysis)));
    }
    let phases = tables::phases(analysis);
    if phases.len() > 0 {
        text.push('\n');
        indented(text, &form(GRAPHS).filled(&phases));
    }
}

fn more(text: &mut String, all: u64, shown: usize, what: &str) {
    let more = all.saturating_sub(shown as u64);
    if more > 0 {
        text.push_str(&format!("  and {}\n", counted(more, &format!("more {what}"))));
    }
}

fn form(rows: usize) -> Terminal {
    Terminal { view: View::Summary, rows, widest_name: WIDEST_NAME, names: Names::Short, absent: None }
}

fn indented(text: &mut String, table: &str) {
    table.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
}

/// What the user asked.
fn what_if(text: &mut String, page: &Page<'_>) {
    let lines = page.analysis.map(what_if_lines).unwrap_or_default();
    if !lines.is_empty() {
        heading(text, "what if");
        lines.iter().for_each(|line| wrapped(text, "  ", line));
    }
}

/// The loop, and what limits it: what a user came for.
fn limits(text: &mut String, page: &Page<'_>) {
    let loops = page.analysis.map(|analysis| analysis.loops.as_slice()).unwrap_or_default();
    let findings = &page.insight.findings;
    let none = page.analysis.filter(|_| findings.is_empty());
    let none = none.map(|analysis| format!("no finding: {}", no_finding(analysis)));
    let skipped = |step: &Step| step.name == StepName::Analyze && step.status == StepStatus::Skipped;
    let none = none.or_else(|| page.steps.iter().any(skipped).then(|| not_analyzed(page)));
    let is_of_ranks = page.analysis.is_some_and(|analysis| analysis.ranks.is_some());
    if loops.is_empty() && findings.is_empty() && none.is_none() && !is_of_ranks {
        return;
    }
    heading(text, "what limits it");
    for line in page.analysis.map(|analysis| first_lines(analysis, LOOPS)).unwrap_or_default() {
        wrapped(text, "  ", &line);
    }
    if let Some(why) = none {
        text.push_str(&format!("  {why}\n"));
    }
    for (at, finding) in findings.iter().take(ADVICE).enumerate() {
        wrapped(text, &format!("  {}. ", at + 1), &finding.title);
        if let Some(line) = line_of(finding) {
            wrapped(text, "     at: ", line);
        }
        if let Some(gained) = gained(finding) {
            wrapped(text, "     without it: ", &gained);
        }
        if !finding.advice.is_empty() {
            wrapped(text, "     do: ", &finding.advice);
        }
    }
    if findings.len() > ADVICE {
        text.push_str(&format!("  and {} more\n", findings.len() - ADVICE));
    }
}

fn not_analyzed(page: &Page<'_>) -> String {
    let has_no_range =
        page.verdicts.iter().any(|record| record.tool == Tool::Nsys && record.verdict.lacks_the_range());
    let has_failed =
        page.steps.iter().any(|step| step.name == StepName::Rehearse && step.status == StepStatus::Failed);
    match has_no_range {
        true => "not analyzed: the range you gated on is not in the report".to_owned(),
        false if has_failed => format!("not analyzed: {}", rehearsal_failure(page.passes)),
        false => "no finding: no ranges and no GPU work were recorded".to_owned(),
    }
}

/// How much the profiler changed the times above.
fn cost(text: &mut String, page: &Page<'_>) {
    let costs: Vec<String> = page
        .insight
        .overhead
        .iter()
        .take(MOST_NAMED)
        .map(|row| format!("{} {}x", shortened(&row.region, WIDEST_NAME), fixed(row.ratio, 2)))
        .collect();
    let sampling = page.analysis.and_then(sampling_cost);
    if !costs.is_empty() || sampling.is_some() {
        heading(text, "what profiling cost");
    }
    if let Some(line) = sampling {
        wrapped(text, "  ", &line);
    }
    if !costs.is_empty() {
        wrapped(text, "  compared with the rehearsal: ", &costs.join(", "));
        if let Some(doubt) = &page.insight.unsteady {
            wrapped(text, "  doubtful: ", doubt);
        }
    }
}
