//! The step `counters`: the hardware counters by ncu, judged by what is in the report, one rung after the
//! other.

mod by_range;
mod capture;
mod choice;
mod dry_run;
mod outermost;
mod rungs;
mod wanted;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Duration;

use analysis::{CounterRegions, KernelPatterns, KnownRegion, Region, counter_regions};
use counters::Report;
use nsight::Proof;
use nsight::ncu::verdict;
use nsight::verdict::{Cause, Outcome, Verdict};
use nvtx::{Kind, RegionPath};

use super::begin::RunError;
use super::flow::{Context, Counted, Run, StepResult};
use super::rehearse;
use super::verdicts::{record, stepped_down, told};
use crate::config::{CaptureRange, Enable, Resolved, Text};
use crate::events::Event;
use crate::gates::{nothing_is_meant, prove_gate};
use crate::locate::NoTool;
use crate::ncu::{Ncu, Permission, permission, reports};
use crate::provenance::Gpus;
use crate::rundir::{Durable, Readers, StepName, StepStatus, write_whole};
use crate::secrets::Redactor;
use crate::workload::words_of;
use capture::{Attempted, Instead, Tool, Turn, attempt};
pub(super) use dry_run::planned;
use rungs::{Rung, rungs, tell, with_fewer};
pub(super) use wanted::check_names;
use wanted::{Names, names};

const TOOL: &str = "ncu";

pub(super) fn step(run: &mut Run, context: &mut Context<'_>) -> Result<StepResult, RunError> {
    // Of an earlier attempt.
    run.manifest.verdicts.retain(|record| record.tool != TOOL);
    let config = &run.resolved.config.ncu;
    if config.enable == Enable::False {
        return Ok(StepResult::Skipped { why: "`ncu.enable=false`".to_owned(), asked_for: false });
    }
    let asked_for = asked_for(&run.resolved);
    if run.manifest.step(StepName::Rehearse).status == StepStatus::Failed && !asked_for {
        let why = "the workload failed in its rehearsal".to_owned();
        return Ok(StepResult::Skipped { why, asked_for });
    }
    let ncu = match Ncu::of(config) {
        Ok(ncu) => ncu,
        Err(none) => return Ok(without_ncu(run, &none, asked_for)),
    };
    if let Some(verdict) = hopeless(run) {
        return Ok(not_started(run, &verdict, asked_for));
    }
    let Names { wanted, notes } = names(run, &ncu)?;
    for note in notes {
        run.warn(note, context);
    }
    let changes = run.resolved.config.ncu.workload.clone();
    if changes.is_empty() {
        return measure(run, &ncu, &wanted, asked_for, context);
    }
    // Launches are counted in the workload as ncu runs it.
    let text = format!("ncu runs the workload with {}", settings_text(&changes));
    context.observer.see(&Event::Note { text });
    let changed = run.workload.changed(&changes);
    let workload = std::mem::replace(&mut run.workload, changed);
    let (inventory, timeline) = (run.inventory.take(), run.timeline.take());
    let result = rehearse::as_changed(run, context).and_then(|seen| {
        run.inventory = seen;
        measure(run, &ncu, &wanted, asked_for, context)
    });
    (run.workload, run.inventory, run.timeline) = (workload, inventory, timeline);
    result
}

/// `max_new_tokens=4 batch=1`
fn settings_text(settings: &BTreeMap<String, Text>) -> String {
    words_of(settings).collect::<Vec<_>>().join(" ")
}

fn measure(
    run: &mut Run,
    ncu: &Ncu,
    wanted: &nsight::ncu::Wanted,
    asked_for: bool,
    context: &mut Context<'_>,
) -> Result<StepResult, RunError> {
    let proofs = proofs(run);
    if let Some(proof) = proofs.iter().find(|proof| nothing_is_meant(&proof.ncu)) {
        let verdict = refused(proof);
        return Ok(not_started(run, &verdict, asked_for));
    }
    // What an earlier attempt left.
    rehearse::set_aside(&run.files.path(TOOL))?;
    record_probe(run, ncu)?;
    let rungs = match rungs(run, ncu, wanted, &proofs, context)? {
        Ok(rungs) => rungs,
        Err(verdict) => return Ok(not_started(run, &verdict, asked_for)),
    };
    climb_down(run, ncu, wanted, rungs, asked_for, context)
}

/// Set to `true`, or gated in a layer that the user wrote.
fn asked_for(resolved: &Resolved) -> bool {
    let config = &resolved.config.ncu;
    let by_user = |key: &str| resolved.set_by_user(key);
    config.enable == Enable::True
        || !config.nvtx_include.is_empty() && by_user("ncu.nvtx_include")
        || config.capture_range == CaptureRange::CudaProfilerApi && by_user("ncu.capture_range")
        || config.plan.is_some()
}

fn without_ncu(run: &mut Run, none: &NoTool, asked_for: bool) -> StepResult {
    let cause = match none {
        NoTool::Absent(_) => Cause::NotInstalled,
        NoTool::Broken(_) => Cause::ToolBroken,
    };
    let verdict = verdict(Outcome::Failed, cause, format!("{none}: no hardware counters"));
    not_started(run, &verdict, asked_for)
}

/// What can be known before the workload is started.
fn hopeless(run: &Run) -> Option<Verdict> {
    let gpus = run.provenance.as_ref().map(|provenance| &provenance.gpus);
    let used = run.inventory.as_ref().is_some_and(|inventory| !inventory.trace.activities.is_empty());
    if let Some(verdict) = gpus.and_then(|gpus| no_gpu(gpus, used)) {
        return Some(verdict);
    }
    if permission() == Permission::AdminOnly {
        let text = "not started: only administrators may read this GPU's counters (RmProfilingAdminOnly: 1)";
        return Some(verdict(Outcome::Failed, Cause::NotPermitted, text.to_owned()));
    }
    None
}

/// `used`: the rehearsal saw the program show itself what was hidden.
fn no_gpu(gpus: &Gpus, used: bool) -> Option<Verdict> {
    // A device that is hidden from NVML may still be there; no driver is none.
    if let Some(because) = &gpus.absent_because {
        let text = format!("not started: there is no GPU to count on ({because})");
        return Some(verdict(Outcome::Failed, Cause::NoGpu, text));
    }
    let (hidden, remedy) = gpus.hidden().filter(|_| !used)?;
    Some(verdict(Outcome::Failed, Cause::NoGpu, format!("not started: {hidden}")).with_remedy(remedy))
}

/// A capture that was not tried: a failure if it was asked for, else only left out.
fn not_started(run: &mut Run, verdict: &Verdict, asked_for: bool) -> StepResult {
    if asked_for {
        record(run, TOOL, "as asked", verdict);
        return StepResult::Failed { why: told(verdict), asked_for };
    }
    let hint = verdict.remedy.as_ref().map(|remedy| format!("\nhint: {remedy}")).unwrap_or_default();
    StepResult::Skipped { why: format!("{}{hint}", verdict.text), asked_for }
}

fn refused(proof: &Proof) -> Verdict {
    let cause = proof.ncu.cause.as_ref();
    let text = format!(
        "not started: its gate `{}` can match nothing, as the plan says{}",
        proof.typed,
        cause.map(|cause| format!(": {cause}")).unwrap_or_default()
    );
    verdict(Outcome::Missed, Cause::NoSuchRange, text)
        .with_remedy("use one of the ranges there are: `rangefinder ranges` lists them")
}

/// What ncu makes of each gate, where a rehearsal can tell.
fn proofs(run: &Run) -> Vec<Proof> {
    let Some(inventory) = &run.inventory else { return Vec::new() };
    let exit_code = run.manifest.workload_pass().map_or(0, |pass| pass.ending.shell_code());
    run.ncu_wishes()
        .iter()
        .map(|wish| prove_gate(wish, inventory, exit_code, run.nsys_terms()))
        // That nothing is meant is proven only by who has seen everything.
        .filter(|proof| inventory.is_complete() || !nothing_is_meant(&proof.ncu))
        .collect()
}

fn record_probe(run: &Run, ncu: &Ncu) -> Result<(), RunError> {
    let sections: String =
        ncu.probe.sections.iter().map(|section| format!("{}\t{}\n", section.id, section.name)).collect();
    let sets: String =
        ncu.probe.sets.iter().map(|set| format!("set {}\t{}\n", set.id, set.sections.join(", "))).collect();
    run.files.folder(TOOL)?;
    run.files.text("ncu/sections.txt", &format!("# ncu {}\n{sections}{sets}", ncu.probe.version))?;
    Ok(())
}

/// Each rung in turn, until one leaves what was wanted.
fn climb_down(
    run: &mut Run,
    ncu: &Ncu,
    wanted: &nsight::ncu::Wanted,
    rungs: Vec<Rung>,
    asked_for: bool,
    context: &mut Context<'_>,
) -> Result<StepResult, RunError> {
    let tool = Tool { ncu, wanted };
    let mut rungs = VecDeque::from(rungs);
    let mut turn = Turn { number: 0, may_give_up: true };
    let mut before = None;
    while let Some(rung) = rungs.pop_front() {
        turn.number += 1;
        let Attempted { mut verdict, report, took, instead } = match &rung.foretold {
            // The rehearsal has said that it cannot work: the program is not run for it.
            Some(verdict) => Attempted::nothing(verdict.clone()),
            None => attempt(run, tool, &rung, turn, context)?,
        };
        let stopped = context.signals.interrupted();
        let given_up = match instead.filter(|_| !stopped) {
            Some(instead) => fewer_instead(run, tool, &rung, &mut verdict, instead)?,
            None => None,
        };
        record(run, TOOL, &rung.name, &verdict);
        if let Some(report) =
            report.filter(|_| matches!(verdict.outcome, Outcome::Captured | Outcome::Partial))
        {
            let report = Report::joined(before.take().into_iter().chain([report]));
            run.counters = report.map(|report| keep(run, report)).transpose()?;
        }
        if stopped {
            return Ok(StepResult::Interrupted(told(&verdict)));
        }
        if let Some((fewer, notes)) = given_up {
            run.warn(stepped_down(TOOL, &rung.name, &verdict, &fewer.name), context);
            tell(&notes, context);
            before = run.counters.as_ref().map(|counted| counted.report.clone());
            turn.may_give_up = false;
            rungs.push_front(fewer);
            continue;
        }
        match verdict.outcome {
            Outcome::Captured => {
                let took = in_budget(took, rung.budget);
                let text = format!("ncu {}, {}: {}{took}", ncu.probe.version, rung.name, told(&verdict));
                return Ok(StepResult::Done(Some(text)));
            }
            Outcome::Partial => return Ok(StepResult::Failed { why: told(&verdict), asked_for }),
            Outcome::Missed | Outcome::Failed => {}
        }
        match rungs.front().filter(|_| another_way_may_help(&verdict)) {
            Some(next) => {
                run.warn(stepped_down(TOOL, &rung.name, &verdict, &next.name), context);
            }
            None => return Ok(StepResult::Failed { why: told(&verdict), asked_for }),
        }
    }
    // There is always a rung, and the last one returns.
    Ok(StepResult::Skipped { why: "there is no way to capture".to_owned(), asked_for })
}

/// The rung that follows one that was given up, if anything fits, and what to say about it; the verdict says
/// which it is.
fn fewer_instead(
    run: &Run,
    tool: Tool<'_>,
    rung: &Rung,
    verdict: &mut Verdict,
    Instead { why, allowance }: Instead,
) -> Result<Option<(Rung, Vec<String>)>, RunError> {
    let fewer = with_fewer(run, tool, &proofs(run), rung, allowance)?;
    verdict.text = match &fewer {
        Some(_) => format!("given up: {why}, and at this pace not all fit `ncu.budget`"),
        None => format!(
            "{}; given up: {why}, and not one more fits the {:.0} s that are left",
            verdict.text,
            allowance.budget.unwrap_or_default().as_secs_f64()
        ),
    };
    Ok(fewer)
}

/// What the replays took, against what they were allowed.
fn in_budget(took: Duration, budget: Option<Duration>) -> String {
    budget
        .filter(|_| !took.is_zero())
        .map(|budget| format!(", in {:.1} s of {:.0} s", took.as_secs_f64(), budget.as_secs_f64()))
        .unwrap_or_default()
}

/// It does not help against a missing permission.
fn another_way_may_help(verdict: &Verdict) -> bool {
    !matches!(
        verdict.cause,
        Some(
            Cause::NotPermitted
                | Cause::DeviceBusy
                | Cause::NoGpu
                | Cause::UnsupportedChip
                | Cause::Refused
                | Cause::DiskFull
                | Cause::Interrupted
                | Cause::CuptiInUse
                | Cause::NotStarted
                | Cause::BudgetSpent
                | Cause::TimedOut
        )
    )
}

/// What can be read without ncu: every metric, and the regions.
fn keep(run: &Run, mut report: Report) -> Result<Counted, RunError> {
    report.rename(|text| run.files.redactor.name(text));
    run.files.stream("ncu/raw.csv", |out| report::write_counters_csv(&report, out))?;
    let regions = by_region(run, &report);
    let folder = run.files.folder("ncu/regions")?;
    let whole = |path: &Path, bytes: &[u8]| {
        write_whole(path, Readers::Usual, Durable::No, |out| out.write_all(bytes))
    };
    report::write_counter_regions(&folder, &regions, whole)
        .map_err(|error| crate::rundir::WriteError::new(&folder, error))?;
    Ok(Counted { report, regions })
}

/// What an earlier attempt at this run measured.
pub(super) fn reread(run: &Run) -> Option<Counted> {
    let readable = reports(run.files.root()).into_iter();
    let mut report = Report::joined(readable.filter_map(|file| ::counters::read_ncu_report(&file).ok()))?;
    report.rename(|text| run.files.redactor.name(text));
    Some(Counted { regions: by_region(run, &report), report })
}

fn by_region(run: &Run, report: &Report) -> CounterRegions {
    let config = &run.resolved.config.ncu;
    let patterns = KernelPatterns::new(&config.kernel_include, &config.kernel_exclude).unwrap_or_default();
    counter_regions(report, &known(run), &patterns)
}

/// The regions of the rehearsal: those without a counter are shown as such.
fn known(run: &Run) -> Vec<KnownRegion> {
    let Some(inventory) = &run.inventory else { return Vec::new() };
    let launches = |region: &Region| {
        let recorded = !inventory.gpu.is_empty() && region.kind == Kind::PushPop;
        recorded.then(|| inventory.gpu_of(region).map_or(0, |gpu| gpu.launches))
    };
    inventory
        .regions
        .iter()
        .map(|region| KnownRegion {
            path: shown(&region.path, &run.files.redactor),
            kind: region.kind,
            instances: region.instances,
            launches: launches(region),
        })
        .collect()
}

/// The path with the secrets in its names marked.
fn shown(path: &RegionPath, redactor: &Redactor) -> RegionPath {
    let name = |text: &String| redactor.name(text).unwrap_or_else(|| text.clone());
    RegionPath::new(name(&path.domain), path.names.iter().map(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::Gpu;

    #[test]
    fn hidden_is_not_absent() {
        let hidden = |list: &str| Gpus {
            devices: vec![Gpu::default(); 2],
            cuda_visible_devices: Some(list.to_owned()),
            ..Gpus::default()
        };
        let verdict = no_gpu(&hidden("7"), false).unwrap();
        assert_eq!((verdict.outcome, verdict.cause), (Outcome::Failed, Some(Cause::NoGpu)));
        assert_eq!(verdict.text, "not started: `CUDA_VISIBLE_DEVICES=7` hides all 2 GPUs from the workload");
        let remedy = verdict.remedy.unwrap();
        assert_eq!(remedy, "set it (`workload.device`) to one of `0` to `1`, or leave it unset");
        assert_eq!(no_gpu(&hidden("7"), true), None, "the program knows better");
        assert_eq!(no_gpu(&Gpus { devices: vec![Gpu::default()], ..Gpus::default() }, false), None);
        let absent = Gpus { absent_because: Some("no driver".to_owned()), ..Gpus::default() };
        let verdict = no_gpu(&absent, false).unwrap();
        assert_eq!(verdict.text, "not started: there is no GPU to count on (no driver)");
        assert!(verdict.remedy.unwrap().contains("pass the GPU in"));
    }
}
