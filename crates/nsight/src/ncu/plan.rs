//! Which launches are worth replaying.
//! ncu replays a launch once for every pass, about half a second per launch: an LLM has a hundred thousand
//! launches and a few dozen kernels and shapes. We measure a few launches of each kernel that makes up most
//! of the GPU's time, in the whole program or in each named region. A kind is a kernel with a shape,
//! launched in a region: if the budget has room for another run of the program, a kernel is measured in
//! every region that launches it; else the result from one region represents the others. Regions whose
//! names differ only in numbers, such as the steps and layers of some programs, count as one: each has a
//! few launches that do the same. One invocation of ncu takes one list of names, one number of launches to
//! skip and one to measure: separately for each kernel, grid, block and shared memory (`--filter-mode
//! per-launch-config`, in newer versions), or for all together. Both are tried, and the cheaper one is
//! used.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use analysis::{LaunchGroup, LaunchGroups};
use serde::Serialize;

use super::classes::{Class, Classes};
use super::command::Selection;
use super::pace::Pace;
use super::schedule::Schedule;
use super::window::{each, narrowest};

/// Maximum number of invocations: each runs the whole program.
const MOST_INVOCATIONS: usize = 3;
/// A kernel that is launched this many times as often as it is measured has a steady state.
const STEADY: u64 = 4;

/// What is wanted, and what to select from.
#[derive(Debug, Clone)]
pub struct Demand<'a> {
    pub launches: &'a LaunchGroups,
    /// What to cover, each separately.
    pub parts: &'a [Part],
    /// The share of each part's time to cover, 0 to 1.
    pub share: f64,
    /// Maximum number of kernels and shapes.
    pub most: Option<u32>,
    /// Launches measured of each.
    pub samples: u64,
    /// Whether ncu can count launches separately for each shape.
    pub by_launch_shape: bool,
    pub passes: u32,
    pub pace: Pace,
    /// Seconds that the replays may take, without the program's own time.
    pub budget_s: Option<f64>,
    /// The program's own time.
    pub wall_s: f64,
    /// All launches of the program, including those that cannot be selected.
    pub seen: usize,
    /// By launch: whether a gate lets ncu see it; empty without a gate. A hidden launch is represented by a
    /// visible one of the same kernel and shape.
    pub visible: &'a [bool],
    /// By kind: whether samples already tell what limits it; empty without samples. Such kinds come last.
    pub told: &'a [bool],
}

/// The whole program, or a named region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    /// By launch: whether it is in this part.
    pub inside: Vec<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    pub invocations: Vec<Invocation>,
    /// Kinds that will be measured.
    pub chosen: Vec<Chosen>,
    pub parts: Vec<Covered>,
    /// The share of the GPU's time that these kinds represent.
    pub covered: f64,
    /// The same, without a budget.
    pub covered_without_budget: f64,
    /// What ncu adds in total, including replays.
    pub seconds: f64,
}

/// How much of a part's time the chosen kinds make up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Covered {
    pub name: String,
    pub share: f64,
    pub launches: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Invocation {
    #[serde(skip)]
    pub selection: Selection,
    /// Results that it will produce.
    pub launches: u64,
    pub seconds: f64,
    #[serde(skip)]
    pub schedule: Schedule,
}

/// One kind, how many of its launches are measured, and how many launches and how much of the GPU's time it
/// represents: its own, and those of its kernel and shape in regions where it is not measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chosen {
    pub kernel: String,
    #[serde(skip)]
    pub mangled: String,
    pub short_name: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub region: Option<String>,
    pub launches: u64,
    pub share: f64,
    pub samples: u64,
}

/// In a part: the first kind of its kernel and shape, or of those in regions with similar names.
type Key = (usize, u32);

/// How finely kinds are distinguished.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grain {
    /// Kernels and shapes.
    Class,
    /// And the regions that launch them, ignoring numbers in their names.
    Kind,
}

/// The plan that covers the wanted share with the fewest launches, as far as the budget goes.
pub fn plan(demand: &Demand<'_>) -> Plan {
    let planner = Planner::new(demand);
    let (invocations, picks) = planner.invocations(demand.budget_s);
    let whole = demand.budget_s.map(|_| planner.invocations(None).1);
    let chosen = planner.chosen(&picks);
    let covered = |chosen: &[Chosen]| chosen.iter().map(|kind| kind.share).sum();
    Plan {
        seconds: invocations.iter().map(|invocation| invocation.seconds).sum(),
        covered: covered(&chosen),
        covered_without_budget: covered(
            &whole.map_or_else(|| chosen.clone(), |picks| planner.chosen(&picks)),
        ),
        chosen,
        parts: planner.covered_parts(&picks),
        invocations,
    }
}

struct Planner<'a> {
    demand: &'a Demand<'a>,
    classes: Classes,
    /// By part: the time of each kind in it.
    times: Vec<BTreeMap<u32, f64>>,
    /// The kinds with a launch that ncu sees, at both levels of detail.
    reachable: [BTreeSet<u32>; 2],
}

impl<'a> Planner<'a> {
    fn new(demand: &'a Demand<'a>) -> Self {
        let launches = demand.launches;
        let times = demand.parts.iter().map(|part| {
            let mut times: BTreeMap<u32, f64> = BTreeMap::new();
            for launch in (0..launches.sequence.len()).filter(|launch| part.inside[*launch]) {
                // A kernel without a time is still a kernel.
                *times.entry(launches.sequence[launch]).or_default() += launches.gpu_ns[launch].max(1) as f64;
            }
            let total: f64 = times.values().sum();
            times.values_mut().for_each(|time| *time /= total);
            times
        });
        let classes = Classes::of(launches);
        let seen = (0..launches.sequence.len()).filter(|launch| is_visible(demand, *launch));
        let kinds: BTreeSet<u32> = seen.map(|launch| launches.sequence[launch]).collect();
        let firsts = kinds.iter().map(|kind| classes.first(*kind)).collect();
        let folded = kinds.iter().map(|kind| classes.folded(*kind)).collect();
        Self { demand, times: times.collect(), reachable: [firsts, folded], classes }
    }

    /// Invocations until every part is covered, and the launches that they measure.
    fn invocations(&self, budget_s: Option<f64>) -> (Vec<Invocation>, Vec<usize>) {
        let (mut all, mut picks, mut spent) = (Vec::new(), Vec::new(), 0.0);
        while all.len() < MOST_INVOCATIONS {
            // The program's own time is free once.
            let (start, grain) =
                if all.is_empty() { (0.0, Grain::Class) } else { (self.demand.wall_s, Grain::Kind) };
            let left = budget_s.map(|budget| budget - spent - start);
            if !all.is_empty() && left.is_some_and(|left| left <= 0.0) {
                break;
            }
            let done = self.keys_of(&picks, grain);
            let Some((invocation, more)) = self.next(&done, left, grain) else { break };
            if self.keys_of(&more, grain).is_subset(&done) {
                break;
            }
            spent += start + invocation.seconds;
            picks.extend(more);
            all.push(invocation);
        }
        picks.sort_unstable();
        picks.dedup();
        (all, picks)
    }

    /// The next invocation: fewer kinds until it fits the remaining time.
    fn next(
        &self,
        done: &BTreeSet<Key>,
        left: Option<f64>,
        grain: Grain,
    ) -> Option<(Invocation, Vec<usize>)> {
        // A kernel that is launched only once would force all others to be measured at their first launch.
        let steady = |kind: u32| self.classes.launches(kind) >= STEADY * self.demand.samples;
        let (mut wanted, met) = self.wanted(done, grain, steady);
        if !met {
            wanted = self.wanted(done, grain, |_| true).0;
        }
        let select = |count: usize| {
            let (selection, picks) = self.select(&wanted[..count], grain);
            let seconds = self.demand.pace.watching(self.demand.seen) + self.seconds(&picks);
            let schedule = self.schedule(&picks);
            (Invocation { selection, launches: picks.len() as u64, seconds, schedule }, picks)
        };
        let fits = |found: &(Invocation, Vec<usize>)| left.is_none_or(|left| found.0.seconds <= left);
        if wanted.is_empty() {
            return None;
        }
        let all = select(wanted.len());
        if fits(&all) {
            return Some(all);
        }
        // Approximately the most kinds that fit: more kinds do not always take longer.
        let (mut fitting, mut too_many, mut best) = (0, wanted.len(), None);
        while too_many - fitting > 1 {
            let count = usize::midpoint(fitting, too_many);
            let found = select(count);
            if fits(&found) {
                (fitting, best) = (count, Some(found));
            } else {
                too_many = count;
            }
        }
        best
    }

    /// What is still to be measured, and whether it suffices: the heaviest first, after all of what samples left open.
    fn wanted(&self, done: &BTreeSet<Key>, grain: Grain, fits: impl Fn(u32) -> bool) -> (Vec<Key>, bool) {
        let mut wanted: Vec<(f64, Key)> = Vec::new();
        let mut met = true;
        for (part, kinds) in self.times.iter().enumerate() {
            let mut times: BTreeMap<u32, f64> = BTreeMap::new();
            kinds.iter().for_each(|(kind, time)| *times.entry(self.unit(grain, *kind)).or_default() += time);
            let reachable = |unit: &u32| self.reachable[grain as usize].contains(unit);
            let share = match grain {
                Grain::Class => self.demand.share,
                // A hidden kind is measured through its class, or not at all.
                Grain::Kind => {
                    let seen = times.iter().filter(|(unit, _)| reachable(unit));
                    self.demand.share * seen.map(|(_, time)| time).sum::<f64>()
                }
            };
            // Shares are sums of many small numbers.
            let is_met = |covered: f64| covered + 1e-9 >= share;
            let mut reached: f64 =
                times.iter().filter(|(unit, _)| done.contains(&(part, **unit))).map(|(_, time)| time).sum();
            let mut open: Vec<(f64, u32)> = times
                .iter()
                .filter(|(unit, _)| !done.contains(&(part, **unit)) && fits(**unit))
                .filter(|(unit, _)| reachable(unit))
                .map(|(unit, time)| (*time, *unit))
                .collect();
            open.sort_by(|a, b| self.is_told(a.1).cmp(&self.is_told(b.1)).then(heavier(a, b)));
            for (time, unit) in open {
                if is_met(reached) {
                    break;
                }
                reached += time;
                wanted.push((time, (part, unit)));
            }
            met &= is_met(reached);
        }
        wanted.sort_by(|a, b| self.is_told(a.1.1).cmp(&self.is_told(b.1.1)).then(heavier(a, b)));
        (self.capped(wanted, done), met)
    }

    fn is_told(&self, kind: u32) -> bool {
        self.demand.told.get(kind as usize).copied().unwrap_or(false)
    }

    /// At most the allowed number of kernels and shapes, with those of earlier invocations.
    fn capped(&self, wanted: Vec<(f64, Key)>, done: &BTreeSet<Key>) -> Vec<Key> {
        let mut kernels: BTreeSet<Class> =
            done.iter().map(|(_, kind)| self.classes.class[*kind as usize]).collect();
        let most = self.demand.most.map_or(usize::MAX, |most| most as usize);
        let mut keys = Vec::new();
        for (_, (part, group)) in wanted {
            let class = self.classes.class[group as usize];
            if kernels.len() < most || kernels.contains(&class) {
                kernels.insert(class);
                keys.push((part, group));
            }
        }
        keys
    }

    /// What to tell ncu, and the launches that it will then measure.
    fn select(&self, wanted: &[Key], grain: Grain) -> (Selection, Vec<usize>) {
        let launches = self.demand.launches;
        let (base, kernels, fits) = self.classes.names(wanted.iter().map(|(_, group)| *group));
        let fits =
            |launch: &usize| fits[launches.sequence[*launch] as usize] && is_visible(self.demand, *launch);
        let matched: Vec<usize> = (0..launches.sequence.len()).filter(fits).collect();
        let samples = self.demand.samples;
        let window = narrowest(&matched, wanted, |launch| self.parts_of(launch, grain), samples);
        let mut best = (window.start as u64, window.len() as u64, matched[window].to_vec());
        let mut by_launch_shape = false;
        if self.demand.by_launch_shape {
            let class_of = |launch: usize| self.classes.class[launches.sequence[launch] as usize];
            let other = each(&matched, class_of, wanted, |picks| self.keys_of(picks, grain), samples);
            let hits = |picks: &[usize]| {
                let there = self.keys_of(picks, grain);
                wanted.iter().filter(|key| there.contains(*key)).count()
            };
            let more = hits(&other.2).cmp(&hits(&best.2));
            if more.then(self.seconds(&best.2).total_cmp(&self.seconds(&other.2))).is_ge() {
                (best, by_launch_shape) = (other, true);
            }
        }
        let (skip, count, picks) = best;
        (Selection::Launches { kernels, base, skip, count, by_launch_shape }, picks)
    }

    /// The identity of a kind at this level of detail.
    fn unit(&self, grain: Grain, kind: u32) -> u32 {
        match grain {
            Grain::Class => self.classes.first(kind),
            Grain::Kind => self.classes.folded(kind),
        }
    }

    /// What a launch measures, once for every part it is in.
    fn parts_of(&self, launch: usize, grain: Grain) -> impl Iterator<Item = Key> {
        let unit = self.unit(grain, self.demand.launches.sequence[launch]);
        let parts = self.demand.parts.iter().enumerate();
        parts.filter(move |(_, part)| part.inside[launch]).map(move |(part, _)| (part, unit))
    }

    /// What these launches measure, in every part they are in.
    fn keys_of(&self, picks: &[usize], grain: Grain) -> BTreeSet<Key> {
        picks.iter().flat_map(|launch| self.parts_of(*launch, grain)).collect()
    }

    /// The measured kinds, each with the unmeasured ones that it represents.
    fn chosen(&self, picks: &[usize]) -> Vec<Chosen> {
        let launches = self.demand.launches;
        let mut samples: BTreeMap<u32, u64> = BTreeMap::new();
        picks.iter().for_each(|launch| *samples.entry(launches.sequence[*launch]).or_default() += 1);
        let time = |kind: u32| launches.groups[kind as usize].gpu_ns;
        let mut heaviest: BTreeMap<u32, u32> = BTreeMap::new();
        for kind in samples.keys() {
            let found = heaviest.entry(self.classes.first(*kind)).or_insert(*kind);
            if time(*kind) > time(*found) {
                *found = *kind;
            }
        }
        let mut stands_for: BTreeMap<u32, (u64, i64)> = BTreeMap::new();
        for (kind, group) in launches.groups.iter().enumerate() {
            let kind = kind as u32;
            let measured = if samples.contains_key(&kind) {
                Some(&kind)
            } else {
                heaviest.get(&self.classes.first(kind))
            };
            if let Some(measured) = measured {
                let sums = stands_for.entry(*measured).or_default();
                *sums = (sums.0 + group.launches, sums.1 + group.gpu_ns);
            }
        }
        let total = launches.total_ns().max(1) as f64;
        samples
            .iter()
            .map(|(kind, samples)| {
                let (count, time) = stands_for[kind];
                chosen(&launches.groups[*kind as usize], *samples, count, time as f64 / total)
            })
            .collect()
    }

    fn seconds(&self, picks: &[usize]) -> f64 {
        picks.iter().map(|launch| self.replays(*launch)).sum()
    }

    /// What the replays of one launch take.
    fn replays(&self, launch: usize) -> f64 {
        let Demand { pace, passes, launches, .. } = self.demand;
        pace.seconds(*passes, launches.gpu_ns[launch])
    }

    fn schedule(&self, picks: &[usize]) -> Schedule {
        let Demand { pace, launches, seen, .. } = self.demand;
        // Launches that cannot be selected are assumed to be evenly spread between the others.
        let each = pace.watching(*seen) / launches.sequence.len().max(1) as f64;
        let mut picks = picks.to_vec();
        picks.sort_unstable();
        let made = |launch: usize| launches.at_ns[launch] as f64 / 1e9 + each * launch as f64;
        Schedule::of(picks.into_iter().map(|launch| (made(launch), self.replays(launch))))
    }

    fn covered_parts(&self, picks: &[usize]) -> Vec<Covered> {
        let keys = self.keys_of(picks, Grain::Class);
        let parts = self.demand.parts.iter().zip(&self.times).enumerate();
        parts
            .map(|(at, (part, times))| Covered {
                name: part.name.clone(),
                share: times
                    .iter()
                    .filter(|(kind, _)| keys.contains(&(at, self.classes.first(**kind))))
                    .map(|(_, time)| time)
                    .sum(),
                launches: picks.iter().filter(|launch| part.inside[**launch]).count() as u64,
            })
            .collect()
    }
}

fn heavier<T: Ord>(a: &(f64, T), b: &(f64, T)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

fn is_visible(demand: &Demand<'_>, launch: usize) -> bool {
    demand.visible.get(launch).is_none_or(|visible| *visible)
}

fn chosen(group: &LaunchGroup, samples: u64, launches: u64, share: f64) -> Chosen {
    Chosen {
        kernel: group.name.clone(),
        mangled: group.mangled.clone(),
        short_name: group.short_name.clone(),
        grid: group.grid,
        block: group.block,
        region: group.region.as_ref().map(ToString::to_string),
        launches,
        share,
        samples,
    }
}

#[cfg(test)]
mod tests;
