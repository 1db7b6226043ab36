//! Step 8: what the run says, for people and for programs.

use analysis::{Findings, Insight};
use report::{Document, Format, Page, PassLine, Rehearsal, StepLine, VerdictLine};
use serde::Serialize;
use serde_json::json;

use super::begin::RunError;
use super::flow::{Run, StepResult};
use crate::documents::{DOCUMENT, write_documents};
use crate::quote::shell_line;
use crate::rehearsal::InventoryDocument;
use crate::rundir::{Pass, StepName, StepStatus, VerdictRecord};

/// What cannot be written is said.
pub(super) fn step(run: &mut Run) -> Result<StepResult, RunError> {
    let formats = &run.resolved.config.report.formats;
    let own = formats.contains(&Format::Json).then(|| Document::json(DOCUMENT, Everything::of(run)));
    let own = own.into_iter().collect();
    let failed = with_page(run, |page| write_documents(&run.files, page, formats, own));
    Ok(match failed.is_empty() {
        true => StepResult::Done(None),
        false => {
            let why: Vec<String> = failed.iter().map(ToString::to_string).collect();
            StepResult::Failed { why: why.join("; "), asked_for: false }
        }
    })
}

/// All that the run has to say, for one form of telling it.
fn with_page<T>(run: &Run, told: impl FnOnce(&Page<'_>) -> T) -> T {
    let manifest = &run.manifest;
    let verdicts: Vec<VerdictLine> = manifest
        .verdicts
        .iter()
        .map(|record| {
            let verdict = &record.verdict;
            VerdictLine {
                tool: record.tool.clone(),
                rung: record.rung.clone(),
                outcome: verdict.outcome.as_str().to_owned(),
                cause: verdict.cause.and_then(|cause| Some(json!(cause).as_str()?.to_owned())),
                text: verdict.text.clone(),
                evidence: verdict.evidence.clone(),
                remedy: verdict.remedy.clone(),
            }
        })
        .collect();
    let steps: Vec<StepLine> = manifest
        .steps
        .iter()
        .map(|step| StepLine {
            name: step.name.as_str().to_owned(),
            // This step is under way while its report is written.
            status: status_name(if step.name == StepName::Report { StepStatus::Done } else { step.status })
                .to_owned(),
            ms: step.duration_ms,
            note: step.note.clone().unwrap_or_default(),
        })
        .collect();
    let commands: Vec<(String, String)> =
        manifest.passes.iter().map(|pass| (pass.name.clone(), shell_line(&pass.argv))).collect();
    let passes: Vec<PassLine> = manifest.passes.iter().map(pass_line).collect();
    let inventory = run.inventory.as_ref();
    let seen = inventory.map(|inventory| inventory.summary()).unwrap_or_default();
    told(&Page {
        title: &manifest.id,
        workload: &shell_line(&manifest.workload.argv),
        verdicts: &verdicts,
        steps: &steps,
        findings: run.findings.as_ref(),
        operators_source: run.operators_source.as_deref(),
        trace: run.analysed().filter(|_| run.findings.is_some()),
        measured: run.counters.as_ref().map(|counters| &counters.report),
        counters: run.counters.as_ref().map(|counters| &counters.regions),
        counters_at: "ncu/regions",
        insight: &run.insight,
        environment: &environment(run),
        passes: &passes,
        commands: &commands,
        rehearsal: inventory.map(|inventory| Rehearsal { said: &seen, regions: &inventory.regions }),
        warnings: &manifest.warnings,
    })
}

fn pass_line(pass: &Pass) -> PassLine {
    PassLine {
        name: pass.name.clone(),
        ending: pass.ending.to_string(),
        wall_ms: pass.wall_ms,
        user_ms: pass.usage.user_ms,
        system_ms: pass.usage.system_ms,
        max_rss_kb: pass.usage.max_rss_kb,
        stdout_bytes: pass.stdout_bytes,
        stderr_bytes: pass.stderr_bytes,
    }
}

/// `report.json`.
#[derive(Serialize)]
struct Everything<'r> {
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

impl<'r> Everything<'r> {
    fn of(run: &'r Run) -> Self {
        Self {
            schema: 1,
            run: &run.manifest.id,
            workload: &run.manifest.workload.argv,
            passes: &run.manifest.passes,
            verdicts: &run.manifest.verdicts,
            counters: run.counters.as_ref().map(|counters| report::counter_regions_json(&counters.regions)),
            findings: run.findings.as_ref(),
            insight: &run.insight,
            rehearsal: run.inventory.as_ref().map(InventoryDocument),
            environment: run.provenance.as_ref().map(|provenance| {
                json!({
                    "machine": provenance.machine, "gpus": provenance.gpus, "tools": provenance.tools,
                    "python": provenance.python, "git": provenance.git,
                })
            }),
        }
    }
}

/// Machine, GPUs, tools, versions.
fn environment(run: &Run) -> Vec<(String, String)> {
    let Some(provenance) = &run.provenance else { return Vec::new() };
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

fn status_name(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Pending => "pending",
        StepStatus::Running => "running",
        StepStatus::Done => "done",
        StepStatus::Skipped => "skipped",
        StepStatus::Failed => "failed",
        StepStatus::Interrupted => "interrupted",
    }
}
