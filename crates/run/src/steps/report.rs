//! The step `report`: what the run says, for people and for programs.

use std::fmt::Write as _;

use analysis::{Findings, Insight, Region};
use report::{CsvTable, Page, cell, sentence};
use serde::Serialize;
use serde_json::json;

use record::{Manifest, Pass, StepName, StepStatus, VerdictRecord};
use trace::Trace;

use super::counters::Counted;
use super::session::{Made, StepResult};
use crate::config::{Format, Resolved};
use crate::provenance::Provenance;
use crate::quote::shell_line;
use crate::rehearsal::{Inventory, InventoryDocument};
use crate::rundir::{Files, WriteError};

/// One screen.
pub const SUMMARY: &str = "summary.txt";
/// Everything, for programs.
pub const DOCUMENT: &str = "report.json";

/// What a run leaves for people, in the order in which they would open it.
const FILES: [(&str, &str); 6] = [
    ("report.html", "everything, for a browser"),
    ("report.md", "everything, as text"),
    ("stakeholder_summary.md", "one page"),
    ("trace.perfetto", "for ui.perfetto.dev"),
    (DOCUMENT, "for programs"),
    ("csv/", "every table"),
];

/// Regions of the rehearsal, for whoever reads all of it.
const MOST_REGIONS: usize = 500;

/// All that there is to report.
#[derive(Clone, Copy)]
pub(super) struct Material<'r> {
    pub(super) files: &'r Files,
    pub(super) manifest: &'r Manifest,
    pub(super) resolved: &'r Resolved,
    pub(super) provenance: Option<&'r Provenance>,
    /// What the rehearsal saw.
    pub(super) inventory: Option<&'r Inventory>,
    /// What the findings are about.
    pub(super) trace: Option<&'r Trace>,
    pub(super) findings: Option<&'r Findings>,
    pub(super) counters: Option<&'r Counted>,
    pub(super) insight: &'r Insight,
}

/// The one that cannot be written does not take the others with it.
pub(super) fn step(run: &Material<'_>) -> Made<()> {
    let mut failed = Vec::new();
    for format in run.resolved.config.report.formats.clone() {
        if let Err(error) = write(run, format) {
            failed.push(error.to_string());
        }
    }
    // Last, since it names what there is.
    let there: Vec<String> = FILES
        .iter()
        .filter(|(name, _)| run.files.path(name).exists())
        .map(|(name, what)| format!("{name:<24}{what}"))
        .collect();
    if let Err(error) = run.files.text(SUMMARY, &with_page(run, |page| report::summary(page, &there))) {
        failed.push(error.to_string());
    }
    let result = match failed.is_empty() {
        true => StepResult::Done(None),
        false => StepResult::Failed { why: failed.join("; "), asked_for: false },
    };
    Ok((result, ()))
}

fn write(run: &Material<'_>, format: Format) -> Result<(), WriteError> {
    match format {
        Format::Md => {
            run.files.text("report.md", &markdown(run))?;
            run.files.text("stakeholder_summary.md", &with_page(run, report::stakeholder_markdown))
        }
        Format::Json => run.files.json(DOCUMENT, &Document::of(run)),
        Format::Html => run.files.text("report.html", &with_page(run, report::html)),
        Format::Perfetto => perfetto(run),
        Format::Csv => with_page(run, |page| {
            let tables = report::csv_tables(page);
            if !tables.is_empty() {
                run.files.folder("csv")?;
            }
            let write = |table: &CsvTable<'_>| {
                run.files.stream(&format!("csv/{}", table.name), |out| table.write(out))
            };
            tables.iter().try_for_each(write)
        }),
    }
}

/// `trace.perfetto`, written as it is made.
fn perfetto(run: &Material<'_>) -> Result<(), WriteError> {
    let Some(trace) = run.trace else { return Ok(()) };
    run.files.unmasked("trace.perfetto", |out| report::write_perfetto(trace, out).map(drop))
}

/// All that the run has to say, for one form of telling it.
fn with_page<T>(run: &Material<'_>, told: impl FnOnce(&Page<'_>) -> T) -> T {
    let manifest = run.manifest;
    // This step is under way while its report is written.
    let mut steps = manifest.steps.clone();
    for step in steps.iter_mut().filter(|step| step.name == StepName::Report) {
        step.status = StepStatus::Done;
    }
    let commands: Vec<(String, String)> =
        manifest.passes.iter().map(|pass| (pass.name.to_string(), shell_line(&pass.argv))).collect();
    told(&Page {
        title: &manifest.id,
        workload: &shell_line(&manifest.workload.argv),
        verdicts: &manifest.verdicts,
        steps: &steps,
        findings: run.findings,
        trace: run.trace,
        counters: run.counters.map(|counters| &counters.regions),
        insight: run.insight,
        environment: &environment(run),
        commands: &commands,
        warnings: &manifest.warnings,
    })
}

/// `report.json`.
#[derive(Serialize)]
struct Document<'r> {
    schema: u32,
    run: &'r str,
    workload: &'r [String],
    passes: &'r [Pass],
    verdicts: &'r [VerdictRecord],
    counters: Option<serde_json::Value>,
    findings: Option<&'r Findings>,
    insight: &'r Insight,
    rehearsal: Option<InventoryDocument<'r>>,
    environment: Option<serde_json::Value>,
}

impl<'r> Document<'r> {
    fn of(run: &'r Material<'r>) -> Self {
        Self {
            schema: 1,
            run: &run.manifest.id,
            workload: &run.manifest.workload.argv,
            passes: &run.manifest.passes,
            verdicts: &run.manifest.verdicts,
            counters: run.counters.map(|counters| report::counter_regions_json(&counters.regions)),
            findings: run.findings,
            insight: run.insight,
            rehearsal: run.inventory.map(InventoryDocument),
            environment: run.provenance.map(|provenance| {
                json!({
                    "machine": provenance.machine, "gpus": provenance.gpus, "tools": provenance.tools,
                    "python": provenance.python, "git": provenance.git,
                })
            }),
        }
    }
}

fn markdown(run: &Material<'_>) -> String {
    let (manifest, top) = (run.manifest, run.resolved.config.report.top as usize);
    let mut text = format!("# {}\n\n`{}`\n\n", manifest.id, shell_line(&manifest.workload.argv));
    for pass in &manifest.passes {
        pass_section(&mut text, pass);
    }
    verdicts_section(&mut text, run);
    if let Some(findings) = run.findings {
        line(&mut text, &format!("## Timeline\n\n```text\n{}```\n", report::terminal(findings, top)));
    }
    insight_sections(&mut text, run, top);
    overhead_section(&mut text, run, top);
    if let Some(counters) = run.counters {
        let text_table = report::counters_terminal("ncu", &counters.regions, top);
        line(&mut text, &format!("## Counters\n\n```text\n{text_table}```\n"));
        text.push_str("Every metric by region: [ncu/regions/report.md](ncu/regions/report.md)\n\n");
    }
    if let Some(inventory) = run.inventory {
        regions_section(&mut text, inventory);
    }
    text.push_str("## Steps\n\n| step | status | ms | note |\n|---|---|---:|---|\n");
    for step in &manifest.steps {
        // This step is under way while its report is written.
        let status = if step.name == StepName::Report { StepStatus::Done } else { step.status };
        let took = step.duration_ms.map(|took| took.to_string()).unwrap_or_default();
        let note = step.note.as_deref().unwrap_or_default();
        line(
            &mut text,
            &format!("| {} | {} | {took} | {} |", step.name.as_str(), status.as_str(), sentence(note)),
        );
    }
    let environment = environment(run);
    if !environment.is_empty() {
        text.push_str("\n## Environment\n\n| | |\n|---|---|\n");
        environment
            .iter()
            .for_each(|(name, value)| line(&mut text, &format!("| {name} | {} |", cell(value))));
    }
    if !manifest.warnings.is_empty() {
        text.push_str("\n## Warnings\n\n");
        for warning in &manifest.warnings {
            line(&mut text, &format!("- {warning}"));
        }
    }
    text
}

/// What limits the program, and what to change.
fn insight_sections(text: &mut String, run: &Material<'_>, top: usize) {
    if !run.insight.recommendations.is_empty() {
        let body = report::recommendations_text(&run.insight.recommendations);
        line(text, &format!("## What to change\n\n```text\n{body}```\n"));
    }
    if let Some(joined) = &run.insight.joined {
        line(
            text,
            &format!("## What limits the kernels\n\n```text\n{}```\n", report::bounds_text(joined, top)),
        );
    }
    if !run.insight.roofline.is_empty() {
        let body = report::roofline_text(&run.insight.roofline, top);
        line(text, &format!("## Roofline\n\n```text\n{body}```\n"));
    }
}

/// What nsys did to the times above.
fn overhead_section(text: &mut String, run: &Material<'_>, top: usize) {
    if run.insight.overhead.is_empty() {
        return;
    }
    text.push_str("## What profiling cost\n\nMedians of the instances after the first, with nsys and in the rehearsal.\n\n");
    text.push_str("| region | instances | rehearsed ms | profiled ms | ratio |\n|---|---:|---:|---:|---:|\n");
    for row in run.insight.overhead.iter().take(top) {
        let ms = |ns: i64| format!("{:.3}", ns as f64 / 1e6);
        let (alone, with) = (ms(row.rehearsed_ns), ms(row.profiled_ns));
        line(
            text,
            &format!("| {} | {} | {alone} | {with} | {:.2} |", cell(&row.region), row.instances, row.ratio),
        );
    }
    text.push('\n');
    if let Some(doubt) = &run.insight.unsteady {
        line(text, &format!("Doubtful: {}.\n", sentence(doubt)));
    }
}

fn pass_section(text: &mut String, pass: &Pass) {
    line(text, &format!("## Pass: {}\n", pass.name));
    text.push_str("| | |\n|---|---|\n");
    line(text, &format!("| ended with | {} |", pass.ending));
    line(text, &format!("| wall time | {:.3} s |", pass.wall_ms as f64 / 1e3));
    let (user, system) = (pass.usage.user_ms as f64 / 1e3, pass.usage.system_ms as f64 / 1e3);
    line(text, &format!("| processor time | {user:.2} s user, {system:.2} s system, all processes |"));
    line(text, &format!("| largest process | {:.1} MiB |", pass.usage.max_rss_kb as f64 / 1024.0));
    line(
        text,
        &format!("| output | {} bytes stdout, {} bytes stderr |\n", pass.stdout_bytes, pass.stderr_bytes),
    );
}

/// What each capture really was.
fn verdicts_section(text: &mut String, run: &Material<'_>) {
    if run.manifest.verdicts.is_empty() {
        return;
    }
    text.push_str("## Captures\n\n| tool | rung | verdict | what it is told from |\n|---|---|---|---|\n");
    for record in &run.manifest.verdicts {
        let verdict = &record.verdict;
        let remedy = verdict.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        let told = format!("{}: {}{remedy}", verdict.outcome.as_str(), verdict.text);
        let evidence = verdict.evidence.join("; ");
        line(
            text,
            &format!("| {} | {} | {} | {} |", record.tool, record.rung, sentence(&told), sentence(&evidence)),
        );
    }
    text.push('\n');
}

/// Stage timings: what each region took on the host, the first instance apart.
fn regions_section(text: &mut String, inventory: &Inventory) {
    line(text, &format!("## Regions\n\n{}. Host times, from the rehearsal.\n", inventory.summary()));
    if inventory.regions.is_empty() {
        return;
    }
    text.push_str("| region | kind | instances | total ms | first ms | then mean ms | std | p50 | p95 |\n");
    text.push_str("|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
    let ms = |ns: i64| format!("{:.3}", ns as f64 / 1e6);
    let mut by_time: Vec<usize> = (0..inventory.regions.len()).collect();
    let total = |region: &Region| region.times.map_or(0, |times| times.total_ns);
    by_time.sort_by_key(|at| std::cmp::Reverse(total(&inventory.regions[*at])));
    let left_out = by_time.split_off(by_time.len().min(MOST_REGIONS));
    by_time.sort_unstable();
    for region in by_time.iter().map(|at| &inventory.regions[*at]) {
        let path = cell(&region.path.to_string());
        let open = if region.open > 0 { format!(" ({} open)", region.open) } else { String::new() };
        let start = format!("| `{path}` | {} | {}{open} |", region.kind.as_str(), region.instances);
        let first = region.first_ns.map(ms).unwrap_or_default();
        let total = region.times.map(|times| ms(times.total_ns)).unwrap_or_default();
        let steady = match region.steady {
            Some(times) => [times.mean_ns, times.std_ns, times.p50_ns, times.p95_ns].map(ms),
            None => [const { String::new() }; 4],
        };
        line(text, &format!("{start} {total} | {first} | {} |", steady.join(" | ")));
    }
    if !left_out.is_empty() {
        let rest = || left_out.iter().map(|at| &inventory.regions[*at]);
        let instances: u64 = rest().map(|region| region.instances).sum();
        let all = ms(rest().map(total).fold(0, i64::saturating_add));
        let (regions, of) = (left_out.len(), "their times overlap where they are nested");
        line(text, &format!("| {regions} more regions ({of}) | | {instances} | {all} | | | | | |"));
    }
    text.push('\n');
}

/// Machine, GPUs, tools, versions.
fn environment(run: &Material<'_>) -> Vec<(String, String)> {
    let Some(provenance) = run.provenance else { return Vec::new() };
    let machine = &provenance.machine;
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| lines.push((name.to_owned(), value));
    let memory =
        machine.memory_kb.map(|memory| format!(", {:.1} GiB", memory as f64 / 1048576.0)).unwrap_or_default();
    let cpu = machine.cpu.as_deref().unwrap_or("unknown processor");
    add("machine", format!("{cpu}, {} cores{memory}", machine.cores));
    add("system", format!("{}, kernel {}", machine.os.as_deref().unwrap_or("unknown"), machine.kernel));
    for gpu in &provenance.gpus.devices {
        add(&format!("GPU {}", gpu.index), gpu.name.as_deref().unwrap_or("unknown").to_owned());
    }
    provenance.gpus.visible_lines().into_iter().for_each(|(name, value)| add(&name, value));
    if let Some(because) = &provenance.gpus.absent_because {
        add("GPU", format!("none: {because}"));
    }
    for tool in &provenance.tools {
        let found = tool.version.clone().or_else(|| tool.problem.clone());
        add(tool.name, found.unwrap_or_default());
    }
    if let Some(python) = &provenance.python {
        let packages: Vec<String> = python
            .packages
            .iter()
            .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or("?")))
            .collect();
        add("Python", format!("{} {}", python.version, packages.join(", ")));
    }
    if let Some(git) = &provenance.git {
        let commit = git.commit.as_deref().unwrap_or("no commit yet");
        add("git", format!("{commit}{}", if git.dirty { ", with changes" } else { "" }));
    }
    lines
}

fn line(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}
