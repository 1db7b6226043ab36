//! Regions whose names differ only in numbers, and that are not the same on both sides, are taken as one: a program with
//! layers 0 and 1 has `layer 0` and `layer 1`, one with more of them has `layer *`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::profile::{Count, LoopProfile, merged};
use super::side::Profile;

/// Patterns of regions to be taken as one.
pub(super) struct Folding(BTreeSet<String>);

impl Folding {
    pub(super) fn between(a: &[Profile], b: &[Profile]) -> Self {
        let (before, after) = (patterns(a), patterns(b));
        let names = before.keys().chain(after.keys());
        Self(names.filter(|pattern| before.get(*pattern) != after.get(*pattern)).cloned().collect())
    }

    pub(super) fn apply<'p>(&self, side: &'p [Profile]) -> Cow<'p, [Profile]> {
        if self.0.is_empty() {
            return Cow::Borrowed(side);
        }
        let mut folded = side.to_vec();
        for main in folded.iter_mut().filter_map(|profile| profile.main.as_mut()) {
            self.fold(main);
        }
        Cow::Owned(folded)
    }

    fn name(&self, name: String) -> String {
        match nvtx::folded(&name) {
            Some(pattern) if self.0.contains(&pattern) => pattern,
            _ => name,
        }
    }

    fn fold(&self, main: &mut LoopProfile) {
        for parts in [&mut main.parts, &mut main.host] {
            for part in parts.iter_mut() {
                part.place = part.place.take().map(|place| self.name(place));
            }
            *parts = merged(std::mem::take(parts));
        }
        let mut regions: BTreeMap<String, Count> = BTreeMap::new();
        for count in std::mem::take(&mut main.regions) {
            let name = self.name(count.name);
            match regions.get_mut(&name) {
                Some(known) => known.often = known.often.plus(count.often),
                None => drop(regions.insert(name.clone(), Count { name, ..count })),
            }
        }
        main.regions = regions.into_values().collect();
        main.region = main.region.take().map(|region| self.name(region));
    }
}

/// By pattern: the regions that have it.
fn patterns(side: &[Profile]) -> BTreeMap<String, BTreeSet<&str>> {
    let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for main in side.iter().filter_map(|profile| profile.main.as_ref()) {
        let places = main.parts.iter().chain(&main.host).filter_map(|part| part.place.as_deref());
        let regions = main.regions.iter().map(|region| region.name.as_str());
        for place in places.chain(regions).chain(main.region.as_deref()) {
            let pattern = nvtx::folded(place).unwrap_or_else(|| place.to_owned());
            found.entry(pattern).or_default().insert(place);
        }
    }
    found
}
