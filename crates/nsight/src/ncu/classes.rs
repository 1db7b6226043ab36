//! What ncu can tell apart: names, which it is given, and launch shapes, which it counts by.

use std::collections::{BTreeSet, HashMap};

use analysis::LaunchGroups;

use super::command::NameBase;

/// The longest list of names in one argument, in bytes; the system takes 128 KiB.
const LONGEST_NAMES: usize = 32 * 1024;

/// A grid, a block and their shared memory, whatever the kernel: what
/// `--filter-mode per-launch-config` counts by.
pub(super) type Shape = u32;

pub(super) struct Classes {
    /// By kind.
    pub(super) shape: Vec<Shape>,
    /// By kind: its function's name, and its mangled one, as numbers.
    names: Vec<[u32; 2]>,
    texts: [Vec<String>; 2],
    /// By kind: launches of the same kernel and shape, in all regions.
    launches: Vec<u64>,
}

impl Classes {
    pub(super) fn of(launches: &LaunchGroups) -> Self {
        let mut shapes = HashMap::new();
        let mut known: [HashMap<&str, u32>; 2] = Default::default();
        let mut texts: [Vec<String>; 2] = Default::default();
        let mut alike: HashMap<_, u64> = HashMap::new();
        let (mut shape, mut names) = (Vec::new(), Vec::new());
        for group in &launches.groups {
            let next = shapes.len() as Shape;
            shape.push(*shapes.entry((group.grid, group.block, group.shared)).or_insert(next));
            names.push([0, 1].map(|base| {
                let text = [group.short_name.as_str(), group.mangled.as_str()][base];
                *known[base].entry(text).or_insert_with(|| {
                    texts[base].push(text.to_owned());
                    texts[base].len() as u32 - 1
                })
            }));
        }
        let kernel = |at: usize| (names[at], launches.groups[at].name.as_str(), shape[at]);
        for (at, group) in launches.groups.iter().enumerate() {
            *alike.entry(kernel(at)).or_default() += group.launches;
        }
        let launches = (0..names.len()).map(|at| alike[&kernel(at)]).collect();
        Self { shape, names, texts, launches }
    }

    /// Launches of this kernel and shape, wherever.
    pub(super) fn launches(&self, kind: u32) -> u64 {
        self.launches[kind as usize]
    }

    /// Kernels and shapes that people count.
    pub(super) fn kernel(&self, kind: u32) -> ([u32; 2], Shape) {
        (self.names[kind as usize], self.shape[kind as usize])
    }

    /// The names of these kinds, and which kinds fit them. Mangled names tell template instances
    /// apart; they are used where they are known and not too long together.
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
