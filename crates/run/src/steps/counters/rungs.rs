//! The ways to measure, in the order in which they are tried.
//!
//! Ranges: replayed in place (`range`), or by running the program once a pass (`app-range`) when
//! that fits the budget and the program does the same every time; else kernel by kernel, inside
//! the ranges, which are then added up. Kernels: inside the ranges that were named, with the
//! gate as the rehearsal corrects it, or where no gate will do, without one.

use std::path::Path;
use std::time::Duration;

use analysis::{Region, launch_groups, launches_in};
use nsight::ncu::{Entry, Gate, NameBase, Plan, ReplayMode, Selection, Wanted, WantedRegion, verdict};
use nsight::verdict::{Cause, Outcome, Verdict};
use nsight::{Proof, Remedy, wanted};
use nvtx::{Kind, NcuGate, OpenRanges};
use trace::Trace;

use super::super::begin::RunError;
use super::super::flow::{Context, Run};
use super::by_range::{by_range, include_of, too_long};
use super::capture::Tool;
use super::choice::{Allowance, Choice, Given, choose_launches, has_kernels};
use super::outermost::outermost;
use crate::config::CaptureRange;
use crate::events::Event;
use crate::ncu::{Ncu, read_plan};

/// Launches that are measured of each kernel when nothing is known of the program: of all
/// together where ncu cannot count them by kernel.
const FIRST_LAUNCHES: u64 = 50;

/// One way to measure.
pub(super) struct Rung {
    pub(super) name: String,
    pub(super) replay: ReplayMode,
    /// Each is a run of the program.
    pub(super) runs: Vec<OneRun>,
    /// Results to expect.
    pub(super) planned: Option<u64>,
    /// The launches that were chosen, if they were.
    pub(super) plan: Option<Plan>,
    /// What the replays may take.
    pub(super) budget: Option<Duration>,
    /// Everywhere; what is in the ranges that were named is sorted out afterwards.
    pub(super) open: bool,
    pub(super) regions: Vec<WantedRegion>,
    /// Ranges of other threads count as well.
    pub(super) any_thread: bool,
    /// Known before it is tried.
    pub(super) foretold: Option<Verdict>,
}

/// What is measured in one run of the program.
pub(super) struct OneRun {
    pub(super) gate: Gate,
    pub(super) selection: Selection,
}

/// All rungs, or why there can be none.
pub(super) fn rungs(
    run: &mut Run,
    ncu: &Ncu,
    wanted: &Wanted,
    proofs: &[Proof],
    context: &mut Context<'_>,
) -> Result<Result<Vec<Rung>, Verdict>, RunError> {
    let setting = Setting::of(run, ncu, proofs, Allowance::of(&run.resolved.config.ncu));
    let mode = run.resolved.config.ncu.replay_mode;
    let mut rungs = Vec::new();
    if mode == ReplayMode::Range {
        rungs.push(by_range(run, ncu, wanted, &setting, ReplayMode::Range));
        if run.second_rehearsal.is_none() {
            rungs.push(by_range(run, ncu, wanted, &setting, ReplayMode::AppRange));
        }
    }
    if mode == ReplayMode::AppRange {
        rungs.push(by_range(run, ncu, wanted, &setting, ReplayMode::AppRange));
    }
    let by_kernel = match kernels(run, ncu, wanted, &setting)? {
        Ok(by_kernel) => by_kernel,
        Err(why) if rungs.is_empty() => return Ok(Err(why)),
        Err(_) => return Ok(Ok(rungs)),
    };
    tell(&by_kernel.notes, context);
    if mode == ReplayMode::Application {
        let mut rung = by_kernel.rung(ReplayMode::Application, &setting, "application replay");
        rung.foretold = too_long(run, wanted, 1);
        rungs.push(rung);
    }
    rungs.push(by_kernel.rung(ReplayMode::Kernel, &setting, "kernel replay"));
    // What is not in the ranges that were named is sorted out afterwards; where they are not
    // known, nobody could.
    let named = matches!(setting.gate, Gate::Ranges(_)) && !setting.regions.is_empty();
    if by_kernel.gate.is_some() || named {
        let open = setting.opened();
        if let Ok(ungated) = kernels(run, ncu, wanted, &open)? {
            rungs.push(ungated.rung(ReplayMode::Kernel, &open, "kernel replay without a gate"));
        }
    }
    Ok(Ok(rungs))
}

/// After a rung that was given up: the same way with as many launches as are allowed now, and what to
/// say about it; none if not one is.
pub(super) fn with_fewer(
    run: &Run,
    Tool { ncu, wanted }: Tool<'_>,
    proofs: &[Proof],
    rung: &Rung,
    allowance: Allowance,
) -> Result<Option<(Rung, Vec<String>)>, RunError> {
    let setting = Setting::of(run, ncu, proofs, allowance);
    let setting = if rung.open { setting.opened() } else { setting };
    let Ok(by_kernel) = kernels(run, ncu, wanted, &setting)? else { return Ok(None) };
    let name = format!("{} of fewer launches", rung.name);
    Ok(Some((by_kernel.rung(ReplayMode::Kernel, &setting, &name), by_kernel.notes)))
}

pub(super) fn tell(notes: &[String], context: &mut Context<'_>) {
    for note in notes {
        context.observer.see(&Event::Note { text: note.clone() });
    }
}

/// What all rungs have in common.
pub(super) struct Setting {
    pub(super) gate: Gate,
    /// Without a gate, whatever ranges there are.
    pub(super) open: bool,
    pub(super) regions: Vec<Region>,
    pub(super) wanted: Vec<WantedRegion>,
    pub(super) any_thread: bool,
    pub(super) wall: Duration,
    pub(super) allowance: Allowance,
}

impl Setting {
    fn of(run: &Run, ncu: &Ncu, proofs: &[Proof], allowance: Allowance) -> Self {
        let regions = meant(run);
        let inventory = run.inventory.as_ref();
        let seen = inventory.map(|inventory| &inventory.trace).filter(|trace| has_kernels(trace));
        let launches = seen.map(|trace| (trace, launch_groups(trace)));
        let count = |region: &Region, any_thread: bool| {
            let (trace, launches) = launches.as_ref()?;
            let inside = launches_in(trace, launches, region, any_thread);
            Some(inside.into_iter().filter(|inside| *inside).count() as u64)
        };
        // Their own thread launches nothing in them, and others do meanwhile.
        let elsewhere = |region: &Region| count(region, false) == Some(0) && count(region, true) > Some(0);
        let any_thread = ncu.probe.options.has("nvtx-push-pop-scope") && regions.iter().any(elsewhere);
        let wanted: Vec<WantedRegion> = regions
            .iter()
            .map(|region| WantedRegion {
                path: region.path.clone(),
                kind: region.kind,
                instances: region.instances,
                launches: count(region, any_thread),
            })
            .collect();
        let gate = if run.resolved.config.ncu.capture_range == CaptureRange::CudaProfilerApi {
            Gate::ProfilerApi
        } else {
            includes(run, proofs)
        };
        Self { gate, open: false, regions, wanted, any_thread, wall: run.own_time(), allowance }
    }

    fn opened(self) -> Self {
        Self { gate: Gate::None, open: true, ..self }
    }
}

/// The regions that the gates mean.
fn meant(run: &Run) -> Vec<Region> {
    let Some(inventory) = &run.inventory else { return Vec::new() };
    let mut regions: Vec<Region> = Vec::new();
    for wish in run.ncu_wishes() {
        let meant = wanted(wish, &inventory.regions).into_iter().flat_map(|wanted| wanted.regions);
        let meant: Vec<&Region> = meant.collect();
        let meant = if meant.is_empty() { included(wish, &inventory.regions) } else { meant };
        for region in meant {
            if !regions.iter().any(|other| other.path == region.path && other.kind == region.kind) {
                regions.push(region.clone());
            }
        }
    }
    regions
}

/// Gates that want several start/end ranges to be open at once: no region is what they mean.
pub(super) fn at_once(wishes: &[String]) -> Vec<NcuGate> {
    let gates = wishes.iter().filter_map(|wish| NcuGate::parse(wish).ok());
    gates.filter(|gate| gate.started_names() > 1).collect()
}

/// `--nvtx-include`, as the rehearsal proves it, or as it was typed where there is none.
fn includes(run: &Run, proofs: &[Proof]) -> Gate {
    let wishes = run.ncu_wishes();
    if wishes.is_empty() {
        return Gate::None;
    }
    if proofs.is_empty() {
        return Gate::Ranges(wishes.to_vec());
    }
    let mut includes: Vec<String> = Vec::new();
    for proof in proofs {
        match &proof.ncu.remedy {
            Remedy::AsTyped => includes.push(proof.typed.clone()),
            // Each region by its whole path: a name alone may be in others as well.
            Remedy::Arguments { .. } => {
                let meant =
                    run.inventory.iter().flat_map(|inventory| wanted(&proof.typed, &inventory.regions));
                includes.extend(meant.flat_map(|wanted| wanted.regions).map(include_of));
            }
            // Where one wish cannot be expressed, all is measured and sorted afterwards.
            Remedy::Ungated { .. } | Remedy::None => return Gate::None,
        }
    }
    includes.sort();
    includes.dedup();
    Gate::Ranges(includes)
}

/// Kernel by kernel: what to select, and what to say about it.
struct ByKernel {
    selections: Vec<Selection>,
    /// Instead of the setting's, which is none.
    gate: Option<Gate>,
    plan: Option<Plan>,
    notes: Vec<String>,
}

impl ByKernel {
    fn rung(&self, replay: ReplayMode, setting: &Setting, name: &str) -> Rung {
        Rung {
            name: name.to_owned(),
            replay,
            runs: self
                .selections
                .iter()
                .map(|selection| OneRun {
                    gate: self.gate.clone().unwrap_or_else(|| setting.gate.clone()),
                    selection: selection.clone(),
                })
                .collect(),
            planned: self.plan.as_ref().map(|plan| plan.invocations.iter().map(|one| one.launches).sum()),
            plan: self.plan.clone(),
            budget: setting.allowance.budget,
            open: setting.open,
            regions: setting.wanted.clone(),
            any_thread: setting.any_thread,
            foretold: None,
        }
    }
}

fn kernels(
    run: &Run,
    ncu: &Ncu,
    wanted: &Wanted,
    setting: &Setting,
) -> Result<Result<ByKernel, Verdict>, RunError> {
    let entries = entries(run)?;
    let by_launch_shape = ncu.probe.options.counts_by_launch_shape();
    let Some(trace) = timeline(run, setting) else {
        return Ok(without_timeline(run, setting, entries.as_deref(), by_launch_shape));
    };
    let regions: Vec<&Region> = setting.regions.iter().collect();
    let known = run.inventory.as_ref().filter(|_| !setting.open && run.ncu_wishes().is_empty());
    let outermost = known.map(|inventory| outermost(&inventory.regions)).unwrap_or_default();
    let given = Given {
        config: &run.resolved.config.ncu,
        trace,
        regions: &regions,
        at_once: &at_once(run.ncu_wishes()),
        gated: matches!(setting.gate, Gate::Ranges(_)),
        outermost: &outermost.regions,
        any_thread: setting.any_thread,
        entries: entries.as_deref(),
        by_launch_shape,
        wanted,
        wall: setting.wall,
        allowance: setting.allowance,
    };
    let failed = |cause, text: String| Ok(Err(verdict(Outcome::Failed, cause, text)));
    match choose_launches(&given) {
        Ok(Choice::Planned { plan, notes, within }) => Ok(Ok(ByKernel {
            selections: plan.invocations.iter().map(|invocation| invocation.selection.clone()).collect(),
            gate: outermost.include.filter(|_| within).map(|include| Gate::Ranges(vec![include])),
            plan: Some(plan),
            notes,
        })),
        Ok(Choice::NoLaunches { notes, chosen: true }) => {
            let mut text = "not started: no kernel that ran fits the names that were given".to_owned();
            notes.iter().for_each(|note| text.push_str(&format!("; {note}")));
            failed(Cause::NoSuchKernel, text)
        }
        Ok(Choice::NoLaunches { .. }) => {
            let text = "not started: the timeline has no launch of what was asked for".to_owned();
            failed(Cause::NoKernels, text)
        }
        Ok(Choice::NoTime(text)) => failed(Cause::BudgetSpent, format!("not started: {text}")),
        Err(text) => failed(Cause::Refused, format!("not started: {text}")),
    }
}

fn entries(run: &Run) -> Result<Option<Vec<Entry>>, RunError> {
    let Some(plan) = &run.resolved.config.ncu.plan else { return Ok(None) };
    Ok(Some(read_plan(&Path::new(&run.manifest.invocation.cwd).join(&plan.0))?))
}

/// The rehearsal's trace is whole; that of nsys may be gated, and is then good for its gate.
fn timeline<'r>(run: &'r Run, setting: &Setting) -> Option<&'r Trace> {
    // Where profiling begins and ends is not in a trace.
    if setting.gate == Gate::ProfilerApi {
        return None;
    }
    let rehearsed = run.inventory.as_ref().map(|inventory| &inventory.trace);
    let captured = run.timeline.as_ref().filter(|_| run.nsys_wish().is_none());
    [rehearsed, captured].into_iter().flatten().find(|trace| has_kernels(trace))
}

/// Nobody knows the launches: the first few of each kernel.
fn without_timeline(
    run: &Run,
    setting: &Setting,
    entries: Option<&[Entry]>,
    by_launch_shape: bool,
) -> Result<ByKernel, Verdict> {
    let config = &run.resolved.config.ncu;
    let mut notes = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for entry in entries.unwrap_or_default() {
        match &entry.name {
            Some(name) => names.push(function_of(name).to_owned()),
            None => notes.push(
                "a kernel of the plan without a `name` cannot be found without a timeline, and is left out"
                    .to_owned(),
            ),
        }
    }
    if entries.is_some() && names.is_empty() {
        let text =
            "not started: without a timeline kernels are found by their `name` alone, and the plan has none";
        return Err(verdict(Outcome::Failed, Cause::NoSuchKernel, text.to_owned()));
    }
    if !config.kernel_include.is_empty() || !config.kernel_exclude.is_empty() {
        notes.push("`ncu.kernel_include` and `kernel_exclude` have no effect without a timeline".to_owned());
    }
    names.sort();
    names.dedup();
    let count: u64 =
        if by_launch_shape { u64::from(config.launches_per_kernel.max(1)) } else { FIRST_LAUNCHES };
    let of = if by_launch_shape { "of each launch shape" } else { "of all" };
    let inside = match setting.gate {
        Gate::None => "",
        Gate::Ranges(_) => " inside the ranges",
        Gate::ProfilerApi => " after cudaProfilerStart",
    };
    let first = if count == 1 { "first launch".to_owned() } else { format!("first {count} launches") };
    notes.push(format!("no timeline says which kernels matter: measured is the {first} {of}{inside}"));
    let selection =
        Selection::Launches { kernels: names, base: NameBase::Function, skip: 0, count, by_launch_shape };
    Ok(ByKernel { selections: vec![selection], gate: None, plan: None, notes })
}

/// `void ns::gemm<1>(float*)` is `gemm` to ncu.
fn function_of(name: &str) -> &str {
    let bare = name.split(['<', '(']).next().unwrap_or(name);
    bare.rsplit([' ', ':']).next().unwrap_or(bare)
}

/// Regions that an expression in ncu's own language lets in.
fn included<'a>(wish: &str, regions: &'a [Region]) -> Vec<&'a Region> {
    let Ok(gate) = NcuGate::parse(wish) else { return Vec::new() };
    let open = |region: &Region| {
        let ranges: Vec<(String, String)> =
            region.path.names.iter().map(|name| (region.path.domain.clone(), name.clone())).collect();
        match region.kind {
            Kind::PushPop => OpenRanges { stack: ranges, started: Vec::new() },
            Kind::StartEnd => OpenRanges { stack: Vec::new(), started: ranges },
        }
    };
    regions.iter().filter(|region| gate.includes(&open(region))).collect()
}
