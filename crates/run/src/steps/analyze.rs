//! The step `analyze`: from recordings to findings.

use std::path::Path;

use analysis::{Analysis, Insight, Limit, Options, Overhead, analyze, insight, samples};
use record::{Manifest, PassKind, StepName, StepStatus, Tool, counted};
use trace::{Budget, Trace};

use super::counters::{self, Counted};
use super::report::Material;
use super::session::{Made, Setting, StepResult};
use super::stage1;
use crate::config::RegionsConfig;
use crate::events::Event;
use crate::gates::keep_gated;
use crate::load::keep_loaded;
use crate::model::ModelSource;
use crate::provenance::Provenance;
use crate::rehearsal::Inventory;
use crate::rundir::Files;

/// Why MFU and MBU are unknown, and what to do.
const NO_MODEL: &str = "the number of operations per stage is unknown: set `model.config` to the model's \
config.json and `model.prompt_tokens` to the prompt length, or measure the kernels' rooflines (`-p ncu.default`)";

/// Of a workload that did not end as it should, fewer samples of its stacks are of its start.
const FEWEST_SAMPLES: usize = 50;

/// What the passes recorded.
pub(super) struct Recorded {
    pub(super) inventory: Option<Inventory>,
    /// By nsys.
    pub(super) timeline: Option<Trace>,
    /// By the PyTorch profiler.
    pub(super) stage1: Option<Trace>,
    pub(super) counted: Option<Counted>,
}

/// The findings, and what they come from.
pub(super) struct Analyzed {
    inventory: Option<Inventory>,
    /// What was analyzed, unless it is the rehearsal: its gate is applied.
    captured: Option<Trace>,
    counted: Option<Counted>,
    analysis: Option<Analysis>,
    /// The source of their operators, if different from the rest.
    operators_source: Option<String>,
    /// What timeline and counters say together.
    insight: Insight,
}

impl Analyzed {
    /// There is nothing to analyze.
    pub(super) fn without_findings(recorded: Recorded) -> Self {
        let Recorded { inventory, counted, .. } = recorded;
        Self {
            inventory,
            captured: None,
            counted,
            analysis: None,
            operators_source: None,
            insight: Insight::default(),
        }
    }

    pub(super) fn material<'r>(
        &'r self,
        setting: &'r Setting,
        provenance: Option<&'r Provenance>,
        files: &'r Files,
        manifest: &'r Manifest,
    ) -> Material<'r> {
        let analyzed = self.captured.as_ref().or_else(|| Some(&self.inventory.as_ref()?.trace));
        Material {
            files,
            manifest,
            resolved: &setting.resolved,
            provenance,
            inventory: self.inventory.as_ref(),
            trace: analyzed.filter(|_| self.analysis.is_some()),
            analysis: self.analysis.as_ref(),
            operators_source: self.operators_source.as_deref(),
            counters: self.counted.as_ref(),
            insight: &self.insight,
        }
    }
}

/// Which recording the timeline is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Nsys,
    Rehearsal,
    Stage1,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nsys => "nsys",
            Self::Rehearsal => "rehearsal",
            Self::Stage1 => "stage 1",
        })
    }
}

/// A report without the range that was asked for is not analyzed.
fn nothing_to_analyze(manifest: &Manifest) -> String {
    if manifest.last_verdict(Tool::Nsys).is_some_and(|record| record.verdict.lacks_the_range()) {
        return "the range you gated on is not in the report".to_owned();
    }
    let rehearse = manifest.step(StepName::Rehearse);
    let why = rehearse.note.as_deref().filter(|_| rehearse.status == StepStatus::Done);
    format!("no timeline and no ranges to analyze{}", why.map(|why| format!(": {why}")).unwrap_or_default())
}

/// `events` collects what to tell the user.
pub(super) fn step(
    setting: &Setting,
    provenance: Option<&Provenance>,
    recorded: Recorded,
    files: &mut Files,
    manifest: &Manifest,
    events: &mut Vec<Event>,
) -> Made<Analyzed> {
    let mut recorded = reread(setting, recorded, files, manifest, events);
    let Some((source, captured)) = choose_timeline(
        setting,
        manifest,
        recorded.timeline.take(),
        recorded.inventory.as_ref(),
        &mut recorded.stage1,
        events,
    ) else {
        let insight = insight(None, recorded.counted.as_ref().map(|counted| &counted.report));
        let why = nothing_to_analyze(manifest);
        let analyzed = Analyzed { insight, ..Analyzed::without_findings(recorded) };
        return Ok((StepResult::Skipped { why, asked_for: false }, analyzed));
    };
    let mut inventory = recorded.inventory;
    if let Some(inventory) = &mut inventory {
        let told = load_only(setting, manifest, PassKind::Rehearsal, &mut inventory.trace);
        events.extend(told.filter(|_| source == Source::Rehearsal));
    }
    let named = with_marked_names(inventory, captured, recorded.stage1, files);
    let Named { inventory, captured, stage1 } = named.with_regions(&setting.resolved.config.regions);
    let Some(trace) = captured.as_ref().or_else(|| Some(&inventory.as_ref()?.trace)) else {
        let recorded = Recorded { inventory, timeline: None, stage1, counted: recorded.counted };
        let skipped = StepResult::Skipped { why: "nothing to analyze".to_owned(), asked_for: false };
        return Ok((skipped, Analyzed::without_findings(recorded)));
    };
    let counted = recorded.counted.as_ref().map(|counted| &counted.report);
    let options = Options::default();
    let mut analysis = analyze(trace, &options);
    // They are reported with their own source.
    let operators_source = stage1.as_ref().map(|profiled| {
        analysis.take_operators(profiled, &options);
        profiled.source.clone()
    });
    // Only the rehearsal is sampled; nsys may have sampled as well.
    if let Some(inventory) = inventory.as_ref().filter(|_| captured.is_some()) {
        analysis.take_samples(samples(&inventory.trace, &options));
    }
    let mut insight = insight(Some((trace, &analysis)), counted);
    let visible = provenance.iter().flat_map(|provenance| &provenance.gpus.visible);
    let model = ModelSource {
        config: &setting.resolved.config.model,
        cwd: Path::new(&manifest.invocation.cwd),
        workload: Some(&files.path("workload/rehearsal")),
        devices: &visible.map(|gpu| gpu.name.clone()).collect::<Vec<_>>(),
    };
    model.tell(&mut analysis, &mut insight);
    if insight.efficiency.is_empty() {
        insight.no_efficiency.get_or_insert_with(|| NO_MODEL.to_owned());
    }
    let profiled = captured.as_ref().filter(|_| source == Source::Nsys);
    match overhead_of(manifest, inventory.as_ref(), profiled) {
        Ok((found, unsteady)) => (insight.overhead, insight.unsteady) = (found, unsteady),
        Err(why) => insight.no_overhead = Some(why),
    }
    let note = format!("{source}: {}", summary(&analysis));
    let analyzed = Analyzed {
        inventory,
        captured,
        counted: recorded.counted,
        analysis: Some(analysis),
        operators_source,
        insight,
    };
    Ok((StepResult::Done(Some(note)), analyzed))
}

/// A resumed run has only the files of earlier steps.
fn reread(
    setting: &Setting,
    recorded: Recorded,
    files: &Files,
    manifest: &Manifest,
    events: &mut Vec<Event>,
) -> Recorded {
    let is_done = |step: StepName| manifest.step(step).status == StepStatus::Done;
    let Recorded { inventory, timeline, stage1, counted } = recorded;
    let config = &setting.resolved.config.ncu;
    let counted = counted.or_else(|| {
        is_done(StepName::Counters).then(|| counters::reread(config, inventory.as_ref(), files)).flatten()
    });
    let stage1 = stage1.or_else(|| is_done(StepName::Stage1).then(|| stage1::reread(files)).flatten());
    let timeline = timeline.or_else(|| {
        let databases = trace::timeline_files(&files.path(Tool::Nsys.as_str()));
        let last = manifest.last_verdict(Tool::Nsys);
        if databases.is_empty() || !last.is_some_and(|record| record.verdict.outcome.is_usable()) {
            return None;
        }
        trace::read_nsys_session(&databases, Budget::of_process())
            .map_err(|error| events.push(Event::Warning { text: error.to_string() }))
            .ok()
    });
    Recorded { inventory, timeline, stage1, counted }
}

/// Of a server with a client, only the time of the client counts. What there is to say about that.
fn load_only(setting: &Setting, manifest: &Manifest, kind: PassKind, trace: &mut Trace) -> Option<Event> {
    let pass = manifest.passes.iter().find(|pass| pass.name.kind == kind)?;
    let text = keep_loaded(trace, pass, &setting.resolved.config.capture)?;
    Some(Event::Warning { text })
}

/// The best available: the nsys capture with its gate applied, else the rehearsal, whose trace stays where
/// it is, else stage 1.
fn choose_timeline(
    setting: &Setting,
    manifest: &Manifest,
    timeline: Option<Trace>,
    inventory: Option<&Inventory>,
    stage1: &mut Option<Trace>,
    events: &mut Vec<Event>,
) -> Option<(Source, Option<Trace>)> {
    // Of a workload that failed at once, where it ran says little.
    let ran = manifest.step(StepName::Rehearse).status == StepStatus::Done;
    let enough = if ran { 1 } else { FEWEST_SAMPLES };
    if let Some(mut trace) = timeline {
        events.extend(load_only(setting, manifest, PassKind::Nsys, &mut trace));
        if let Some(wish) = setting.nsys_wish() {
            // A range that is not there cannot be applied; the verdict says so.
            keep_gated(&mut trace, wish, inventory);
        }
        return Some((Source::Nsys, Some(trace)));
    }
    let has_something = |inventory: &Inventory| {
        let trace = &inventory.trace;
        !inventory.is_empty()
            || !trace.calls.is_empty()
            || !trace.activities.is_empty()
            || trace.stacks.samples.len() >= enough
    };
    if inventory.is_some_and(has_something) {
        return Some((Source::Rehearsal, None));
    }
    Some((Source::Stage1, Some(stage1.take()?)))
}

/// Recordings whose names may be written to disk.
struct Named {
    inventory: Option<Inventory>,
    captured: Option<Trace>,
    stage1: Option<Trace>,
}

/// From here on nothing is judged any more, only written.
fn with_marked_names(
    inventory: Option<Inventory>,
    mut captured: Option<Trace>,
    mut stage1: Option<Trace>,
    files: &mut Files,
) -> Named {
    for trace in [&captured, &stage1].into_iter().flatten() {
        files.redactor.learn_from(trace.names());
    }
    let redactor = &files.redactor;
    let inventory = inventory.map(|inventory| inventory.renamed(|text| redactor.name(text)));
    for trace in [&mut captured, &mut stage1].into_iter().flatten() {
        trace.rename(|text| redactor.name(text));
    }
    Named { inventory, captured, stage1 }
}

impl Named {
    /// What is a region, as it is wished.
    fn with_regions(mut self, wish: &RegionsConfig) -> Self {
        [&mut self.captured, &mut self.stage1].into_iter().flatten().for_each(|trace| wish.apply(trace));
        Self { inventory: self.inventory.map(|inventory| inventory.with_regions(wish)), ..self }
    }
}

/// The overhead of nsys: for the whole program, and for each region in both recordings; and why it may be
/// unreliable.
fn overhead_of(
    manifest: &Manifest,
    inventory: Option<&Inventory>,
    profiled: Option<&Trace>,
) -> Result<(Vec<Overhead>, Option<String>), String> {
    let (Some(profiled), Some(inventory)) = (profiled, inventory) else {
        return Err("there is only one timeline, and none to compare it with".to_owned());
    };
    let wall = |kind: PassKind| {
        let pass = manifest.passes.iter().rfind(|pass| pass.name.kind == kind)?;
        i64::try_from(pass.wall_ms.checked_mul(1_000_000)?).ok().filter(|ns| *ns > 0)
    };
    let mut rows = Vec::new();
    if let (Some(rehearsed_ns), Some(profiled_ns)) = (wall(PassKind::Rehearsal), wall(PassKind::Nsys)) {
        let ratio = profiled_ns as f64 / rehearsed_ns as f64;
        let region = "the whole pass under nsys".to_owned();
        rows.push(Overhead { region, instances: 1, rehearsed_ns, profiled_ns, ratio });
    }
    let regions = analysis::overhead(&inventory.regions, &analysis::regions(profiled));
    let unsteady = analysis::unsteady(&regions);
    // The longest come first.
    rows.extend(regions.into_iter().take(Limit::default().rows));
    Ok((rows, unsteady))
}

/// The busiest device and what it waits for, or the regions if there is no device.
fn summary(analysis: &Analysis) -> String {
    let kernels = analysis.kernel_calls();
    let busiest = analysis
        .idle
        .iter()
        .filter(|row| row.region.is_none())
        .max_by(|a, b| a.busy_share.total_cmp(&b.busy_share));
    match busiest {
        Some(row) => {
            let cause = row.cause_shares.first();
            let waits = cause.map(|(cause, share)| format!(", idle: {cause} {}", report::percent(*share)));
            format!(
                "{}, GPU {} busy {}{}",
                counted(kernels, "kernel"),
                row.device,
                report::percent(row.busy_share),
                waits.unwrap_or_default()
            )
        }
        None => format!("{}, no kernels", counted(analysis.region_count(), "region")),
    }
}
