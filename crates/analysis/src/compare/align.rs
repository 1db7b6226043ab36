//! What of one side is what of the other.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::profile::{Kernel, Often, What};
use super::side::Parts;

/// Parts without a counterpart among which one is looked for; a file may claim any number of kernels.
const MOST_MATCHED: usize = 2_000;

/// What became of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It is there as before, if not as long.
    Kept,
    /// More or fewer of the same in each iteration.
    Counted,
    /// The same kernel in another shape.
    Reshaped,
    /// Another kernel of the same kind, in the same place and shape, and as often.
    Renamed,
    /// Another kernel of the same kind in the same place, as often, in another shape.
    Replaced,
    New,
    Vanished,
}

/// A part of an iteration on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    pub fate: Fate,
    pub place: Option<String>,
    /// Before, and after.
    pub what: [Option<What>; 2],
    pub ns: [f64; 2],
    pub often: [Option<Often>; 2],
}

impl Change {
    /// What an iteration takes longer because of it.
    pub fn more_ns(&self) -> f64 {
        self.ns[1] - self.ns[0]
    }

    /// As it is now; as it was, where it is gone.
    pub fn shown(&self) -> Option<&What> {
        self.what[1].as_ref().or(self.what[0].as_ref())
    }

    /// How many more there are in each iteration, if that is the same in all.
    pub fn more(&self) -> Option<i64> {
        Often::more(self.often[0].as_ref(), self.often[1].as_ref())
    }
}

type Key = (Option<String>, What);
/// Its time, and how often.
type Amount = (f64, Option<Often>);
type IsSame = fn(&Kernel, &Kernel) -> bool;

/// Every part of both sides once, those first that change the most.
pub(super) fn aligned(a: &Parts, b: &Parts) -> Vec<Change> {
    let (mut left, mut right) = (a.clone(), b.clone());
    let mut changes = Vec::new();
    let both: Vec<Key> = left.keys().filter(|key| right.contains_key(*key)).cloned().collect();
    for key in both {
        let (before, after) = (left.remove(&key).unwrap_or_default(), right.remove(&key).unwrap_or_default());
        let fate = match (before.1, after.1) {
            (Some(one), Some(other)) if !one.varies && !other.varies && one.usual != other.usual => {
                Fate::Counted
            }
            _ => Fate::Kept,
        };
        changes.push(change(fate, [Some((key.clone(), before)), Some((key, after))]));
    }
    let same_count =
        |a: Option<Often>, b: Option<Often>| a.map(|often| often.usual) == b.map(|often| often.usual);
    let pairs: [(Fate, IsSame, bool); 4] = [
        (Fate::Reshaped, |one, other| one.name == other.name, false),
        (Fate::Renamed, |one, other| is_alike(one, other) && has_same_shape(one, other), true),
        (Fate::Replaced, is_alike, true),
        (Fate::Replaced, |one, other| has_same_shape(one, other), true),
    ];
    for (fate, is_same, as_often) in pairs {
        for (before, after) in matched(&left, &right, |one, other| {
            let counted = same_count(left[one].1, right[other].1) || !as_often;
            let kernels = match (&one.1, &other.1) {
                (What::Kernel(one), What::Kernel(other)) => is_same(one, other),
                _ => false,
            };
            one.0 == other.0 && counted && kernels
        }) {
            let (a, b) = (left.remove(&before).unwrap_or_default(), right.remove(&after).unwrap_or_default());
            changes.push(change(fate, [Some((before, a)), Some((after, b))]));
        }
    }
    changes.extend(left.into_iter().map(|part| change(Fate::Vanished, [Some(part), None])));
    changes.extend(right.into_iter().map(|part| change(Fate::New, [None, Some(part)])));
    for change in &mut changes {
        // Waiting is not counted: it is longer or shorter.
        if change.what.iter().flatten().all(|what| matches!(what, What::Idle { .. })) {
            change.fate = Fate::Kept;
        }
    }
    changes.sort_by(|a, b| b.more_ns().abs().total_cmp(&a.more_ns().abs()));
    changes
}

fn is_alike(one: &Kernel, other: &Kernel) -> bool {
    one.family == other.family
}

fn has_same_shape(one: &Kernel, other: &Kernel) -> bool {
    (one.grid, one.block) == (other.grid, other.block)
}

/// Pairs, each part in one at most; those of the most similar times first.
fn matched(left: &Parts, right: &Parts, is_pair: impl Fn(&Key, &Key) -> bool) -> Vec<(Key, Key)> {
    // Only parts of the same place can be a pair.
    let mut by_place: BTreeMap<&Option<String>, Vec<&Key>> = BTreeMap::new();
    for key in right.keys() {
        by_place.entry(&key.0).or_default().push(key);
    }
    let mut pairs: Vec<(f64, &Key, &Key)> = Vec::new();
    for one in left.keys().take(MOST_MATCHED) {
        for other in
            by_place.get(&one.0).into_iter().flatten().take(MOST_MATCHED).filter(|other| is_pair(one, other))
        {
            let distance = (left[one].0.max(1.0).ln() - right[*other].0.max(1.0).ln()).abs();
            pairs.push((distance, one, other));
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut taken, mut given) = (BTreeSet::new(), BTreeSet::new());
    let mut found = Vec::new();
    for (_, one, other) in pairs {
        if !taken.contains(one) && !given.contains(other) {
            taken.insert(one);
            given.insert(other);
            found.push((one.clone(), other.clone()));
        }
    }
    found
}

fn change(fate: Fate, parts: [Option<(Key, Amount)>; 2]) -> Change {
    let place = parts.iter().flatten().next().and_then(|part| part.0.0.clone());
    let ns = [0, 1].map(|side: usize| parts[side].as_ref().map_or(0.0, |part| part.1.0));
    let often = [0, 1].map(|side: usize| parts[side].as_ref().and_then(|part| part.1.1));
    Change { fate, place, what: parts.map(|part| part.map(|part| part.0.1)), ns, often }
}
