//! Hardware counters from ncu, judged by what is in the report.

use nsight::Proof;
use nsight::ncu::{Ncu, Permission, Wanted, permission};
use record::{Cause, Rung, StepName, StepStatus, Tool, Verdict, advice};

use super::super::error::RunError;
use super::super::ladder::climb_down;
use super::super::rehearse;
use super::super::scene::Scene;
use super::super::session::{Made, Session, StepResult};
use super::located::{asked_for, located, settings_text};
use super::nsight::{Counted, Nsight};
use super::ranks::{leave_out, ranks};
use super::wanted::{Names, names};
use super::ways::ways;
use crate::config::Enable;
use crate::gates::{nothing_is_meant, prove_gate};
use crate::provenance::Gpus;
use crate::rundir::set_aside;

const TOOL: Tool = Tool::Ncu;
const FOLDER: &str = TOOL.as_str();

pub(in crate::steps) fn step(scene: Scene<'_>, session: &mut Session<'_>) -> Made<Option<Counted>> {
    session.forget_verdicts(&[TOOL]);
    let resolved = &scene.setting.resolved;
    let config = &resolved.config.ncu;
    let skipped = |why: String, asked_for: bool| Ok((StepResult::Skipped { why, asked_for }, None));
    if config.enable == Enable::False {
        return skipped("`ncu.enable=false`".to_owned(), false);
    }
    let asked_for = asked_for(resolved);
    if session.status(StepName::Rehearse) == StepStatus::Failed && !asked_for {
        return skipped(session.why_not_again().to_owned(), asked_for);
    }
    let gpus = scene.provenance.map(|provenance| &provenance.gpus);
    let used = scene.inventory.is_some_and(|inventory| !inventory.trace.activities.is_empty());
    let ncu = match located(resolved) {
        Ok(ncu) => ncu,
        Err(none) => {
            let verdict = none.verdict(TOOL, format!("{none}: no hardware counters of single launches"));
            // Whoever has no GPU need not install ncu.
            let is_missing = verdict.cause == Some(Cause::NotInstalled) && !asked_for;
            if let Some(verdict) = gpus.filter(|_| is_missing).and_then(|gpus| no_gpu(gpus, used)) {
                return skipped(verdict.text, asked_for);
            }
            return Ok((not_started(&verdict, asked_for, session), None));
        }
    };
    if let Some(verdict) = hopeless(gpus, used) {
        return Ok((not_started(&verdict, asked_for, session), None));
    }
    let Names { wanted, notes } = names(resolved, &ncu)?;
    notes.into_iter().for_each(|note| session.warn(note));
    if config.workload.is_empty() {
        return measure(scene, &ncu, &wanted, asked_for, session);
    }
    // Launches must be counted in the workload as ncu runs it.
    session.note(format!("ncu runs the workload with {}", settings_text(&config.workload)));
    let changed = scene.workload.changed(&config.workload);
    let gpus = scene.provenance.map(|provenance| &provenance.gpus);
    let seen = rehearse::as_changed(scene.setting, &changed, gpus, session)?;
    let scene = Scene { workload: &changed, inventory: seen.as_ref(), timeline: None, ..scene };
    measure(scene, &ncu, &wanted, asked_for, session)
}

fn measure(
    scene: Scene<'_>,
    ncu: &Ncu,
    wanted: &Wanted,
    asked_for: bool,
    session: &mut Session<'_>,
) -> Made<Option<Counted>> {
    let proofs = proofs(scene, session);
    if let Some(proof) = proofs.iter().find(|proof| nothing_is_meant(&proof.ncu)) {
        return Ok((not_started(&refused(proof), asked_for, session), None));
    }
    // What an earlier attempt left.
    set_aside(&session.files.path(FOLDER))?;
    record_probe(ncu, session)?;
    let mut climber = Nsight::new(scene, ncu, wanted, proofs);
    let trace = scene.inventory.map(|inventory| &inventory.trace);
    climber.ranks = ranks(session.manifest, trace);
    let left_out = leave_out(climber.ranks, trace, &mut climber.preferences);
    left_out.into_iter().for_each(|note| session.note(note));
    let ways = match ways(&climber, session)? {
        Ok(ways) => ways,
        Err(verdict) => return Ok((not_started(&verdict, asked_for, session), None)),
    };
    let result = climb_down(&mut climber, ways, asked_for, session)?;
    Ok((result, climber.counted))
}

/// What can be known before the workload is started. `used`: in the rehearsal, the program used a GPU.
pub(super) fn hopeless(gpus: Option<&Gpus>, used: bool) -> Option<Verdict> {
    if let Some(verdict) = gpus.and_then(|gpus| no_gpu(gpus, used)) {
        return Some(verdict);
    }
    if permission() == Permission::AdminOnly {
        let text = "not started: this GPU's counters are restricted to administrators \
        (RmProfilingAdminOnly: 1)";
        return Some(Verdict::failed(TOOL, Cause::NotPermitted, text));
    }
    None
}

/// `used`: in the rehearsal, the program made hidden GPUs visible to itself.
fn no_gpu(gpus: &Gpus, used: bool) -> Option<Verdict> {
    // A GPU hidden from NVML may still exist; without a driver there is none.
    if let Some(because) = &gpus.absent_because {
        let text = format!("not started: no GPU ({because})");
        return Some(Verdict::failed(TOOL, Cause::NoGpu, text));
    }
    let (hidden, remedy) = gpus.hidden().filter(|_| !used)?;
    Some(Verdict::failed(TOOL, Cause::NoGpu, format!("not started: {hidden}")).with_remedy(remedy))
}

/// A capture that was not tried: failed if it was asked for, else skipped.
fn not_started(verdict: &Verdict, asked_for: bool, session: &mut Session<'_>) -> StepResult {
    if asked_for {
        session.record(TOOL, Rung::AsAsked, verdict);
        return StepResult::Failed { why: verdict.text_with_hint(), asked_for };
    }
    StepResult::Skipped { why: verdict.text_with_hint(), asked_for }
}

fn refused(proof: &Proof) -> Verdict {
    let text = proof.ncu.refusal(&proof.typed);
    Verdict::missed(TOOL, Cause::NoSuchRange, text).with_remedy(advice::USE_A_LISTED_RANGE)
}

/// What each gate matches in ncu, if there is a rehearsal.
fn proofs(scene: Scene<'_>, session: &Session<'_>) -> Vec<Proof> {
    let Some(inventory) = scene.inventory else { return Vec::new() };
    let (exit_code, terms) = (session.own_exit_code(), scene.nsys_terms());
    let wishes = scene.setting.ncu_wishes().iter();
    wishes
        .map(|wish| prove_gate(wish, inventory, exit_code, terms))
        // Only a complete rehearsal proves that a gate matches nothing.
        .filter(|proof| inventory.is_complete() || !nothing_is_meant(&proof.ncu))
        .collect()
}

fn record_probe(ncu: &Ncu, session: &Session<'_>) -> Result<(), RunError> {
    let sections: String =
        ncu.probe.sections.iter().map(|section| format!("{}\t{}\n", section.id, section.name)).collect();
    let sets: String =
        ncu.probe.sets.iter().map(|set| format!("set {}\t{}\n", set.id, set.sections.join(", "))).collect();
    session.files.folder(FOLDER)?;
    session.files.text("ncu/sections.txt", &format!("# ncu {}\n{sections}{sets}", ncu.probe.version))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::Gpu;
    use record::Outcome;

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
        assert_eq!(verdict.text, "not started: no GPU (no driver)");
        assert!(verdict.remedy.unwrap().contains("pass the GPU through"));
    }
}
