//! The ways to measure, in the order they are tried.
//! Ranges: replayed in place (`range`), or by running the program once per pass (`app-range`) if
//! that fits the budget and the program is deterministic; else kernel by kernel inside
//! the ranges, which are then summed. Kernels: inside the named ranges, with the
//! gate corrected by the rehearsal, or without a gate if none works.

use std::path::Path;
use std::time::Duration;

use analysis::{Region, launch_groups, launches_in};
use nsight::ncu::{
    Allowance, Choice, Entry, Gate, Given, NameBase, Plan, ReplayMode, Selection, Target, WantedTarget,
    choose_launches, has_kernels, outermost, unchecked_includes,
};
use nsight::{Correction, wanted};
use nvtx::NcuGate;
use record::{Cause, Rung, Tool, Verdict};
use trace::Trace;

use super::super::error::RunError;
use super::super::scene::Scene;
use super::super::session::Session;
use super::by_range::{by_range, too_long};
use super::nsight::Nsight;
use super::plan_file::read_plan;
use super::ranks::{COLLECTIVES, unknown};
use super::way::{Common, OneRun, Way};
use crate::config::CaptureRange;

const TOOL: Tool = Tool::Ncu;

/// Launches to measure if nothing is known about the program and ncu cannot count them by kernel.
const FIRST_LAUNCHES: u64 = 50;

/// All ways, or why there can be none.
pub(super) fn ways(
    climber: &Nsight<'_>,
    session: &mut Session<'_>,
) -> Result<Result<Vec<Way>, Verdict>, RunError> {
    let Nsight { scene, wanted, .. } = climber;
    let common = Common::of(climber, Allowance::at_first(&climber.preferences), session.own_time());
    let mode = scene.setting.resolved.config.ncu.replay_mode;
    let mut ways = Vec::new();
    if mode == ReplayMode::Range {
        ways.push(by_range(climber, &common, ReplayMode::Range));
        if scene.second.is_none() {
            ways.push(by_range(climber, &common, ReplayMode::AppRange));
        }
    }
    if mode == ReplayMode::AppRange {
        ways.push(by_range(climber, &common, ReplayMode::AppRange));
    }
    let by_kernel = match kernels(climber, &common, session)? {
        Ok(by_kernel) => by_kernel,
        Err(why) if ways.is_empty() => return Ok(Err(why)),
        Err(_) => return Ok(Ok(ways)),
    };
    by_kernel.notes.iter().for_each(|note| session.note(note.clone()));
    if mode == ReplayMode::Application {
        let mut way = by_kernel.way(ReplayMode::Application, &common, Rung::ApplicationReplay);
        way.foretold = too_long(*scene, wanted, common.wall, 1);
        ways.push(way);
    }
    ways.push(by_kernel.way(ReplayMode::Kernel, &common, Rung::KernelReplay));
    // Results outside the named ranges are removed afterwards, which requires knowing the ranges.
    let named = matches!(common.gate, Gate::Ranges(_)) && !common.targets.is_empty();
    if by_kernel.gate.is_some() || named {
        let open = common.opened();
        if let Ok(ungated) = kernels(climber, &open, session)? {
            ways.push(ungated.way(ReplayMode::Kernel, &open, Rung::KernelReplayWithoutGate));
        }
    }
    Ok(Ok(ways))
}

/// After an abandoned way: the same with as many launches as fit now, and notes about it; none if no launch
/// fits.
pub(super) fn with_fewer(
    climber: &Nsight<'_>,
    way: &Way,
    allowance: Allowance,
    session: &Session<'_>,
) -> Result<Option<(Way, Vec<String>)>, RunError> {
    let common = Common::of(climber, allowance, session.own_time());
    let common = if way.open { common.opened() } else { common };
    let Ok(by_kernel) = kernels(climber, &common, session)? else { return Ok(None) };
    let fewer = by_kernel.way(ReplayMode::Kernel, &common, way.rung.with_fewer_launches());
    Ok(Some((fewer, by_kernel.notes)))
}

impl Common {
    fn of(climber: &Nsight<'_>, allowance: Allowance, wall: Duration) -> Self {
        let Nsight { scene, ncu, .. } = climber;
        let targets = meant(*scene);
        let seen = scene.inventory.map(|inventory| &inventory.trace).filter(|trace| has_kernels(trace));
        let launches = seen.map(|trace| (trace, launch_groups(trace)));
        let count = |target: &Target, any_thread: bool| {
            let (trace, launches) = launches.as_ref()?;
            let regions: Vec<&Region> = target.regions.iter().collect();
            let inside = launches_in(trace, launches, &regions, any_thread);
            Some(inside.into_iter().filter(|inside| *inside).count() as u64)
        };
        // Their own thread launches nothing in them, but other threads do.
        let elsewhere = |target: &Target| count(target, false) == Some(0) && count(target, true) > Some(0);
        let any_thread = ncu.probe.options.has("nvtx-push-pop-scope") && targets.iter().any(elsewhere);
        let wanted: Vec<WantedTarget> = targets
            .iter()
            .map(|target| WantedTarget { target: target.clone(), launches: count(target, any_thread) })
            .collect();
        let capture_range = scene.setting.resolved.config.ncu.capture_range;
        let gate = match capture_range == CaptureRange::CudaProfilerApi {
            true => Gate::ProfilerApi,
            false => includes(climber),
        };
        Self { gate, open: false, targets, wanted, any_thread, wall, allowance }
    }

    fn opened(self) -> Self {
        Self { gate: Gate::None, open: true, ..self }
    }
}

/// What the gates match.
fn meant(scene: Scene<'_>) -> Vec<Target> {
    let Some(inventory) = scene.inventory else { return Vec::new() };
    let mut targets: Vec<Target> = Vec::new();
    for wish in scene.setting.ncu_wishes() {
        for target in wanted(wish, &inventory.regions).iter().flat_map(Target::of) {
            if !targets.iter().any(|other| other.is_same(&target)) {
                targets.push(target);
            }
        }
    }
    targets
}

/// Gates that need several start/end ranges open at once: no single region matches them.
pub(super) fn at_once(wishes: &[String]) -> Vec<NcuGate> {
    let gates = wishes.iter().filter_map(|wish| NcuGate::parse(wish).ok());
    gates.filter(|gate| gate.started_names() > 1).collect()
}

/// `--nvtx-include`, as corrected by the rehearsal, or as typed if there was none.
fn includes(climber: &Nsight<'_>) -> Gate {
    let Nsight { scene, proofs, .. } = climber;
    let wishes = scene.setting.ncu_wishes();
    if wishes.is_empty() {
        return Gate::None;
    }
    if proofs.is_empty() {
        return Gate::Ranges(wishes.iter().flat_map(|wish| unchecked_includes(wish)).collect());
    }
    let mut includes: Vec<String> = Vec::new();
    for proof in proofs {
        match &proof.ncu.correction {
            Correction::AsTyped => includes.push(proof.typed.clone()),
            // Each region by its full path: the name alone may match others.
            Correction::Arguments { .. } => {
                let regions = scene.inventory.map_or(&[][..], |inventory| &inventory.regions);
                let targets: Vec<Target> =
                    wanted(&proof.typed, regions).iter().flat_map(Target::of).collect();
                includes.extend(targets.iter().flat_map(|target| target.includes(regions)));
            }
            // If one gate cannot be expressed, measure everything and filter afterwards.
            Correction::Ungated { .. } | Correction::None => return Gate::None,
        }
    }
    includes.sort();
    includes.dedup();
    Gate::Ranges(includes)
}

/// Kernel by kernel: what to select, and notes about it.
struct ByKernel {
    selections: Vec<Selection>,
    /// Used if the configuration sets none.
    gate: Option<Gate>,
    plan: Option<Plan>,
    notes: Vec<String>,
}

impl ByKernel {
    fn way(&self, replay: ReplayMode, common: &Common, rung: Rung) -> Way {
        Way {
            rung,
            replay,
            runs: self
                .selections
                .iter()
                .map(|selection| OneRun {
                    gate: self.gate.clone().unwrap_or_else(|| common.gate.clone()),
                    selection: selection.clone(),
                })
                .collect(),
            planned: self.plan.as_ref().map(|plan| plan.invocations.iter().map(|one| one.launches).sum()),
            plan: self.plan.clone(),
            budget: common.allowance.budget,
            open: common.open,
            targets: common.wanted.clone(),
            any_thread: common.any_thread,
            foretold: None,
        }
    }
}

fn kernels(
    climber: &Nsight<'_>,
    common: &Common,
    session: &Session<'_>,
) -> Result<Result<ByKernel, Verdict>, RunError> {
    let Nsight { scene, ncu, wanted, preferences, .. } = climber;
    let entries = entries(*scene, session)?;
    let by_launch_shape = ncu.probe.options.counts_by_launch_shape();
    let Some(trace) = timeline(*scene, common) else {
        let told = unknown(climber.ranks).filter(|_| entries.is_none());
        return Ok(match told {
            Some(verdict) => Err(verdict),
            None => without_timeline(climber, common, entries.as_deref(), by_launch_shape),
        });
    };
    let wishes = scene.setting.ncu_wishes();
    let known = scene.inventory.filter(|_| !common.open && wishes.is_empty());
    let outermost = known.map(|inventory| outermost(&inventory.regions)).unwrap_or_default();
    let given = Given {
        preferences,
        trace,
        targets: &common.targets,
        at_once: &at_once(wishes),
        gated: matches!(common.gate, Gate::Ranges(_)),
        outermost: &outermost.regions,
        any_thread: common.any_thread,
        entries: entries.as_deref(),
        by_launch_shape,
        wanted,
        wall: common.wall,
        allowance: common.allowance,
    };
    let failed = |cause, text: String| Ok(Err(Verdict::failed(TOOL, cause, text)));
    match choose_launches(&given) {
        Ok(Choice::Planned { plan, notes, within }) => Ok(Ok(ByKernel {
            selections: plan.invocations.iter().map(|invocation| invocation.selection.clone()).collect(),
            gate: outermost.include.filter(|_| within).map(|include| Gate::Ranges(vec![include])),
            plan: Some(plan),
            notes,
        })),
        Ok(Choice::NoLaunches { notes, chosen: true }) => {
            let mut text = "not started: no kernel in the program matches the given names".to_owned();
            notes.iter().for_each(|note| text.push_str(&format!("; {note}")));
            failed(Cause::NoSuchKernel, text)
        }
        Ok(Choice::NoLaunches { .. }) => {
            let text = "not started: the timeline has no matching launch".to_owned();
            failed(Cause::NoKernels, text)
        }
        Ok(Choice::NoTime(text)) => failed(Cause::BudgetSpent, format!("not started: {text}")),
        Err(text) => failed(Cause::Refused, format!("not started: {text}")),
    }
}

fn entries(scene: Scene<'_>, session: &Session<'_>) -> Result<Option<Vec<Entry>>, RunError> {
    let Some(plan) = &scene.setting.resolved.config.ncu.plan else { return Ok(None) };
    Ok(Some(read_plan(&Path::new(&session.manifest.invocation.cwd).join(&plan.0))?))
}

/// The rehearsal's trace is complete; an nsys trace may be gated, and then only covers its gate.
fn timeline<'r>(scene: Scene<'r>, common: &Common) -> Option<&'r Trace> {
    // cudaProfilerStart and Stop are not in a trace.
    if common.gate == Gate::ProfilerApi {
        return None;
    }
    let rehearsed = scene.inventory.map(|inventory| &inventory.trace);
    let captured = scene.timeline.filter(|_| scene.setting.nsys_wish().is_none());
    [rehearsed, captured].into_iter().flatten().find(|trace| has_kernels(trace))
}

/// The launches are unknown: take the first few of each kernel.
fn without_timeline(
    climber: &Nsight<'_>,
    common: &Common,
    entries: Option<&[Entry]>,
    by_launch_shape: bool,
) -> Result<ByKernel, Verdict> {
    let preferences = &climber.preferences;
    let mut notes = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for entry in entries.unwrap_or_default() {
        match &entry.name {
            Some(name) => names.push(function_of(name).to_owned()),
            None => notes.push(
                "a plan entry without a `name` is left out: it cannot be found without a timeline".to_owned(),
            ),
        }
    }
    if entries.is_some() && names.is_empty() {
        let text = "not started: without a timeline, kernels are found only by `name`, and the plan has none";
        return Err(Verdict::failed(TOOL, Cause::NoSuchKernel, text));
    }
    if !preferences.include.is_empty() || preferences.exclude.iter().any(|pattern| pattern != COLLECTIVES) {
        notes.push("`ncu.kernel_include` and `kernel_exclude` have no effect without a timeline".to_owned());
    }
    names.sort();
    names.dedup();
    let count: u64 =
        if by_launch_shape { u64::from(preferences.launches_per_kernel.max(1)) } else { FIRST_LAUNCHES };
    let of = if by_launch_shape { "of each launch shape" } else { "overall" };
    let inside = match common.gate {
        Gate::None => "",
        Gate::Ranges(_) => " inside the ranges",
        Gate::ProfilerApi => " after cudaProfilerStart",
    };
    let first = if count == 1 { "first launch".to_owned() } else { format!("first {count} launches") };
    notes.push(format!("no timeline to select kernels from: measuring the {first} {of}{inside}"));
    let selection =
        Selection::Launches { kernels: names, base: NameBase::Function, skip: 0, count, by_launch_shape };
    Ok(ByKernel { selections: vec![selection], gate: None, plan: None, notes })
}

/// `void ns::gemm<1>(float*)` is `gemm` to ncu.
fn function_of(name: &str) -> &str {
    let bare = name.split(['<', '(']).next().unwrap_or(name);
    bare.rsplit([' ', ':']).next().unwrap_or(bare)
}
