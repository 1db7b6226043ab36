//! Which collectives of several ranks are one.
//!
//! The ranks of a group do the same operations in the same order. A recording may begin a little earlier on one rank than
//! on another: then the ends, which are nearly simultaneous, say how many are missing.

use std::collections::BTreeMap;

use super::function::Function;
use super::part::Part;
use crate::statistics::middle_of;

/// A recording may lack this many at its beginning.
const MOST_MISSING: usize = 8;

/// One operation of several ranks.
#[derive(Debug, Clone)]
pub(super) struct Matched {
    pub(super) function: Function,
    /// Parts that took part, in order, each with the place of its collective.
    pub(super) of: Vec<(usize, usize)>,
}

impl Matched {
    /// The place of a part's collective.
    pub(super) fn on(&self, part: usize) -> Option<usize> {
        let at = self.of.binary_search_by_key(&part, |(part, _)| *part).ok()?;
        Some(self.of[at].1)
    }
}

/// In the order in which they ended on the first of their ranks.
pub(super) fn matched(parts: &[Part]) -> Vec<Matched> {
    // By group and function, and by part, the places of the collectives.
    let mut sequences: BTreeMap<(&str, Function), BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    for (number, part) in parts.iter().enumerate() {
        for (place, one) in part.collectives.iter().enumerate() {
            let group = part.groups.get(one.group as usize).map_or("", String::as_str);
            sequences.entry((group, one.function)).or_default().entry(number).or_default().push(place);
        }
    }
    let mut all = Vec::new();
    for ((_, function), of_parts) in sequences {
        all.extend(aligned(parts, function, &of_parts));
    }
    all.sort_by_key(|one: &Matched| {
        let (part, place) = one.of[0];
        (parts[part].collectives[place].end, part)
    });
    all
}

fn aligned(parts: &[Part], function: Function, of_parts: &BTreeMap<usize, Vec<usize>>) -> Vec<Matched> {
    let Some((first, reference)) =
        of_parts.iter().max_by_key(|(part, places)| (places.len(), usize::MAX - **part))
    else {
        return Vec::new();
    };
    let mut found: Vec<Matched> = reference.iter().map(|_| Matched { function, of: Vec::new() }).collect();
    for (part, places) in of_parts {
        let missing = if places.len() == reference.len() {
            Some(0)
        } else {
            shift(parts, (*first, reference), (*part, places))
        };
        let Some(missing) = missing else { continue };
        for (at, place) in places.iter().enumerate() {
            if let Some(one) = found.get_mut(at + missing) {
                one.of.push((*part, *place));
            }
        }
    }
    found.retain(|one| one.of.len() > 1);
    found
}

/// How many of the reference's first a part lacks: so many that the ends differ most evenly.
fn shift(
    parts: &[Part],
    (first, reference): (usize, &[usize]),
    (part, places): (usize, &[usize]),
) -> Option<usize> {
    let lacks = reference.len() - places.len();
    let end = |part: usize, place: usize| parts[part].collectives[place].end as f64;
    let unevenness = |missing: usize| {
        let pairs = reference.iter().skip(missing).zip(places);
        let differences: Vec<f64> =
            pairs.map(|(theirs, ours)| end(part, *ours) - end(first, *theirs)).collect();
        let middle = middle_of(differences.clone())?;
        middle_of(differences.iter().map(|difference| (difference - middle).abs()).collect())
    };
    (0..=lacks.min(MOST_MISSING))
        .filter_map(|missing| Some((missing, unevenness(missing)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(missing, _)| missing)
}
