//! Whole ranges: how many runs of the program they take, and why they may not be replayable.

use std::time::Duration;

use analysis::{Region, launch_groups, windows_within};
use nsight::ncu::{Gate, Pace, ReplayMode, Selection, Target, Wanted, has_kernels, passes};
use record::{Cause, Rung, Tool, Verdict, advice};
use trace::{Trace, in_windows};

use super::super::scene::Scene;
use super::nsight::Nsight;
use super::ranks::{never_ends, unknown};
use super::way::{Common, OneRun, Way};

const TOOL: Tool = Tool::Ncu;

pub(super) fn by_range(climber: &Nsight<'_>, common: &Common, replay: ReplayMode) -> Way {
    let Nsight { scene, wanted, .. } = *climber;
    let planned: u64 = common.targets.iter().map(Target::instances).sum();
    let runs = apart(scene, common);
    let foretold = impossible(climber, common, replay).or_else(|| {
        too_long(scene, wanted, common.wall, runs.len()).filter(|_| replay == ReplayMode::AppRange)
    });
    let rung = if replay == ReplayMode::Range { Rung::RangeReplay } else { Rung::AppRangeReplay };
    Way {
        rung,
        replay,
        runs,
        planned: (planned > 0).then_some(planned),
        plan: None,
        budget: common.allowance.budget,
        open: false,
        targets: common.wanted.clone(),
        any_thread: false,
        foretold,
    }
}

/// Nested ranges are not replayed together: each run has ranges that do not overlap.
fn apart(scene: Scene<'_>, common: &Common) -> Vec<OneRun> {
    let one = |gate: Gate| OneRun { gate, selection: Selection::All };
    let (Some(inventory), Gate::Ranges(_)) = (scene.inventory, &common.gate) else {
        return vec![one(common.gate.clone())];
    };
    let mut runs: Vec<Together> = Vec::new();
    for target in common.targets.iter().flat_map(Target::apart) {
        let regions: Vec<&Region> = target.regions.iter().collect();
        let windows = windows_within(&inventory.trace, &regions);
        let free = |run: &&mut Together| {
            windows.iter().all(|(begin, _)| !in_windows(&run.taken, *begin))
                && run.taken.iter().all(|(begin, _)| !in_windows(&windows, *begin))
        };
        match runs.iter_mut().find(free) {
            Some(run) => {
                run.taken.extend(&windows);
                run.taken = Trace::windows_of(std::mem::take(&mut run.taken));
                run.includes.extend(target.includes(&inventory.regions));
            }
            None => runs.push(Together {
                taken: windows,
                includes: target.includes(&inventory.regions).into_iter().collect(),
            }),
        }
    }
    runs.into_iter().map(|run| one(Gate::Ranges(run.includes))).collect()
}

/// Ranges that are measured in one run of the program.
struct Together {
    /// When one of them is open.
    taken: Vec<(i64, i64)>,
    includes: Vec<String>,
}

/// Why these ranges cannot be replayed, according to the rehearsal and the probe.
fn impossible(climber: &Nsight<'_>, common: &Common, replay: ReplayMode) -> Option<Verdict> {
    let Nsight { scene, ncu, ranks, .. } = *climber;
    let not_tried =
        |cause: Cause, text: String| Some(Verdict::failed(TOOL, cause, format!("not tried: {text}")));
    if !ncu.probe.options.replays(replay.as_str()) {
        let text = format!("ncu {} has no {} replay", ncu.probe.version, replay.as_str());
        return not_tried(Cause::NotSupported, text);
    }
    if common.gate == Gate::None {
        return not_tried(Cause::NoSuchRange, "no range was named to replay".to_owned());
    }
    if replay != ReplayMode::Range {
        return None;
    }
    let recorded = scene.inventory.is_some_and(|inventory| has_kernels(&inventory.trace));
    if !recorded || common.targets.is_empty() {
        // What is in the ranges is not known.
        return unknown(ranks);
    }
    let inventory = scene.inventory?;
    let launches = (ranks >= 2).then(|| launch_groups(&inventory.trace));
    common.targets.iter().flat_map(|target| &target.regions).find_map(|region| {
        let never = |launches| never_ends(ranks, &inventory.trace, launches, region);
        if let Some(verdict) = launches.as_ref().and_then(never) {
            return Some(verdict);
        }
        let gpu = inventory.gpu_of(region)?;
        let answer = inventory.replay(gpu);
        if answer.possible {
            return None;
        }
        let cause = if answer.refused.is_empty() && gpu.first_call {
            Cause::NoContext
        } else {
            Cause::UnsupportedCall
        };
        let why = answer.notes.first().cloned().unwrap_or_default();
        not_tried(cause, format!("`{}` cannot be replayed: {why}", region.path))
    })
}

/// Whether running the program once per pass, `runs` times over, exceeds the budget.
pub(super) fn too_long(scene: Scene<'_>, wanted: &Wanted, own: Duration, runs: usize) -> Option<Verdict> {
    let passes = passes(wanted) as usize * runs;
    let launches = scene.inventory.map_or(0, |inventory| inventory.trace.activities.kernels());
    let wall = own.as_secs_f64() + Pace::default().watching(launches);
    let budget = scene.setting.resolved.config.ncu.budget?.0.as_secs_f64();
    (wall * passes as f64 > budget).then(|| {
        let text = format!(
            "not tried: about {passes} runs of the program, {wall:.1} s each, would exceed `ncu.budget` of \
            {budget:.0} s"
        );
        Verdict::failed(TOOL, Cause::NotSupported, text).with_remedy(advice::APPLICATION_REPLAY_TAKES_LONG)
    })
}
