//! What ncu measured of the kernels of both sides.

use std::collections::BTreeMap;

use serde::Serialize;

use super::align::{Fate, aligned};
use super::measured::{KernelCounters, LevelShare};
use super::profile::{Kernel, Often, What};
use super::side::{Parts, Profile};
use crate::kernels::BoundKind;

/// A kernel on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountersChange {
    pub fate: Fate,
    /// Before, and after.
    pub kernel: [Option<Kernel>; 2],
    pub launches: [u64; 2],
    pub ns: [Option<f64>; 2],
    pub limit: [Option<BoundKind>; 2],
    pub levels: Vec<LevelChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LevelChange {
    pub level: BoundKind,
    /// Of its peak; none where it was not measured.
    pub percent: [Option<f64>; 2],
}

impl CountersChange {
    /// As it is now; as it was, where it is gone.
    pub fn shown(&self) -> Option<&Kernel> {
        self.kernel[1].as_ref().or(self.kernel[0].as_ref())
    }

    /// What limits it, before and after, if that is known and not the same.
    pub fn other_limit(&self) -> Option<[BoundKind; 2]> {
        let [Some(before), Some(after)] = self.limit else { return None };
        let is_known = before != BoundKind::Unknown && after != BoundKind::Unknown;
        (before != after && is_known).then_some([before, after])
    }
}

/// Nothing unless both sides were measured. Those whose limit changed first, then those whose time changed the most.
pub(super) fn counters_changed(a: &[Profile], b: &[Profile]) -> Vec<CountersChange> {
    let (before, after) = (Measured::of(a), Measured::of(b));
    if before.0.is_empty() || after.0.is_empty() {
        return Vec::new();
    }
    let sides = [&before, &after];
    let mut changes: Vec<CountersChange> = aligned(&before.parts(), &after.parts())
        .into_iter()
        .map(|change| {
            let kernel = change.what.map(|what| match what {
                Some(What::Kernel(kernel)) => Some(kernel),
                _ => None,
            });
            let measured = [0, 1].map(|side: usize| sides[side].0.get(kernel[side].as_ref()?).copied());
            CountersChange {
                // How many launches were measured says nothing of how many there are.
                fate: if change.fate == Fate::Counted { Fate::Kept } else { change.fate },
                launches: measured.map(|one| one.map_or(0, |one| one.launches)),
                ns: measured.map(|one| one.and_then(|one| one.ns)),
                limit: measured.map(|one| one.map(|one| one.limit)),
                levels: levels(measured),
                kernel,
            }
        })
        .collect();
    let more = |change: &CountersChange| {
        let [before, after] = change.ns.map(|ns| ns.unwrap_or(0.0));
        (after - before).abs() * change.launches[0].max(change.launches[1]) as f64
    };
    changes.sort_by(|a, b| {
        let is_same = |change: &CountersChange| change.other_limit().is_none();
        is_same(a).cmp(&is_same(b)).then(more(b).total_cmp(&more(a)))
    });
    changes
}

/// The largest change first.
fn levels(measured: [Option<&KernelCounters>; 2]) -> Vec<LevelChange> {
    let mut found: BTreeMap<BoundKind, [Option<f64>; 2]> = BTreeMap::new();
    for (side, one) in measured.iter().enumerate() {
        for LevelShare { level, percent } in one.iter().flat_map(|one| &one.levels) {
            found.entry(*level).or_default()[side] = Some(*percent);
        }
    }
    let mut levels: Vec<LevelChange> =
        found.into_iter().map(|(level, percent)| LevelChange { level, percent }).collect();
    let by = |change: &LevelChange| {
        change.percent[0].zip(change.percent[1]).map_or(0.0, |(before, after)| (after - before).abs())
    };
    levels.sort_by(|a, b| by(b).total_cmp(&by(a)));
    levels
}

/// The kernels of a side; of several runs, the first that measured one stands for it.
struct Measured<'p>(BTreeMap<&'p Kernel, &'p KernelCounters>);

impl<'p> Measured<'p> {
    fn of(side: &'p [Profile]) -> Self {
        let mut known = BTreeMap::new();
        for one in side.iter().flat_map(|profile| &profile.counters) {
            known.entry(&one.kernel).or_insert(one);
        }
        Self(known)
    }

    fn parts(&self) -> Parts {
        let part = |(kernel, one): (&&Kernel, &&KernelCounters)| {
            let often = Often { usual: one.launches, varies: false, mean: one.launches as f64 };
            ((None, What::Kernel((*kernel).clone())), (one.ns.unwrap_or(0.0), Some(often)))
        };
        self.0.iter().map(part).collect()
    }
}
