//! Step 8: what the run says, for people and for programs.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;

use super::begin::RunError;
use super::flow::{Run, StepResult};
use crate::config::Format;
use crate::quote::shell_line;
use crate::rundir::{Pass, StepName, StepStatus};

/// A stage as the built-in workload times it.
#[derive(Debug, Deserialize)]
struct Stage {
    name: String,
    count: u64,
    wall_us: u64,
}

pub(super) fn step(run: &mut Run) -> Result<StepResult, RunError> {
    let stages = stages(run);
    for format in run.resolved.config.report.formats.clone() {
        match format {
            Format::Md => run.files.text("report.md", &markdown(run, &stages))?,
            Format::Json => {
                let stages: Vec<_> = stages
                    .iter()
                    .map(|stage| json!({"name": stage.name, "count": stage.count, "wall_us": stage.wall_us}))
                    .collect();
                let report = json!({
                    "schema": 1,
                    "run": run.manifest.id,
                    "workload": run.manifest.workload.argv,
                    "passes": run.manifest.passes,
                    "stages": stages,
                    "environment": run.provenance.as_ref().map(|provenance| json!({
                        "machine": provenance.machine, "gpus": provenance.gpus, "tools": provenance.tools,
                        "python": provenance.python, "git": provenance.git,
                    })),
                });
                run.files.json("report.json", &report)?;
            }
        }
    }
    Ok(StepResult::Done(None))
}

fn stages(run: &Run) -> Vec<Stage> {
    let path = run.files.path("workload/rehearsal/stages.json");
    std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn markdown(run: &Run, stages: &[Stage]) -> String {
    let manifest = &run.manifest;
    let mut text = format!("# {}\n\n`{}`\n\n", manifest.id, shell_line(&manifest.workload.argv));
    for pass in &manifest.passes {
        pass_section(&mut text, pass);
    }
    if !stages.is_empty() {
        text.push_str("## Stages\n\nWall time, as the workload itself measured it.\n\n");
        text.push_str("| stage | count | total ms | mean ms |\n|---|---:|---:|---:|\n");
        for stage in stages {
            let total = stage.wall_us as f64 / 1e3;
            let mean = total / stage.count.max(1) as f64;
            line(&mut text, &format!("| {} | {} | {total:.2} | {mean:.3} |", cell(&stage.name), stage.count));
        }
        text.push('\n');
    }
    text.push_str("## Steps\n\n| step | status | ms | note |\n|---|---|---:|---|\n");
    for step in &manifest.steps {
        // This step is under way while its report is written.
        let status = if step.name == StepName::Report { StepStatus::Done } else { step.status };
        let took = step.duration_ms.map(|took| took.to_string()).unwrap_or_default();
        let note = step.note.as_deref().unwrap_or_default();
        line(
            &mut text,
            &format!("| {} | {} | {took} | {} |", step.name.as_str(), status_name(status), cell(note)),
        );
    }
    environment(&mut text, run);
    if !manifest.warnings.is_empty() {
        text.push_str("\n## Warnings\n\n");
        for warning in &manifest.warnings {
            line(&mut text, &format!("- {warning}"));
        }
    }
    text
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

fn environment(text: &mut String, run: &Run) {
    let Some(provenance) = &run.provenance else { return };
    let machine = &provenance.machine;
    text.push_str("\n## Environment\n\n| | |\n|---|---|\n");
    let memory =
        machine.memory_kb.map(|memory| format!(", {:.1} GiB", memory as f64 / 1048576.0)).unwrap_or_default();
    let cpu = machine.cpu.as_deref().unwrap_or("unknown processor");
    line(text, &format!("| machine | {}, {} cores{memory} |", cell(cpu), machine.cores));
    line(
        text,
        &format!("| system | {}, kernel {} |", machine.os.as_deref().unwrap_or("unknown"), machine.kernel),
    );
    for gpu in &provenance.gpus.devices {
        line(text, &format!("| GPU {} | {} |", gpu.index, gpu.name.as_deref().unwrap_or("unknown")));
    }
    if let Some(because) = &provenance.gpus.absent_because {
        line(text, &format!("| GPU | none: {} |", cell(because)));
    }
    for tool in &provenance.tools {
        let found = match (&tool.version, &tool.problem) {
            (Some(version), _) => version.clone(),
            (None, problem) => problem.clone().unwrap_or_default(),
        };
        line(text, &format!("| {} | {} |", tool.name, cell(&found)));
    }
    if let Some(python) = &provenance.python {
        let packages: Vec<String> = python
            .packages
            .iter()
            .map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or("?")))
            .collect();
        line(text, &format!("| Python | {} {} |", python.version, packages.join(", ")));
    }
    if let Some(git) = &provenance.git {
        let commit = git.commit.as_deref().unwrap_or("no commit yet");
        line(text, &format!("| git | {commit}{} |", if git.dirty { ", with changes" } else { "" }));
    }
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

/// Text inside a table cell: one line, no column breaks.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn line(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}
