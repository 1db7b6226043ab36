//! Step 7: what the timeline says.

use std::path::Path;

use analysis::{Findings, Limit, Options, Overhead, analyse, insight};
use nsight::verdict::Outcome;

use super::begin::RunError;
use super::counters;
use super::flow::{Run, StepResult};
use super::stage1;
use crate::events::Event;
use crate::gates::keep_gated;
use crate::model::ModelSource;
use crate::rehearsal::Inventory;
use crate::rundir::{StepName, StepStatus, VerdictRecord};

const STAGE1: &str = "stage 1";
/// Why MFU and MBU are not known, and what to do.
const NO_MODEL: &str = "nothing says how many operations a stage needs: name the model's config.json \
    (`model.config`), or have the kernels of the stages counted with their rooflines (`-p ncu.default`)";

/// `said` is what the user is to hear.
pub(super) fn step(run: &mut Run, said: &mut Vec<Event>) -> Result<StepResult, RunError> {
    if run.counters.is_none() && run.manifest.step(StepName::Counters).status == StepStatus::Done {
        // A run that is resumed has only the files.
        run.counters = counters::reread(run);
    }
    if run.stage1.is_none() && run.manifest.step(StepName::Stage1).status == StepStatus::Done {
        run.stage1 = stage1::reread(run);
    }
    let Some(source) = find_timeline(run, said) else {
        run.insight = insight(None, run.counters.as_ref().map(|counted| &counted.report));
        let why = "there is no timeline and no range to analyse".to_owned();
        return Ok(StepResult::Skipped { why, asked_for: false });
    };
    mark_names(run);
    let Some(trace) = run.analysed() else {
        return Ok(StepResult::Skipped { why: "there is nothing to analyse".to_owned(), asked_for: false });
    };
    let counted = run.counters.as_ref().map(|counted| &counted.report);
    let options = Options::default();
    let mut findings = analyse(trace, &options);
    // Operators are known to PyTorch's profiler alone, and are told with their own source.
    let profiled = run.stage1.as_ref().map(|trace| analyse(trace, &options));
    let mut operators_source = None;
    if let Some(profiled) = profiled {
        operators_source = Some(profiled.source);
        (findings.operators, findings.more_operators) = (profiled.operators, profiled.more_operators);
    }
    let mut insight = insight(Some((trace, &findings)), counted);
    let seen = run.provenance.as_ref().map(|provenance| &provenance.gpus.visible);
    let model = ModelSource {
        config: &run.resolved.config.model,
        cwd: Path::new(&run.manifest.invocation.cwd),
        workload: Some(&run.files.path("workload/rehearsal")),
        devices: &seen.into_iter().flatten().map(|gpu| gpu.name.clone()).collect::<Vec<_>>(),
    };
    model.tell(&mut findings, &mut insight);
    if insight.efficiency.is_empty() {
        insight.no_efficiency.get_or_insert_with(|| NO_MODEL.to_owned());
    }
    match overhead_of(run, source) {
        Ok((found, unsteady)) => (insight.overhead, insight.unsteady) = (found, unsteady),
        Err(why) => insight.no_overhead = Some(why),
    }
    let note = format!("{source}: {}", summary(&findings));
    run.insight = insight;
    run.operators_source = operators_source;
    run.findings = Some(findings);
    Ok(StepResult::Done(Some(note)))
}

/// From here on nothing is judged any more, and everything is written down.
fn mark_names(run: &mut Run) {
    for trace in [&run.captured, &run.stage1].into_iter().flatten() {
        run.files.redactor.learn_from(trace.names());
    }
    let redactor = &run.files.redactor;
    run.inventory = run.inventory.take().map(|inventory| inventory.renamed(|text| redactor.name(text)));
    for trace in [&mut run.captured, &mut run.stage1].into_iter().flatten() {
        trace.rename(|text| redactor.name(text));
    }
}

/// The best there is, for [`Run::analysed`]: the capture by nsys with its gate applied, else the
/// ranges of the rehearsal.
fn find_timeline(run: &mut Run, said: &mut Vec<Event>) -> Option<&'static str> {
    let usable = |record: &VerdictRecord| {
        record.tool == "nsys" && matches!(record.verdict.outcome, Outcome::Captured | Outcome::Partial)
    };
    let captured = run.timeline.take().or_else(|| {
        // A run that is resumed has only the files.
        let databases = trace::timeline_files(&run.files.path("nsys"));
        let last = run.manifest.verdicts.iter().rfind(|record| record.tool == "nsys");
        if databases.is_empty() || !last.is_some_and(usable) {
            return None;
        }
        trace::read_nsys_session(&databases)
            .map_err(|error| said.push(Event::Warning { text: error.to_string() }))
            .ok()
    });
    if let Some(mut trace) = captured {
        if let Some(wish) = run.nsys_wish() {
            // What is not there cannot be applied; the verdict has said so.
            keep_gated(&mut trace, wish, run.inventory.as_ref());
        }
        run.captured = Some(trace);
        return Some("nsys");
    }
    let something = |inventory: &&Inventory| {
        !inventory.is_empty() || !inventory.trace.calls.is_empty() || !inventory.trace.activities.is_empty()
    };
    if run.inventory.as_ref().filter(something).is_some() {
        return Some("rehearsal");
    }
    // Better than nothing: what the operators started.
    run.captured = run.stage1.take();
    run.captured.as_ref().map(|_| STAGE1)
}

/// What nsys cost: the program as a whole, and each region that both recordings have; and why that is doubtful.
fn overhead_of(run: &Run, source: &str) -> Result<(Vec<Overhead>, Option<String>), String> {
    let captured = run.captured.as_ref().filter(|_| source != STAGE1);
    let (Some(captured), Some(inventory)) = (captured, &run.inventory) else {
        return Err("the program was recorded only once".to_owned());
    };
    let wall = |name: &str| {
        let pass = run.manifest.passes.iter().rfind(|pass| pass.name == name)?;
        i64::try_from(pass.wall_ms.checked_mul(1_000_000)?).ok().filter(|ns| *ns > 0)
    };
    let mut rows = Vec::new();
    if let (Some(rehearsed_ns), Some(profiled_ns)) = (wall("rehearsal"), wall("nsys")) {
        let ratio = profiled_ns as f64 / rehearsed_ns as f64;
        let region = "the whole pass under nsys".to_owned();
        rows.push(Overhead { region, instances: 1, rehearsed_ns, profiled_ns, ratio });
    }
    let regions = analysis::overhead(&inventory.regions, &analysis::regions(captured));
    let unsteady = analysis::unsteady(&regions);
    // The longest come first.
    rows.extend(regions.into_iter().take(Limit::default().rows));
    Ok((rows, unsteady))
}

/// The busiest device and what it waits for, or what there is instead.
fn summary(findings: &Findings) -> String {
    let kernels = findings.kernel_calls();
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
        None => format!("{} regions, no kernels", findings.region_count()),
    }
}
