//! Why an iteration takes longer than before, or not as long: the first reason is the one to be told.

use serde::Serialize;

use super::align::{Change, Fate};
use super::profile::{Kernel, Often, What};
use super::side::{Profile, Together};
use crate::replay::CallKind;
use crate::time::IdleCause;

/// So many different kernels must take longer alike before it is said of all.
const FEWEST_ALIKE: usize = 3;
/// And by so much at least.
const LEAST_OF_ALL: f64 = 0.02;
/// Of all kernels' time, so much is in kernels that are on both sides.
const MOST_KEPT: f64 = 0.5;
/// What is counted is certain, times are not: it comes first unless times say much more, as a part of the iteration.
const CERTAIN: f64 = 0.02;

/// Of all parts of an iteration, those that change the most; a file may claim any number.
const MOST_CHANGES: usize = 4_000;

/// A difference between both sides, and what it adds to an iteration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reason {
    #[serde(flatten)]
    pub is: Difference,
    pub place: Option<String>,
    pub more_ns: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "difference")]
pub enum Difference {
    /// Processes of the program that were recorded.
    Processes {
        before: u64,
        after: u64,
    },
    /// A region runs more often in an iteration, or not as often; with so many more kernels.
    Region {
        before: u64,
        after: u64,
        kernels: i64,
    },
    /// Kernels are launched by CUDA graphs, or no longer.
    Graphs {
        before: u64,
        after: u64,
        launches_before: u64,
        launches_after: u64,
    },
    /// More kernels in an iteration, or fewer, or both.
    Kernels {
        more: Named,
        fewer: Named,
    },
    Copies {
        direction: String,
        more: i64,
        bytes: [u64; 2],
    },
    /// Calls that wait for the device, or that get memory from the driver.
    Calls {
        name: String,
        more: i64,
    },
    /// A kernel runs in another shape; `others` are those that do as well, or that another kernel does the work of.
    Shape {
        name: String,
        grid: [[u32; 3]; 2],
        block: [[u32; 3]; 2],
        others: u64,
    },
    /// Another kernel does the same work; `others` are those it holds for as well.
    Renamed {
        before: String,
        after: String,
        others: u64,
    },
    /// A kernel takes this many times as long.
    Kernel {
        name: String,
        ratio: f64,
    },
    /// All kernels do.
    AllKernels {
        ratio: f64,
        clock_mhz: Option<[f64; 2]>,
    },
    /// The device waits longer, or not as long.
    Idle {
        cause: IdleCause,
    },
    /// The host is longer in a region.
    Host {
        ratio: f64,
    },
}

/// So many, and what they are called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Named {
    pub count: u64,
    pub names: Vec<String>,
}

impl Named {
    fn add(&mut self, count: u64, name: &str) {
        self.count = self.count.saturating_add(count);
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }
}

impl Difference {
    /// It can be counted, and is the same in all iterations.
    fn is_certain(&self) -> bool {
        !matches!(self, Self::Kernel { .. } | Self::AllKernels { .. } | Self::Idle { .. } | Self::Host { .. })
    }
}

/// All of them, the first one first. `margin` is the part of an iteration that does not matter; `decided` is whether
/// the iteration as a whole is known to take longer or not as long.
pub(super) fn reasons(
    changes: &[Change],
    sides: [&Together; 2],
    profiles: [&[Profile]; 2],
    margin: f64,
    decided: bool,
) -> Vec<Reason> {
    let mut left: Vec<&Change> = changes.iter().take(MOST_CHANGES).collect();
    let mut reasons = Vec::new();
    reasons.extend(processes(profiles));
    reasons.extend(regions(&mut left, sides));
    reasons.extend(graphs(sides));
    reasons.extend(copies(&left));
    reasons.extend(kernels(&left));
    reasons.extend(shapes(&left));
    reasons.extend(renamed(&left));
    reasons.extend(calls(sides));
    attach_waiting(&mut reasons, &left);
    match all_kernels(&left, profiles) {
        Some(all) => reasons.push(all),
        None => reasons.extend(left.iter().filter_map(|change| longer(change))),
    }
    reasons.extend(left.iter().filter_map(|change| on_host(change)));
    if reasons.iter().any(|reason| matches!(reason.is, Difference::Graphs { .. })) {
        // What a graph launches has no regions, and was recorded as a whole.
        reasons.retain(|reason| {
            !matches!(
                reason.is,
                Difference::Region { .. } | Difference::Kernels { .. } | Difference::Copies { .. }
            )
        });
    }
    let usual = sides[0].iteration_ns;
    reasons.retain(|reason| reason.is.is_certain() || reason.more_ns.abs() >= margin * usual);
    let weight = |reason: &Reason| {
        let certain = if reason.is.is_certain() { CERTAIN * usual } else { 0.0 };
        reason.more_ns.abs() + certain
    };
    reasons.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    // What may be chance comes behind what is not, and kernels take the same time more often than a host does.
    reasons.sort_by_key(|reason| match &reason.is {
        Difference::Graphs { .. } => 0,
        is if is.is_certain() || decided => 1,
        Difference::Kernel { .. } | Difference::AllKernels { .. } => 2,
        _ => 3,
    });
    reasons
}

fn processes([a, b]: [&[Profile]; 2]) -> Option<Reason> {
    let of = |profiles: &[Profile]| {
        let first = profiles.first()?.processes;
        profiles.iter().all(|profile| profile.processes == first).then_some(first)
    };
    let (before, after) = (of(a)?, of(b)?);
    // None at all is not recorded.
    (before != after && before > 0 && after > 0).then_some(Reason {
        is: Difference::Processes { before, after },
        place: None,
        more_ns: 0.0,
    })
}

/// Takes what is inside such a region from `left`.
fn regions(left: &mut Vec<&Change>, [a, b]: [&Together; 2]) -> Vec<Reason> {
    let mut changed: Vec<(&String, u64, u64)> = Vec::new();
    for name in a.regions.keys().chain(b.regions.keys().filter(|name| !a.regions.contains_key(*name))) {
        if let (Some(before), Some(after)) =
            (Often::certain(a.regions.get(name)), Often::certain(b.regions.get(name)))
            && before != after
        {
            changed.push((name, before, after));
        }
    }
    changed.truncate(MOST_CHANGES);
    let names: Vec<String> = changed.iter().map(|(name, _, _)| (*name).clone()).collect();
    changed.retain(|(name, _, _)| !names.iter().any(|other| is_inside(Some(name), other) && *name != other));
    let mut reasons = Vec::new();
    for (region, before, after) in changed {
        let (inside, outside): (Vec<&Change>, Vec<&Change>) =
            left.iter().partition(|change| is_inside(change.place.as_deref(), region));
        let is_kernel = |change: &&Change| matches!(change.shown(), Some(What::Kernel(_)));
        let kernels =
            inside.iter().copied().filter(is_kernel).filter_map(Change::more).fold(0i64, i64::saturating_add);
        let more_ns = inside.iter().map(|change| change.more_ns()).sum();
        *left = outside;
        reasons.push(Reason {
            is: Difference::Region { before, after, kernels },
            place: Some(region.clone()),
            more_ns,
        });
    }
    reasons
}

/// Whether a region is another or inside it, by their paths.
fn is_inside(place: Option<&str>, region: &str) -> bool {
    place
        .and_then(|place| place.strip_prefix(region))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn graphs([a, b]: [&Together; 2]) -> Option<Reason> {
    let launches = |side: &Together, graphs: bool| -> u64 {
        let is_meant =
            |name: &&String| CallKind::of(name) == CallKind::Launch && name.contains("GraphLaunch") == graphs;
        side.calls
            .iter()
            .filter(|(name, _)| is_meant(name))
            .map(|(_, often)| often.usual)
            .fold(0u64, u64::saturating_add)
    };
    let (before, after) = (launches(a, true), launches(b, true));
    let is_other = (before == 0) != (after == 0);
    is_other.then(|| Reason {
        is: Difference::Graphs {
            before,
            after,
            launches_before: launches(a, false),
            launches_after: launches(b, false),
        },
        place: None,
        // All of what changed: kernels in a graph have other places and gaps.
        more_ns: b.iteration_ns - a.iteration_ns,
    })
}

fn is_other_count(change: &&&Change) -> bool {
    matches!(change.fate, Fate::New | Fate::Vanished | Fate::Counted)
}

/// By place and direction.
fn copies(left: &[&Change]) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    for change in left.iter().filter(is_other_count) {
        let Some(What::Copy { direction, bytes }) = change.shown() else { continue };
        let moved = |side: usize| change.often[side].map_or(0, |often| often.usual).saturating_mul(*bytes);
        let more = change.more().unwrap_or(0);
        let known = reasons.iter_mut().find_map(|reason| match &mut reason.is {
            Difference::Copies { direction: known, more, bytes }
                if known == direction && reason.place == change.place =>
            {
                reason.more_ns += change.more_ns();
                Some((more, bytes))
            }
            _ => None,
        });
        match known {
            Some((sum, bytes)) => {
                *sum = sum.saturating_add(more);
                bytes[0] = bytes[0].saturating_add(moved(0));
                bytes[1] = bytes[1].saturating_add(moved(1));
            }
            None => reasons.push(Reason {
                is: Difference::Copies { direction: direction.clone(), more, bytes: [moved(0), moved(1)] },
                place: change.place.clone(),
                more_ns: change.more_ns(),
            }),
        }
    }
    reasons
}

/// By place.
fn kernels(left: &[&Change]) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    for change in left.iter().filter(is_other_count) {
        let (Some(What::Kernel(kernel)), Some(count)) = (change.shown(), change.more()) else { continue };
        let at = reasons.iter().position(|reason| reason.place == change.place).unwrap_or_else(|| {
            reasons.push(Reason {
                is: Difference::Kernels { more: Named::default(), fewer: Named::default() },
                place: change.place.clone(),
                more_ns: 0.0,
            });
            reasons.len() - 1
        });
        reasons[at].more_ns += change.more_ns();
        if let Difference::Kernels { more, fewer } = &mut reasons[at].is {
            let named = if count > 0 { more } else { fewer };
            named.add(count.unsigned_abs(), &kernel.short_name);
        }
    }
    reasons
}

fn both(change: &Change) -> Option<(&Kernel, &Kernel)> {
    match &change.what {
        [Some(What::Kernel(before)), Some(What::Kernel(after))] => Some((before, after)),
        _ => None,
    }
}

/// All of them together, by the one that matters most. Where shapes change, other kernels may be chosen.
fn shapes(left: &[&Change]) -> Option<Reason> {
    let with = |fates: &[Fate]| left.iter().filter(|change| fates.contains(&change.fate)).collect::<Vec<_>>();
    let first = heaviest(&with(&[Fate::Reshaped]))?;
    let (before, after) = both(first)?;
    let all = with(&[Fate::Reshaped, Fate::Replaced]);
    Some(Reason {
        is: Difference::Shape {
            name: after.short_name.clone(),
            grid: [before.grid, after.grid],
            block: [before.block, after.block],
            others: all.len() as u64 - 1,
        },
        place: first.place.clone(),
        more_ns: all.iter().map(|change| change.more_ns()).sum(),
    })
}

fn heaviest<'c>(changes: &[&&'c Change]) -> Option<&'c Change> {
    changes.iter().max_by(|a, b| a.ns[1].total_cmp(&b.ns[1])).map(|change| **change)
}

/// All of them together, by the one that matters most.
fn renamed(left: &[&Change]) -> Option<Reason> {
    let shapes_change = left.iter().any(|change| change.fate == Fate::Reshaped);
    let is_meant =
        |change: &&&Change| change.fate == Fate::Renamed || change.fate == Fate::Replaced && !shapes_change;
    let all: Vec<&&Change> = left.iter().filter(is_meant).collect();
    let first = heaviest(&all)?;
    let (before, after) = both(first)?;
    Some(Reason {
        is: Difference::Renamed {
            before: before.name.clone(),
            after: after.name.clone(),
            others: all.len() as u64 - 1,
        },
        place: first.place.clone(),
        more_ns: all.iter().map(|change| change.more_ns()).sum(),
    })
}

/// Calls that wait or get memory.
fn calls([a, b]: [&Together; 2]) -> Vec<Reason> {
    let names = a.calls.keys().chain(b.calls.keys().filter(|name| !a.calls.contains_key(*name)));
    let is_meant = |name: &&String| matches!(CallKind::of(name), CallKind::Wait | CallKind::Memory);
    names
        .filter(is_meant)
        .filter_map(|name| {
            let more = Often::more(a.calls.get(name), b.calls.get(name))?;
            let is = Difference::Calls { name: name.clone(), more };
            (more != 0).then_some(Reason { is, place: None, more_ns: 0.0 })
        })
        .collect()
}

/// What the device waits longer is due to calls that wait, if there are more of those; else to copies, else to kernels of
/// the same place. The rest is a reason of its own.
fn attach_waiting(reasons: &mut Vec<Reason>, left: &[&Change]) {
    for change in left {
        let Some(What::Idle { cause }) = change.shown() else { continue };
        let more_ns = change.more_ns();
        let mut owner = None;
        for (at, reason) in reasons.iter().enumerate() {
            let rank = match &reason.is {
                Difference::Graphs { .. } => 0,
                Difference::Calls { name, .. } if CallKind::of(name) == CallKind::Wait => 1,
                Difference::Calls { .. } => 2,
                Difference::Copies { .. } => 3,
                Difference::Kernels { .. } if reason.place == change.place => 4,
                _ => continue,
            };
            if owner.is_none_or(|(best, _)| rank < best) {
                owner = Some((rank, at));
            }
        }
        match owner {
            Some((0, _)) => {}
            Some((_, at)) => reasons[at].more_ns += more_ns,
            None => reasons.push(Reason {
                is: Difference::Idle { cause: *cause },
                place: change.place.clone(),
                more_ns,
            }),
        }
    }
}

/// Kernels that are the same on both sides and as frequent.
fn kept<'c>(left: &[&'c Change]) -> Vec<(&'c Change, &'c Kernel)> {
    let is_kept = |change: &&&Change| change.fate == Fate::Kept && change.ns[0] > 0.0 && change.ns[1] > 0.0;
    left.iter().filter(is_kept).filter_map(|change| Some((*change, both(change)?.1))).collect()
}

fn all_kernels(left: &[&Change], profiles: [&[Profile]; 2]) -> Option<Reason> {
    let kept = kept(left);
    let sum = |side: usize| kept.iter().map(|(change, _)| change.ns[side]).sum::<f64>();
    let all: f64 = left
        .iter()
        .filter(|change| matches!(change.shown(), Some(What::Kernel(_))))
        .map(|change| change.ns[0])
        .sum();
    let (before, after) = (sum(0), sum(1));
    let clock_mhz = profiles[0]
        .first()
        .and_then(|one| one.clock_mhz)
        .zip(profiles[1].first().and_then(|one| one.clock_mhz));
    let log = (after / before).ln();
    let off = kept
        .iter()
        .map(|(change, _)| change.ns[0] * ((change.ns[1] / change.ns[0]).ln() - log).abs())
        .sum::<f64>();
    let is_alike = kept.len() >= FEWEST_ALIKE && off / before < log.abs() / 3.0;
    let is_clock = clock_mhz.is_some_and(|(a, b)| ((a / b).ln() - log).abs() < log.abs() / 3.0);
    let holds =
        log.is_finite() && log.abs() > LEAST_OF_ALL && before >= MOST_KEPT * all && (is_alike || is_clock);
    holds.then(|| Reason {
        is: Difference::AllKernels {
            ratio: log.exp(),
            clock_mhz: clock_mhz.filter(|_| is_clock).map(|(before, after)| [before, after]),
        },
        place: None,
        more_ns: after - before,
    })
}

fn longer(change: &Change) -> Option<Reason> {
    let (_, kernel) = both(change).filter(|_| change.fate == Fate::Kept && change.ns[0] > 0.0)?;
    Some(Reason {
        is: Difference::Kernel { name: kernel.short_name.clone(), ratio: change.ns[1] / change.ns[0] },
        place: change.place.clone(),
        more_ns: change.more_ns(),
    })
}

fn on_host(change: &Change) -> Option<Reason> {
    let is_host = matches!(change.shown(), Some(What::Host)) && change.ns[0] > 0.0 && change.ns[1] > 0.0;
    is_host.then(|| Reason {
        is: Difference::Host { ratio: change.ns[1] / change.ns[0] },
        place: change.place.clone(),
        more_ns: change.more_ns(),
    })
}
