//! Regions that share a name: what else a tool selects with the expression for one of them.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use analysis::Region;
use nvtx::{Begins, Kind, NcuInclude, ncu_expression};

/// Regions of one name in one domain.
#[derive(Debug)]
struct Named<'a> {
    first: &'a Region,
    second: Option<&'a Region>,
    count: usize,
}

/// There may be a million regions, so each is looked up, never compared with all others.
#[derive(Debug)]
pub struct Namesakes<'a> {
    /// By domain and innermost name.
    named: HashMap<&'a str, HashMap<&'a str, Named<'a>>>,
    hasher: RandomState,
    /// Paths that also occur inside other ranges.
    deeper: HashSet<u64>,
}

impl<'a> Namesakes<'a> {
    pub fn of(regions: &'a [Region]) -> Self {
        let mut named: HashMap<&str, HashMap<&str, Named<'a>>> = HashMap::new();
        for region in regions.iter().filter(|region| !region.wide) {
            let in_domain = named.entry(&region.path.domain).or_default();
            let new = Named { first: region, second: None, count: 0 };
            let named = in_domain.entry(region.path.name()).or_insert(new);
            named.count += 1;
            if named.count == 2 {
                named.second = Some(region);
            }
        }
        let hasher = RandomState::new();
        let pushed = || regions.iter().filter(|region| region.kind == Kind::PushPop);
        let paths: HashSet<u64> = pushed().map(|region| whole(&hasher, region)).collect();
        let mut deeper = HashSet::new();
        for region in pushed() {
            let names = &region.path.names;
            let mut inner = domain(&hasher, region);
            for at in (1..names.len()).rev() {
                inner = hasher.hash_one((inner, &names[at]));
                // What lies inside a range of the same path is selected with it anyway.
                if paths.contains(&inner) && !names.starts_with(&names[at..]) {
                    deeper.insert(inner);
                }
            }
        }
        Self { named, hasher, deeper }
    }

    /// Another region that the gate of nsys opens for, because it has the same name, and how many more there are.
    pub fn in_nsys(&self, region: &Region) -> Option<(&'a Region, usize)> {
        let named = self.named.get(region.path.domain.as_str())?.get(region.path.name())?;
        let is_first = (named.first.kind, &named.first.path) == (region.kind, &region.path);
        let other = if is_first { named.second } else { Some(named.first) };
        other.map(|other| (other, named.count.saturating_sub(2)))
    }

    /// What ncu takes for this region only, wherever else its path occurs.
    pub fn include(&self, region: &Region) -> NcuInclude {
        let is_deeper = self.deeper.contains(&whole(&self.hasher, region));
        let begins = if is_deeper { Begins::Outermost } else { Begins::Anywhere };
        ncu_expression(&region.path, region.kind, begins)
    }
}

fn domain(hasher: &RandomState, region: &Region) -> u64 {
    hasher.hash_one(&region.path.domain)
}

/// Of the path, from its end; a name counts once to ncu, where it is first pushed.
fn whole(hasher: &RandomState, region: &Region) -> u64 {
    let names = &region.path.names;
    let first = (0..names.len()).filter(|at| !names[..*at].contains(&names[*at]));
    first.rev().fold(domain(hasher, region), |inner, at| hasher.hash_one((inner, &names[at])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::regions;

    #[test]
    fn only_a_path_that_occurs_deeper_too_is_tied_to_the_outermost_range() {
        let seen = regions(&[
            ("", &["step"], Kind::PushPop),
            ("", &["outer", "step"], Kind::PushPop),
            ("", &["a", "b"], Kind::PushPop),
            ("", &["x", "a", "b"], Kind::PushPop),
            ("", &["own"], Kind::PushPop),
            ("", &["own", "y", "own"], Kind::PushPop),
            ("LLM", &["own"], Kind::PushPop),
            ("", &["x", "se"], Kind::PushPop),
            ("", &["se"], Kind::StartEnd),
        ]);
        let namesakes = Namesakes::of(&seen);
        let include = |path: &str, kind: Kind| {
            let is_it = |region: &&Region| region.path.to_string() == path && region.kind == kind;
            namesakes.include(seen.iter().find(is_it).unwrap()).text
        };
        assert_eq!(include(":step", Kind::PushPop), "[step/");
        assert_eq!(include(":outer/step", Kind::PushPop), "outer/step");
        assert_eq!(include(":a/b", Kind::PushPop), "[a/b");
        assert_eq!(include(":own", Kind::PushPop), "own/", "inside it, it is measured anyway");
        assert_eq!(include("LLM:own", Kind::PushPop), "LLM@own/");
        assert_eq!(include(":se", Kind::StartEnd), "se");
    }

    #[test]
    fn nsys_knows_only_the_name() {
        let seen = regions(&[
            ("", &["step"], Kind::PushPop),
            ("", &["outer", "step"], Kind::PushPop),
            ("", &["x", "step"], Kind::PushPop),
        ]);
        let namesakes = Namesakes::of(&seen);
        let others = seen.iter().map(|region| {
            let other = namesakes.in_nsys(region).map(|(other, more)| (other.path.to_string(), more));
            (region.path.to_string(), other)
        });
        let (step, outer) = (Some((":step".to_owned(), 1)), Some((":outer/step".to_owned(), 1)));
        let expected = [
            (":step", outer),
            (":outer", None),
            (":outer/step", step.clone()),
            (":x", None),
            (":x/step", step),
        ];
        assert_eq!(others.collect::<Vec<_>>(), expected.map(|(path, other)| (path.to_owned(), other)));
    }
}
