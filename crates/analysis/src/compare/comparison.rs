//! Both sides, compared.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::align::{Change, aligned};
use super::counters::{CountersChange, counters_changed};
use super::decision::{Decision, Verdict, decide, keep_credible};
use super::fold::Folding;
use super::profile::{Often, What};
use super::reason::{Difference, Reason, reasons};
use super::side::{Profile, SampledKinds, Together};
use super::stray::{Stray, stray};
use crate::time::IdleCause;

/// Parts of which it is decided whether they take longer.
const MOST_DECIDED: usize = 200;
/// Fewer samples of the side that takes longer tell no function,
const FEWEST_SAMPLES: u64 = 50;
/// nor fewer of the other, which has less time to be sampled in.
const FEWEST_OF_QUICKER: u64 = 10;
/// Of the change, a function that is named has at least this part,
const MOST_OF_CHANGE: f64 = 0.5;
/// and is no less than this part of the one with the largest, which may only call it.
const ALIKE: f64 = 0.65;

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
    /// Runs that took far longer, or far less long, than the others of their side.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strays: Vec<Stray>,
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
    /// The function that an iteration takes longer in, or no longer as long, if stacks tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionChange>,
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

/// A function, with those that it calls.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionChange {
    /// With its file, if that is the same on both sides.
    pub function: String,
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
    let of_each =
        |side: &[Profile]| side.iter().map(|profile| profile.time_ns(&timed)).collect::<Vec<Option<f64>>>();
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
    let stacks = stacks(&before, &after);
    let [few, many] = [before.samples.min(after.samples), before.samples.max(after.samples)];
    let is_sampled = few >= FEWEST_OF_QUICKER && many >= FEWEST_SAMPLES;
    let more = after.iteration_ns - before.iteration_ns;
    let mut comparison = Comparison {
        reasons: reasons(&changes, [&before, &after], [a, b], margin, decided),
        function: None,
        time,
        process,
        times_ns,
        strays: [(a, false), (b, true)]
            .into_iter()
            .filter_map(|(side, b)| stray(&of_each(side), b))
            .collect(),
        margin,
        iteration_ns: [before.iteration_ns, after.iteration_ns],
        unexplained_ns: after.iteration_ns - before.iteration_ns - explained,
        host: aligned(&before.host, &after.host),
        operators: match before.operators.is_empty() || after.operators.is_empty() {
            true => Vec::new(),
            false => aligned(&before.operators, &after.operators),
        },
        stacks,
        counters: counters_changed(a, b),
        counts: counted(&before, &after),
        limits_gone: limits(a, b),
        limits_new: limits(b, a),
        changes: changes.into_iter().map(|change| PartChange { change, decision: None }).collect(),
        timed,
    };
    if decided && is_sampled && comparison.reasons.first().is_some_and(is_of_host) {
        comparison.function = function_changed(&comparison.stacks, more);
    }
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

fn is_of_host(reason: &Reason) -> bool {
    matches!(reason.is, Difference::Host { .. } | Difference::Idle { cause: IdleCause::Host })
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

/// What limits most runs of one side, and none of the other. If only one side has a loop, or was sampled, they are looked at in
/// different ways.
fn limits(side: &[Profile], other: &[Profile]) -> Vec<String> {
    if has_loop(side) != has_loop(other) || SampledKinds::of(side) != SampledKinds::of(other) {
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

/// The innermost function that accounts for most of the change: not one that only calls it, and no line outside all functions.
/// A function is the same on both sides if it has the same name: the program may be another file.
fn function_changed(stacks: &[StackChange], more: f64) -> Option<FunctionChange> {
    let named = |frame: &'_ str| frame.rsplit_once(' ').map_or(frame.len(), |(function, _)| function.len());
    // With its files, and how deep it lies at most.
    let mut functions: BTreeMap<&str, ([f64; 2], BTreeSet<&str>, usize)> = BTreeMap::new();
    for stack in stacks {
        let mut seen = BTreeSet::new();
        let is_function = |frame: &&String| !frame.starts_with(['(', '<', '[', '?']);
        for (depth, frame) in stack.frames.iter().filter(is_function).enumerate() {
            let function = &frame[..named(frame)];
            // What is written inside a function without a name of its own is a part of it.
            if function.ends_with('>') {
                continue;
            }
            let ([before, after], frames, deepest) = functions.entry(function).or_default();
            frames.insert(frame);
            *deepest = depth.max(*deepest);
            if seen.insert(function) {
                (*before, *after) = (*before + stack.ns[0], *after + stack.ns[1]);
            }
        }
    }
    let share = |[before, after]: [f64; 2]| (after - before) / more;
    let largest = functions.values().map(|(ns, _, _)| share(*ns)).fold(0.0, f64::max);
    let is_meant = |ns: [f64; 2]| (MOST_OF_CHANGE..2.0).contains(&share(ns)) && share(ns) >= ALIKE * largest;
    // Of those that are in the same stacks, the one that the others call.
    let (function, (ns, frames, _)) = functions.into_iter().filter(|(_, (ns, _, _))| is_meant(*ns)).min_by(
        |(_, (a, _, x)), (_, (b, _, y))| (a[0] + a[1]).total_cmp(&(b[0] + b[1])).then_with(|| y.cmp(x)),
    )?;
    // With its file, if that is one.
    let only = frames.first().filter(|_| frames.len() == 1);
    Some(FunctionChange { function: only.map_or(function, |frame| *frame).to_owned(), ns })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(stacks: &[(&str, [f64; 2])], more: f64) -> Option<(String, [f64; 2])> {
        let stack = |(frames, ns): &(&str, [f64; 2])| StackChange {
            frames: frames.split(" > ").map(str::to_owned).collect(),
            ns: *ns,
        };
        let found = function_changed(&stacks.iter().map(stack).collect::<Vec<_>>(), more)?;
        Some((found.function, found.ns))
    }

    #[test]
    fn the_function_is_the_innermost_one_with_most_of_the_change() {
        let one = [
            ("<module> a.py > main a.py > encode a.py", [8.0, 1.0]),
            ("<module> a.py > main a.py > train a.py", [2.0, 1.5]),
            ("<module> a.py > main a.py", [0.5, 0.5]),
        ];
        assert_eq!(changed(&one, -7.5), Some(("encode a.py".to_owned(), [8.0, 1.0])));
        let nameless = [
            ("main a.py > encode a.py > encode.<locals>.<genexpr> a.py", [7.0, 0.0]),
            ("main a.py > encode a.py", [1.0, 1.0]),
        ];
        assert_eq!(changed(&nameless, -7.0), Some(("encode a.py".to_owned(), [8.0, 1.0])));
        // Another file has the same functions.
        let two = [
            ("<module> a.py > main a.py > encode a.py", [8.0, 0.0]),
            ("<module> b.py > main b.py > encode b.py", [0.0, 1.0]),
            ("<module> a.py > main a.py > train a.py", [2.0, 0.0]),
            ("<module> b.py > main b.py > train b.py", [0.0, 1.5]),
        ];
        assert_eq!(changed(&two, -7.5), Some(("encode".to_owned(), [8.0, 1.0])));
        // Everything is a little shorter: that is no function but all of them, and `main` says so.
        let all = [("main a.py > x a.py", [5.0, 4.0]), ("main a.py > y a.py", [5.0, 4.0])];
        assert_eq!(changed(&all, -2.0), Some(("main a.py".to_owned(), [10.0, 8.0])));
        // What starts a thread is in all of its stacks, and so is what it runs.
        let of_thread = [
            (
                "Thread._bootstrap threading.py > Thread.run threading.py > worker a.py > encode a.py",
                [6.0, 1.0],
            ),
            (
                "Thread._bootstrap threading.py > Thread.run threading.py > worker a.py > train a.py",
                [5.0, 2.0],
            ),
        ];
        assert_eq!(changed(&of_thread, -8.0), Some(("worker a.py".to_owned(), [11.0, 3.0])));
        let alike = [
            (
                "Thread._bootstrap threading.py > Thread.run threading.py > worker a.py > encode a.py",
                [6.0, 2.0],
            ),
            (
                "Thread._bootstrap threading.py > Thread.run threading.py > worker a.py > train a.py",
                [6.0, 2.0],
            ),
            ("Thread._bootstrap threading.py > Thread.run threading.py > worker a.py", [1.0, 0.0]),
        ];
        assert_eq!(changed(&alike, -9.0), Some(("worker a.py".to_owned(), [13.0, 4.0])));
        assert_eq!(changed(&[("<module> a.py > (blocked)", [5.0, 1.0])], -4.0), None);
    }
}
