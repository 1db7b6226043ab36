//! What `--dry-run` prints about the counters.

use std::path::Path;
use std::time::Duration;

use nsight::ncu::{
    Allowance, Choice, Entry, Given, Ncu, Outermost, Target, Wanted, choose_launches, has_kernels, outermost,
};

use super::super::asked::will_be_missing;
use super::super::error::RunError;
use super::located::{asked_for, located, settings_text};
use super::plan_file::read_plan;
use super::step::hopeless;
use super::wanted::there;
use super::ways::at_once;
use crate::config::{Enable, NcuConfig, Resolved};
use crate::provenance::Gpus;
use crate::rehearsal::Inventory;

/// `latest` is a rehearsal of the same workload, and its duration; `refused` says which gate matches nothing in it.
pub(in crate::steps) fn planned(
    resolved: &Resolved,
    here: &Path,
    latest: Option<(&Inventory, Duration)>,
    gpus: &Gpus,
    refused: Option<String>,
) -> Result<String, RunError> {
    let config = &resolved.config.ncu;
    if config.enable == Enable::False {
        return Ok("skipped (ncu.enable=false)".to_owned());
    }
    let ncu = match located(resolved) {
        Ok(ncu) => ncu,
        Err(none) if asked_for(resolved) => return Ok(will_be_missing("ncu", &none)),
        Err(none) => return Ok(format!("skipped ({none})")),
    };
    let used = latest.is_some_and(|(inventory, _)| !inventory.trace.activities.is_empty());
    let hopeless = hopeless(Some(gpus), used).map(|verdict| {
        let why = verdict.text.strip_prefix("not started: ").unwrap_or(&verdict.text);
        match asked_for(resolved) {
            true if why.starts_with("no GPU") => will_be_missing("ncu", &format!("there is {why}")),
            true => will_be_missing("ncu", &why),
            false => format!("skipped: {why}"),
        }
    });
    if let Some(refused) = refused.filter(|_| hopeless.is_none()) {
        return Ok(refused);
    }
    let (wanted, left_out) = there(resolved, &ncu);
    let budget = config
        .budget
        .map_or("no time limit".to_owned(), |budget| format!("adding at most {budget} to its own time"));
    let mut text = format!(
        "{}run the workload again under ncu {}, {} replay, {budget}\n  measure  {}",
        hopeless.map(|why| format!("{why}\n  with a GPU it would ")).unwrap_or_default(),
        ncu.probe.version,
        config.replay_mode.as_str(),
        measured(&wanted),
    );
    if !config.workload.is_empty() {
        text.push_str(&format!("\n  with     {}", settings_text(&config.workload)));
    }
    for unknown in left_out {
        text.push_str(&format!("\n  left out {unknown}"));
    }
    if let Some((inventory, wall)) = latest.filter(|(inventory, _)| has_kernels(&inventory.trace)) {
        let entries = config.plan.as_ref().map(|plan| read_plan(&here.join(&plan.0))).transpose()?;
        let choice = launches_text(config, &ncu, &wanted, entries.as_deref(), inventory, wall);
        text.push_str(&format!("\n  choice   {choice}"));
    }
    Ok(text)
}

/// What is measured, on one line.
fn measured(wanted: &Wanted) -> String {
    let set = wanted.set.iter().map(|set| format!("set {set}"));
    let parts: Vec<String> =
        set.chain(wanted.sections.iter().cloned()).chain(wanted.metrics.iter().cloned()).collect();
    if parts.is_empty() { "ncu's default metrics".to_owned() } else { parts.join(", ") }
}

/// The launches that would be selected from a rehearsal's kernels, on one line.
fn launches_text(
    config: &NcuConfig,
    ncu: &Ncu,
    wanted: &Wanted,
    entries: Option<&[Entry]>,
    inventory: &Inventory,
    wall: Duration,
) -> String {
    let meant = config.wishes().iter().flat_map(|wish| nsight::wanted(wish, &inventory.regions));
    let targets: Vec<Target> = meant.flat_map(|wanted| Target::of(&wanted)).collect();
    let outermost =
        if config.wishes().is_empty() { outermost(&inventory.regions) } else { Outermost::default() };
    let at_once = at_once(config.wishes());
    let preferences = config.preferences();
    let choice = choose_launches(&Given {
        preferences: &preferences,
        trace: &inventory.trace,
        targets: &targets,
        at_once: &at_once,
        gated: !(targets.is_empty() && at_once.is_empty()),
        outermost: &outermost.regions,
        any_thread: false,
        entries,
        by_launch_shape: ncu.probe.options.counts_by_launch_shape(),
        wanted,
        wall,
        allowance: Allowance::at_first(&preferences),
    });
    match choice {
        Ok(Choice::Planned { notes, .. }) => notes.join("; "),
        Ok(Choice::NoLaunches { .. }) => "no matching launch".to_owned(),
        Ok(Choice::NoTime(why)) | Err(why) => why,
    }
}
