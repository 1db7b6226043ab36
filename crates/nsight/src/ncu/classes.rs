//! What ncu can distinguish: names, which we pass to it, and launch configurations, which it counts by.

use std::collections::{BTreeSet, HashMap};

use analysis::LaunchGroups;
use nvtx::RegionPath;

use super::command::NameBase;

/// The longest list of names in one argument, in bytes; the system allows 128 KiB.
const LONGEST_NAMES: usize = 32 * 1024;

/// A kernel with a grid, a block and its shared memory: what `--filter-mode per-launch-config`
/// counts by (measured with ncu 2025.3.1; its help does not name the kernel).
pub(super) type Class = u32;

pub(super) struct Classes {
    /// By kind.
    pub(super) class: Vec<Class>,
    /// By kind: its function's name, and its mangled one, as numbers.
    names: Vec<[u32; 2]>,
    texts: [Vec<String>; 2],
    /// By class: its launches, in all regions, and its first kind.
    launches: Vec<u64>,
    first: Vec<u32>,
    /// By kind: the first of its class whose region has the same name except for numbers.
    folded: Vec<u32>,
}

impl Classes {
    pub(super) fn of(launches: &LaunchGroups) -> Self {
        let mut classes = HashMap::new();
        let mut known: [HashMap<&str, u32>; 2] = Default::default();
        let mut texts: [Vec<String>; 2] = Default::default();
        let (mut class, mut names) = (Vec::new(), Vec::new());
        let (mut counts, mut first): (Vec<u64>, Vec<u32>) = Default::default();
        let (mut alike, mut folded) = (HashMap::new(), Vec::new());
        for (kind, group) in launches.groups.iter().enumerate() {
            let launched = (&group.name, &group.mangled, group.grid, group.block, group.shared);
            let at = *classes.entry(launched).or_insert(counts.len() as Class);
            if at as usize == counts.len() {
                counts.push(0);
                first.push(kind as u32);
            }
            counts[at as usize] += group.launches;
            class.push(at);
            let region = group.region.as_ref().map(without_numbers);
            folded.push(*alike.entry((at, region)).or_insert(kind as u32));
            names.push([0, 1].map(|base| {
                let text = [group.short_name.as_str(), group.mangled.as_str()][base];
                *known[base].entry(text).or_insert_with(|| {
                    texts[base].push(text.to_owned());
                    texts[base].len() as u32 - 1
                })
            }));
        }
        Self { class, names, texts, launches: counts, first, folded }
    }

    /// Launches of this kernel and shape, in any region.
    pub(super) fn launches(&self, kind: u32) -> u64 {
        self.launches[self.class[kind as usize] as usize]
    }

    /// The first kind of the same kernel and shape.
    pub(super) fn first(&self, kind: u32) -> u32 {
        self.first[self.class[kind as usize] as usize]
    }

    /// The first kind of the same kernel and shape in a region with the same name except for numbers:
    /// `Layer 3` of `Train step 7` does what `Layer 4` of `Train step 8` does.
    pub(super) fn folded(&self, kind: u32) -> u32 {
        self.folded[kind as usize]
    }

    /// The names of these kinds, and which kinds match them. Mangled names distinguish template instances;
    /// they are used if known and not too long in total.
    pub(super) fn names(
        &self,
        wanted: impl Iterator<Item = u32> + Clone,
    ) -> (NameBase, Vec<String>, Vec<bool>) {
        let ids = |base: usize| {
            wanted.clone().map(|kind| self.names[kind as usize][base]).collect::<BTreeSet<u32>>()
        };
        let mangled = ids(1);
        let text = |base: usize, id: &u32| self.texts[base][*id as usize].as_str();
        let unknown = mangled.iter().any(|id| text(1, id).is_empty());
        let length: usize = mangled.iter().map(|id| text(1, id).len() + 1).sum();
        let (base, at, ids) = if unknown || length > LONGEST_NAMES {
            (NameBase::Function, 0, ids(0))
        } else {
            (NameBase::Mangled, 1, mangled)
        };
        let mut texts: Vec<String> = ids.iter().map(|id| text(at, id).to_owned()).collect();
        texts.sort();
        let fits = self.names.iter().map(|names| ids.contains(&names[at])).collect();
        (base, texts, fits)
    }
}

/// A region's path with every number replaced by one character.
fn without_numbers(region: &RegionPath) -> RegionPath {
    let fold = |name: &String| {
        let mut folded = String::with_capacity(name.len());
        for letter in name.chars() {
            match letter {
                '0'..='9' if folded.ends_with('#') => {}
                '0'..='9' => folded.push('#'),
                letter => folded.push(letter),
            }
        }
        folded
    };
    RegionPath::new(region.domain.clone(), region.names.iter().map(fold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_one_sign() {
        let folded = |names: &[&str]| without_numbers(&RegionPath::new("d1", names.iter().copied()));
        assert_eq!(folded(&["Train step 12", "Layer 3"]), RegionPath::new("d1", ["Train step #", "Layer #"]));
        assert_eq!(folded(&["a1b22", "c"]), RegionPath::new("d1", ["a#b#", "c"]));
    }
}
