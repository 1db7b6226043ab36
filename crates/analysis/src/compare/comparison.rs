//! Both sides, compared.

use std::collections::BTreeSet;

use serde::Serialize;

use super::align::{Change, aligned};
use super::counters::{CountersChange, counters_changed};
use super::decision::{Decision, Verdict, decide, keep_credible};
use super::fold::Folding;
use super::profile::{Often, What};
use super::reason::{Difference, Reason, reasons};
use super::side::{Profile, Together};

/// Parts of which it is decided whether they take longer.
const MOST_DECIDED: usize = 200;

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "of")]
pub enum Timed {
    /// An iteration of the main loop, by region where it has one.
    Iteration { region: Option<String> },
    /// The whole process: there is no loop on both sides.
    Process,
    /// The recording as a whole, where no more is known.
    Recording,
}

impl Profile {
    /// Of what is compared, if it has that.
    pub fn time_ns(&self, timed: &Timed) -> Option<f64> {
        match timed {
            Timed::Iteration { .. } => Some(self.main.as_ref()?.median_ns),
            Timed::Process => Some(self.process_ns? as f64),
            Timed::Recording => (self.recorded_ns > 0).then_some(self.recorded_ns as f64),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub timed: Timed,
    /// None if a side has no time.
    pub time: Option<Decision>,
    /// Of the whole process, where that is known beside an iteration: work may have moved out of the loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Decision>,
    /// Of every run that has one, in nanoseconds.
    pub times_ns: [Vec<f64>; 2],
    /// The part that does not matter.
    pub margin: f64,
    /// An iteration of each side, the geometric mean over its runs.
    pub iteration_ns: [f64; 2],
    /// Why, the most important one first; none if nothing changed.
    pub reasons: Vec<Reason>,
    /// Parts of an iteration, and whether each takes longer.
    pub changes: Vec<PartChange>,
    /// The change of an iteration that is in none of its parts.
    pub unexplained_ns: f64,
    /// The thread that runs the loop: where it is in an iteration.
    pub host: Vec<Change>,
    /// Operators of a framework that start work in an iteration, if they were recorded on both sides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<Change>,
    /// The thread's stacks, if they were sampled on both sides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<StackChange>,
    /// What ncu measured of kernels, if it did on both sides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CountersChange>,
    /// CUDA calls and regions whose number changed.
    pub counts: Vec<CountChange>,
    /// Causes that limited the program in most runs before and in none after.
    pub limits_gone: Vec<String>,
    /// And the other way around.
    pub limits_new: Vec<String>,
}

/// A part of an iteration, and whether it takes longer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartChange {
    #[serde(flatten)]
    pub change: Change,
    /// None of those that change the least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// A stack of the thread that runs the loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StackChange {
    /// Functions, the outermost first.
    pub frames: Vec<String>,
    /// Of an iteration, before and after.
    pub ns: [f64; 2],
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountChange {
    pub name: String,
    /// In an iteration.
    pub often: [Option<Often>; 2],
}

/// `margin` is the part of a time that does not matter.
pub fn compare(a: &[Profile], b: &[Profile], margin: f64) -> Comparison {
    let folding = Folding::between(a, b);
    let (a, b) = (folding.apply(a), folding.apply(b));
    let (a, b) = (a.as_ref(), b.as_ref());
    let timed = match has_loop(a) && has_loop(b) {
        true => {
            let region = |side: &[Profile]| {
                let main = side.iter().find_map(|profile| profile.main.as_ref());
                main.and_then(|main| main.region.clone())
            };
            Timed::Iteration { region: region(b).filter(|after| region(a).as_ref() == Some(after)) }
        }
        false if a.iter().chain(b).all(|profile| profile.process_ns.is_some()) => Timed::Process,
        false => Timed::Recording,
    };
    let times = |side: &[Profile], timed: &Timed| -> Vec<f64> {
        side.iter().filter_map(|profile| profile.time_ns(timed)).collect()
    };
    let times_ns = [times(a, &timed), times(b, &timed)];
    let process = match timed {
        Timed::Iteration { .. } => decide(&times(a, &Timed::Process), &times(b, &Timed::Process), margin),
        Timed::Process | Timed::Recording => None,
    };
    let time = decide(&times_ns[0], &times_ns[1], margin);
    let is_clear = |time: &Decision| matches!(time.verdict, Verdict::Faster | Verdict::Slower);
    let decided = time.as_ref().is_some_and(is_clear);
    // Where one side has no loop, the other's is not new.
    let (before, after) = match timed {
        Timed::Iteration { .. } => (Together::of(a), Together::of(b)),
        Timed::Process | Timed::Recording => (Together::of(&[]), Together::of(&[])),
    };
    let changes = aligned(&before.parts, &after.parts);
    let explained: f64 = changes.iter().map(Change::more_ns).sum();
    let mut comparison = Comparison {
        reasons: reasons(&changes, [&before, &after], [a, b], margin, decided),
        time,
        process,
        times_ns,
        margin,
        iteration_ns: [before.iteration_ns, after.iteration_ns],
        unexplained_ns: after.iteration_ns - before.iteration_ns - explained,
        host: aligned(&before.host, &after.host),
        operators: match before.operators.is_empty() || after.operators.is_empty() {
            true => Vec::new(),
            false => aligned(&before.operators, &after.operators),
        },
        stacks: stacks(&before, &after),
        counters: counters_changed(a, b),
        counts: counted(&before, &after),
        limits_gone: limits(a, b),
        limits_new: limits(b, a),
        changes: changes.into_iter().map(|change| PartChange { change, decision: None }).collect(),
        timed,
    };
    for PartChange { change, decision } in comparison.changes.iter_mut().take(MOST_DECIDED) {
        *decision = decide(&of_part(a, change, 0), &of_part(b, change, 1), margin);
    }
    let mut decisions: Vec<&mut Decision> =
        comparison.changes.iter_mut().filter_map(|part| part.decision.as_mut()).collect();
    keep_credible(&mut decisions);
    // What may be chance is in the table, which says so; if all of them may be, the first is told all the same.
    let is_sure: Vec<bool> =
        comparison.reasons.iter().map(|reason| !may_be_chance(reason, &comparison.changes)).collect();
    let any = is_sure.contains(&true);
    let mut told = is_sure.into_iter().enumerate().map(|(at, is_sure)| if any { is_sure } else { at == 0 });
    comparison.reasons.retain(|_| told.next().unwrap_or(true));
    comparison
}

fn has_loop(side: &[Profile]) -> bool {
    side.iter().any(|profile| profile.main.is_some())
}

/// Whether several runs leave it open that this part takes longer, or not as long.
fn may_be_chance(reason: &Reason, changes: &[PartChange]) -> bool {
    let is_meant = |what: &What| match (&reason.is, what) {
        (Difference::Host { .. }, What::Host) => true,
        (Difference::Kernel { name, .. }, What::Kernel(kernel)) => kernel.short_name == *name,
        (Difference::Idle { cause }, What::Idle { cause: of }) => cause == of,
        _ => false,
    };
    let mut parts = changes
        .iter()
        .take(MOST_DECIDED)
        .filter(|part| part.change.place == reason.place && part.change.shown().is_some_and(is_meant))
        .filter_map(|part| part.decision.as_ref())
        .peekable();
    parts.peek().is_some()
        && parts.all(|decision| decision.verdict == Verdict::Undecided && decision.low.is_some())
}

/// What limits most runs of one side, and none of the other. If only one side has a loop, they are looked at in different ways.
fn limits(side: &[Profile], other: &[Profile]) -> Vec<String> {
    if has_loop(side) != has_loop(other) {
        return Vec::new();
    }
    let often = |side: &[Profile], limit: &String| {
        side.iter().filter(|profile| profile.limits.contains(limit)).count()
    };
    let all: BTreeSet<&String> = side.iter().flat_map(|profile| &profile.limits).collect();
    let is_meant = |limit: &&String| often(side, limit) * 2 > side.len() && often(other, limit) == 0;
    all.into_iter().filter(is_meant).cloned().collect()
}

fn stacks(a: &Together, b: &Together) -> Vec<StackChange> {
    if a.stacks.is_empty() || b.stacks.is_empty() {
        return Vec::new();
    }
    let all: BTreeSet<&Vec<String>> = a.stacks.keys().chain(b.stacks.keys()).collect();
    let time = |side: &Together, frames: &Vec<String>| side.stacks.get(frames).copied().unwrap_or(0.0);
    all.into_iter()
        .map(|frames| StackChange { frames: frames.clone(), ns: [time(a, frames), time(b, frames)] })
        .collect()
}

/// The time of a part in each process.
fn of_part(side: &[Profile], change: &Change, at: usize) -> Vec<f64> {
    let Some(what) = &change.what[at] else { return Vec::new() };
    let of = |profile: &Profile| {
        let parts = &profile.main.as_ref()?.parts;
        parts.iter().find(|part| part.what == *what && part.place == change.place).map(|part| part.ns)
    };
    side.iter().filter_map(of).collect()
}

fn counted(a: &Together, b: &Together) -> Vec<CountChange> {
    let mut changes = Vec::new();
    for (before, after) in [(&a.regions, &b.regions), (&a.calls, &b.calls)] {
        let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
        for name in names {
            let often = [before.get(name).copied(), after.get(name).copied()];
            let usual = often.map(|often| often.map(|often| (often.usual, often.varies)));
            if usual[0] != usual[1] {
                changes.push(CountChange { name: name.clone(), often });
            }
        }
    }
    changes
}
