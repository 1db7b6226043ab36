//! The step `report`: the run's results, for people and for programs.

use analysis::{Analysis, Insight};
use record::{Manifest, Pass, StepName, StepStatus, VerdictRecord};
use report::{Document, Format, Page, Rehearsal};
use serde::Serialize;
use serde_json::json;
use trace::Trace;

use super::counters::Counted;
use super::session::{Made, StepResult};
use crate::config::Resolved;
use crate::documents::{DOCUMENT, write_documents};
use crate::provenance::Provenance;
use crate::quote::shell_line;
use crate::rehearsal::{Inventory, InventoryDocument};
use crate::rundir::Files;

/// Everything there is to report.
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
    pub(super) analysis: Option<&'r Analysis>,
    /// The source of their operators, if different from the rest.
    pub(super) operators_source: Option<&'r str>,
    pub(super) counters: Option<&'r Counted>,
    pub(super) insight: &'r Insight,
}

/// Documents that cannot be written are reported.
pub(super) fn step(run: &Material<'_>) -> Made<()> {
    let formats = &run.resolved.config.report.formats;
    let own = formats.contains(&Format::Json).then(|| Document::json(DOCUMENT, Everything::of(run)));
    let own = own.into_iter().collect();
    let failed = with_page(run, |page| write_documents(run.files, page, formats, own));
    let result = match failed.is_empty() {
        true => StepResult::Done(None),
        false => {
            let why: Vec<String> = failed.iter().map(ToString::to_string).collect();
            StepResult::Failed { why: why.join("; "), asked_for: false }
        }
    };
    Ok((result, ()))
}

/// Everything about the run, ready to be written.
fn with_page<T>(run: &Material<'_>, write: impl FnOnce(&Page<'_>) -> T) -> T {
    let manifest = run.manifest;
    // This step is still running while its report is written.
    let mut steps = manifest.steps.clone();
    for step in steps.iter_mut().filter(|step| step.name == StepName::Report) {
        step.status = StepStatus::Done;
    }
    let commands: Vec<(String, String)> =
        manifest.passes.iter().map(|pass| (pass.name.to_string(), shell_line(&pass.argv))).collect();
    let seen = run.inventory.map(Inventory::summary).unwrap_or_default();
    write(&Page {
        title: &manifest.id,
        workload: &shell_line(&manifest.workload.argv),
        verdicts: &manifest.verdicts,
        steps: &steps,
        analysis: run.analysis,
        operators_source: run.operators_source,
        trace: run.trace,
        measured: run.counters.map(|counters| &counters.report),
        counters: run.counters.map(|counters| &counters.regions),
        counters_at: "ncu/regions",
        insight: run.insight,
        environment: &environment(run),
        passes: &manifest.passes,
        ranks: None,
        commands: &commands,
        rehearsal: run.inventory.map(|inventory| Rehearsal { said: &seen, regions: &inventory.regions }),
        warnings: &manifest.warnings,
        top: run.resolved.config.report.top as usize,
        whole: false,
    })
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
    analysis: Option<&'r Analysis>,
    insight: &'r Insight,
    rehearsal: Option<InventoryDocument<'r>>,
    environment: Option<serde_json::Value>,
}

impl<'r> Everything<'r> {
    fn of(run: &'r Material<'r>) -> Self {
        Self {
            schema: 2,
            run: &run.manifest.id,
            workload: &run.manifest.workload.argv,
            passes: &run.manifest.passes,
            verdicts: &run.manifest.verdicts,
            counters: run.counters.map(|counters| report::counter_regions_json(&counters.regions)),
            analysis: run.analysis,
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
        add("git", format!("{commit}{}", if git.dirty { ", with uncommitted changes" } else { "" }));
    }
    lines
}
