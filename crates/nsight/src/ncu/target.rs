//! What is measured as one: a region, or all regions that a pattern matches. The steps of a loop whose names
//! are numbered are one target, as they would be one region without the numbers.

use std::collections::BTreeSet;

use analysis::Region;
use nvtx::{Begins, Kind, NamePattern, NcuGate, RegionPath, RegionPattern, ncu_pattern};

use super::open::{is_unseen, lets_in};
use crate::namesakes::Namesakes;
use crate::wish::{Wanted, parts, pattern_in, patterns};

#[derive(Debug, Clone)]
pub struct Target {
    /// As it is shown: the region's path, or the pattern.
    pub name: String,
    pub regions: Vec<Region>,
    pattern: Option<RegionPattern>,
}

impl Target {
    /// Those of one part of a gate.
    pub fn of(wanted: &Wanted<'_>) -> Vec<Self> {
        match wanted.pattern() {
            None => wanted.regions.iter().map(|region| Self::region(region)).collect(),
            Some(_) if wanted.regions.is_empty() => Vec::new(),
            Some(pattern) => vec![Self {
                name: pattern.to_string(),
                regions: wanted.regions.iter().copied().cloned().collect(),
                pattern: Some(pattern.clone()),
            }],
        }
    }

    pub fn region(region: &Region) -> Self {
        Self { name: region.path.to_string(), regions: vec![region.clone()], pattern: None }
    }

    /// Whether the same was named twice.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self
                .regions
                .iter()
                .map(|region| region.kind)
                .eq(other.regions.iter().map(|region| region.kind))
    }

    /// Its regions, each as a target, if they are ever inside each other.
    pub fn apart(&self) -> Vec<Self> {
        let contains = |outer: &Region, inner: &Region| {
            outer.path.domain == inner.path.domain
                && inner.path.names.len() > outer.path.names.len()
                && inner.path.names.starts_with(&outer.path.names)
        };
        let are_nested = self
            .regions
            .iter()
            .any(|inner| self.regions.iter().any(|outer| outer.kind != inner.kind || contains(outer, inner)));
        match are_nested {
            true => self.regions.iter().map(Self::region).collect(),
            false => vec![self.clone()],
        }
    }

    pub fn instances(&self) -> u64 {
        self.regions.iter().map(|region| region.instances).sum()
    }

    /// What `--nvtx-include` takes: each text lets in some of it, and nothing else of all regions if ncu
    /// can tell them apart.
    pub fn includes(&self, all: &[Region]) -> BTreeSet<String> {
        let namesakes = Namesakes::of(all);
        let seen = || self.regions.iter().filter(|region| !is_unseen(region));
        let include_of = |region: &Region| namesakes.include(region).text;
        let Some(pattern) = &self.pattern else { return seen().map(include_of).collect() };
        let texts = |begins: Begins| -> BTreeSet<String> {
            let domain = |region: &Region| NamePattern::exactly(&region.path.domain);
            seen().map(|region| ncu_pattern(&domain(region), pattern.names(), region.kind, begins)).collect()
        };
        let gates = |texts: &BTreeSet<String>| -> Vec<NcuGate> {
            texts.iter().filter_map(|text| NcuGate::parse(text).ok()).collect()
        };
        let mut includes = texts(Begins::Anywhere);
        let anywhere = gates(&includes);
        let is_too_much = |region: &Region| {
            !is_inside(pattern, region) && anywhere.iter().any(|gate| lets_in(gate, region))
        };
        if matches!(pattern, RegionPattern::Path { .. }) && all.iter().any(is_too_much) {
            includes = texts(Begins::Outermost);
        }
        let gates = gates(&includes);
        // ncu counts nested ranges of one name only once, and may miss a path.
        let missed = seen().filter(|region| !gates.iter().any(|gate| lets_in(gate, region)));
        let missed: Vec<String> = missed.map(include_of).collect();
        includes.extend(missed);
        includes
    }
}

/// Whether a pattern matches this region or one around it.
fn is_inside(pattern: &RegionPattern, region: &Region) -> bool {
    let RegionPath { domain, names } = &region.path;
    (1..=names.len()).any(|count| pattern.matches(&RegionPath::new(domain.clone(), names[..count].to_vec())))
}

/// What `--nvtx-include` takes for a gate if nothing is known about the program: the text as typed, but
/// patterns in ncu's own form, for ranges of both kinds.
pub fn unchecked_includes(wish: &str) -> Vec<String> {
    if patterns(wish).is_empty() {
        return vec![wish.to_owned()];
    }
    let includes = parts(wish).flat_map(|part| match pattern_in(part) {
        None => vec![part.to_owned()],
        Some(pattern) => {
            let (domain, begins) = match &pattern {
                RegionPattern::Path { domain, .. } => (domain.clone(), Begins::Outermost),
                RegionPattern::Name(_) => (NamePattern::any(), Begins::Anywhere),
            };
            let include = |kind: Kind| ncu_pattern(&domain, pattern.names(), kind, begins);
            [Kind::PushPop, Kind::StartEnd].map(include).to_vec()
        }
    });
    includes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::regions;
    use crate::wish::wanted;

    fn targets(wish: &str, seen: &[Region]) -> Vec<Target> {
        wanted(wish, seen).iter().flat_map(Target::of).collect()
    }

    fn includes(wish: &str, seen: &[Region]) -> Vec<String> {
        targets(wish, seen).iter().flat_map(|target| target.includes(seen)).collect()
    }

    #[test]
    fn one_expression_for_each_domain_and_kind() {
        let seen = regions(&[
            ("", &["step 1"], Kind::PushPop),
            ("", &["step 2", "fwd"], Kind::PushPop),
            ("LLM", &["step 3"], Kind::PushPop),
            ("", &["step 4"], Kind::StartEnd),
        ]);
        let all = ["regex:^LLM$@^step .*$/", "regex:^step .*$", "regex:^step .*$/"];
        assert_eq!(includes("step *", &seen), all);
        assert_eq!(includes(":step */f*", &seen), ["regex:^step .*$/^f.*$"]);
        assert_eq!(includes("LLM:*", &seen), ["regex:^LLM$@^.*$/"]);
        assert_eq!(includes("other *", &seen), [""; 0]);
    }

    #[test]
    fn a_path_is_tied_to_the_outermost_range_if_it_occurs_deeper_too() {
        let seen = regions(&[
            ("", &["step 1"], Kind::PushPop),
            ("", &["step 2", "step 3"], Kind::PushPop),
            ("", &["outer", "step 4", "fwd"], Kind::PushPop),
        ]);
        assert_eq!(includes(":step *", &seen), ["regex:[^step .*$/"]);
        assert_eq!(includes("step *", &seen), ["regex:^step .*$/"]);
        assert_eq!(includes(":step */*", &seen), ["regex:[^step .*$/^.*$"]);
        assert_eq!(includes(":outer/step *", &seen), ["regex:^outer$/^step .*$"]);
        assert_eq!(includes(":step *", &seen[..0]), [""; 0]);
    }

    /// Measured: ncu counts nested ranges of one name once, so `^A.*$/^A.*$` is not inside `A1`, `A1`.
    #[test]
    fn what_an_expression_misses_is_named() {
        let seen = regions(&[("", &["A1", "A1"], Kind::PushPop), ("", &["A1", "A2"], Kind::PushPop)]);
        assert_eq!(includes(":A*/A*", &seen), ["A1/", "regex:^A.*$/^A.*$"]);
    }

    #[test]
    fn regions_inside_each_other_are_apart() {
        let seen = regions(&[("", &["a1", "a2"], Kind::PushPop), ("", &["a3"], Kind::PushPop)]);
        let names = |wish: &str| -> Vec<String> {
            let apart = targets(wish, &seen).iter().flat_map(Target::apart).collect::<Vec<_>>();
            apart.into_iter().map(|target| target.name).collect()
        };
        assert_eq!(names("a*"), [":a1", ":a1/a2", ":a3"]);
        assert_eq!(names(":a*"), [":a*"]);
    }

    #[test]
    fn without_a_rehearsal() {
        assert_eq!(unchecked_includes("A/*/B"), ["A/*/B"]);
        assert_eq!(unchecked_includes("a;b"), ["a;b"]);
        assert_eq!(
            unchecked_includes("load/; step *"),
            ["load/", "regex:^.*$@^step .*$/", "regex:^.*$@^step .*$"]
        );
        assert_eq!(unchecked_includes(":step *"), ["regex:[^step .*$/", "regex:^step .*$"]);
    }
}
