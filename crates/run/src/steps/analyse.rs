//! Step 7: what the timeline says.

use std::borrow::Cow;

use analysis::{Findings, Options, STAGES, analyse};
use trace::Trace;

use super::begin::RunError;
use super::flow::{Context, Run, StepResult};

pub(super) fn step(run: &mut Run, context: &mut Context<'_>) -> Result<StepResult, RunError> {
    let Some((source, trace)) = timeline(run, context) else {
        let why = "there is no timeline and no range to analyse".to_owned();
        return Ok(StepResult::Skipped { why, asked_for: false });
    };
    let options = Options { stages: STAGES.map(str::to_owned).to_vec(), ..Options::default() };
    let findings = analyse(&trace, &options);
    run.files.json("analysis.json", &findings)?;
    run.files.text("kernels.md", &report::kernels_markdown(&findings))?;
    run.files.text("operators.md", &report::operators_markdown(&findings))?;
    let note = format!("{source}: {}", summary(&findings));
    run.findings = Some(findings);
    Ok(StepResult::Done(Some(note)))
}

/// The best there is: the capture by nsys, else the ranges of the rehearsal.
fn timeline<'r>(run: &'r Run, context: &mut Context<'_>) -> Option<(&'static str, Cow<'r, Trace>)> {
    let database = run.files.path("nsys/run.sqlite");
    let holds_something = run
        .manifest
        .verdicts
        .iter()
        .rfind(|record| record.tool == "nsys")
        .is_some_and(|record| matches!(record.verdict["outcome"].as_str(), Some("captured" | "partial")));
    if database.is_file() && holds_something {
        match trace::read_nsys(&database) {
            Ok(trace) => return Some(("nsys", Cow::Owned(trace))),
            Err(error) => context.observer.see(&crate::events::Event::Warning { text: error.to_string() }),
        }
    }
    let inventory = run.inventory.as_ref().filter(|inventory| !inventory.is_empty())?;
    Some(("rehearsal", Cow::Borrowed(&inventory.trace)))
}

/// The busiest device and what it waits for, or what there is instead.
fn summary(findings: &Findings) -> String {
    let kernels: u64 = findings.kernels.iter().map(|row| row.statistics.calls).sum();
    let busiest = findings
        .idle
        .iter()
        .filter(|row| row.region.is_none())
        .max_by(|a, b| a.busy_share.total_cmp(&b.busy_share));
    match busiest {
        Some(row) => {
            let cause = row.cause_shares.first();
            let waits =
                cause.map(|(cause, share)| format!(", waiting for {cause} {}", report::percent(*share)));
            format!(
                "{kernels} kernels, GPU {} busy {}{}",
                row.device,
                report::percent(row.busy_share),
                waits.unwrap_or_default()
            )
        }
        None => format!("{} regions, no kernels", findings.regions.len()),
    }
}
