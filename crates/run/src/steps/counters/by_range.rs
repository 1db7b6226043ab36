//! Whole ranges: which runs of the program they take, and what speaks against replaying them.

use analysis::{Region, windows_within};
use nsight::ncu::{Gate, Pace, ReplayMode, Selection, Wanted, verdict};
use nsight::verdict::{Cause, Outcome, Verdict};
use nvtx::ncu_expression;
use trace::{Trace, in_windows};

use super::super::flow::Run;
use super::choice::passes;
use super::rungs::{OneRun, Rung, Setting};
use crate::ncu::Ncu;

pub(super) fn by_range(run: &Run, ncu: &Ncu, wanted: &Wanted, setting: &Setting, replay: ReplayMode) -> Rung {
    let planned: u64 = setting.wanted.iter().map(|region| region.instances).sum();
    let runs = apart(run, setting);
    let foretold = impossible(run, ncu, setting, replay)
        .or_else(|| too_long(run, wanted, runs.len()).filter(|_| replay == ReplayMode::AppRange));
    Rung {
        name: format!("{} replay", replay.as_str()),
        replay,
        runs,
        planned: (planned > 0).then_some(planned),
        plan: None,
        budget: setting.allowance.budget,
        open: false,
        regions: setting.wanted.clone(),
        any_thread: false,
        foretold,
    }
}

/// Ranges that lie in each other are not replayed together: each run has some that do not.
fn apart(run: &Run, setting: &Setting) -> Vec<OneRun> {
    let one = |gate: Gate| OneRun { gate, selection: Selection::All };
    let (Some(inventory), Gate::Ranges(_)) = (&run.inventory, &setting.gate) else {
        return vec![one(setting.gate.clone())];
    };
    let mut runs: Vec<Together> = Vec::new();
    for region in &setting.regions {
        let windows = windows_within(&inventory.trace, &[region]);
        let free = |run: &&mut Together| {
            windows.iter().all(|(begin, _)| !in_windows(&run.taken, *begin))
                && run.taken.iter().all(|(begin, _)| !in_windows(&windows, *begin))
        };
        match runs.iter_mut().find(free) {
            Some(run) => {
                run.taken.extend(&windows);
                run.taken = Trace::windows_of(std::mem::take(&mut run.taken));
                run.includes.push(include_of(region));
            }
            None => runs.push(Together { taken: windows, includes: vec![include_of(region)] }),
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

/// The region alone, wherever else its name is used.
pub(super) fn include_of(region: &Region) -> String {
    ncu_expression(&region.path, region.kind).text
}

/// What the rehearsal and the probe say against replaying these ranges.
fn impossible(run: &Run, ncu: &Ncu, setting: &Setting, replay: ReplayMode) -> Option<Verdict> {
    let not_tried =
        |cause: Cause, text: String| Some(verdict(Outcome::Failed, cause, format!("not tried: {text}")));
    if !ncu.probe.options.replays(replay.as_str()) {
        let text = format!("ncu {} has no {} replay", ncu.probe.version, replay.as_str());
        return not_tried(Cause::NotSupported, text);
    }
    if setting.gate == Gate::None {
        return not_tried(Cause::NoSuchRange, "no range is named that could be replayed".to_owned());
    }
    if replay != ReplayMode::Range {
        return None;
    }
    let inventory = run.inventory.as_ref()?;
    setting.regions.iter().find_map(|region| {
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
        not_tried(cause, format!("of `{}` the rehearsal says: {why}", region.path))
    })
}

/// Whether running the program once a pass, `runs` times over, is more than the budget.
pub(super) fn too_long(run: &Run, wanted: &Wanted, runs: usize) -> Option<Verdict> {
    let passes = passes(wanted) as usize * runs;
    let launches = run.inventory.as_ref().map_or(0, |inventory| inventory.trace.activities.kernels());
    let wall = run.own_time().as_secs_f64() + Pace::default().watching(launches);
    let budget = run.resolved.config.ncu.budget?.0.as_secs_f64();
    (wall * passes as f64 > budget).then(|| {
        let text = format!(
            "not tried: about {passes} runs of the program, {wall:.1} s each, do not fit `ncu.budget` of {budget:.0} s"
        );
        verdict(Outcome::Failed, Cause::NotSupported, text)
            .with_remedy("give it more time (`ncu.budget`), measure less (`-p ncu.quick`), or use `ncu.replay_mode=kernel`")
    })
}
