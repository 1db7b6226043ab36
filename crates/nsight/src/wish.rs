//! What a user means by a gate, compared with the regions that exist.

use analysis::Region;
use nvtx::{NamePattern, NcuGate, RegionPath, RegionPattern};

use crate::ncu::open::{is_unseen, open};

/// One part of a gate and the regions it can mean.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    pub text: String,
    pub reading: Reading,
    pub regions: Vec<&'a Region>,
}

/// What the text of a part was taken for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// A name, at any depth.
    Name,
    /// The path of one region.
    Path,
    /// All that a pattern matches; also ranges that no rehearsal has seen.
    Pattern(RegionPattern),
    /// What ncu makes of its own form: `A/*/B`, `regex:^A`.
    Ncu,
}

impl Wanted<'_> {
    pub fn pattern(&self) -> Option<&RegionPattern> {
        if let Reading::Pattern(pattern) = &self.reading { Some(pattern) } else { None }
    }

    /// Says that it matches nothing.
    pub fn absent(&self) -> String {
        match self.reading {
            Reading::Pattern(_) => format!("no range matches `{}`", self.text),
            Reading::Name | Reading::Path | Reading::Ncu => format!("no range named `{}`", self.text),
        }
    }

    /// Its `*` is part of the name of a range, and is taken for that.
    pub fn is_star_of_a_name(&self) -> bool {
        pattern_in(&self.text).is_some() && self.pattern().is_none()
    }
}

const MOST_LISTED: usize = 8;

/// A gate is one or several names separated by `;`. Each may be a name or a region path (`LLM:decode/step`),
/// both with `*` for any text, or a tool's own form: `decode@LLM`, `LLM@decode/`, `decode/step`.
/// What exists as it is written comes first: a name may itself contain a `;` or a `*`.
pub fn wanted<'a>(wish: &str, regions: &'a [Region]) -> Vec<Wanted<'a>> {
    let exact: Vec<&Region> = regions.iter().filter(|region| region.path.name() == wish).collect();
    if !exact.is_empty() {
        return vec![Wanted { text: wish.to_owned(), reading: Reading::Name, regions: exact }];
    }
    parts(wish).map(|part| meant(part, regions)).collect()
}

/// The patterns in a gate, if nothing is known about the regions.
pub fn patterns(wish: &str) -> Vec<RegionPattern> {
    parts(wish).filter_map(pattern_in).collect()
}

/// The pattern that a part is, unless each of its `*` is escaped.
pub(crate) fn pattern_in(part: &str) -> Option<RegionPattern> {
    RegionPattern::parse(part).filter(|pattern| !pattern.is_literal())
}

pub(crate) fn parts(wish: &str) -> impl Iterator<Item = &str> {
    wish.split(';').map(str::trim).filter(|part| !part.is_empty())
}

/// The first few candidates.
pub fn listed(regions: &[Region]) -> String {
    let mut paths: Vec<String> =
        regions.iter().take(MOST_LISTED).map(|region| region.path.to_string()).collect();
    if regions.len() > MOST_LISTED {
        paths.push("\u{2026}".to_owned());
    }
    paths.join(", ")
}

fn meant<'a>(text: &str, regions: &'a [Region]) -> Wanted<'a> {
    let all = |test: &dyn Fn(&Region) -> bool| -> Vec<&'a Region> {
        regions.iter().filter(|region| test(region)).collect()
    };
    let wanted =
        |reading: Reading, regions: Vec<&'a Region>| Wanted { text: text.to_owned(), reading, regions };
    let by_name = all(&|region| region.path.name() == text);
    if !by_name.is_empty() {
        return wanted(Reading::Name, by_name);
    }
    if let Ok(path) = text.parse::<RegionPath>() {
        let by_path = all(&|region| region.path == path);
        if !by_path.is_empty() {
            return wanted(Reading::Path, by_path);
        }
    }
    if let Some(pattern) = RegionPattern::parse(text) {
        let matching = all(&|region| pattern.matches(&region.path));
        let reading = if pattern.is_literal() { Reading::Name } else { Reading::Pattern(pattern) };
        return wanted(reading, matching);
    }
    let named = |name: &str| all(&|region| region.path.name() == name);
    let in_domain =
        |domain: &str, name: &str| all(&|region| region.path.domain == domain && region.path.name() == name);
    let mut names = Vec::new();
    if let Some((left, right)) = text.split_once('@') {
        names.push(if right == "*" { named(left) } else { in_domain(right, left) });
        names.push(in_domain(left, right.trim_end_matches('/')));
    } else {
        names.push(named(text.trim_end_matches('/')));
        let unescaped = NamePattern::parse(text).filter(|_| text.contains('\\'));
        names.extend(unescaped.and_then(|name| name.literal().map(named)));
    }
    if let Some(found) = names.into_iter().find(|found| !found.is_empty()) {
        return wanted(Reading::Name, found);
    }
    let by_ncu = NcuGate::parse(text).map(|gate| all(&|region| admits(&gate, region))).unwrap_or_default();
    wanted(if by_ncu.is_empty() { Reading::Name } else { Reading::Ncu }, by_ncu)
}

/// Whether a gate of ncu lets in what is launched in a region, but not all that is launched around it.
fn admits(gate: &NcuGate, region: &Region) -> bool {
    let names = &region.path.names;
    let includes = |names: &[String]| gate.includes(&open(region, names));
    !is_unseen(region) && includes(names) && !includes(&names[..names.len().saturating_sub(1)])
}

#[cfg(test)]
mod tests {
    use nvtx::Kind;

    use super::*;
    use crate::seen::regions;

    /// The regions that a gate means, by path.
    fn found(gate: &str, seen: &[Region]) -> Vec<String> {
        wanted(gate, seen)
            .iter()
            .flat_map(|part| part.regions.iter().map(|region| region.path.to_string()))
            .collect()
    }

    #[test]
    fn forms_of_ncu_mean_what_ncu_makes_of_them() {
        let seen = regions(&[
            ("", &["outer", "prefill", "step 1"], Kind::PushPop),
            ("", &["prefill", "step 1", "fwd"], Kind::PushPop),
            ("", &["decode", "step 1"], Kind::PushPop),
            ("LLM", &["decode", "step 2"], Kind::PushPop),
            ("", &["a/b"], Kind::PushPop),
        ]);
        let both = [":outer/prefill/step 1", ":prefill/step 1"];
        assert_eq!(found("prefill/step 1", &seen), both);
        assert_eq!(found("outer/*/step 1", &seen), [":outer/prefill/step 1"]);
        assert_eq!(found("[prefill/step 1", &seen), [":prefill/step 1"]);
        assert_eq!(found("regex:^pre.*$/^step", &seen), both);
        assert_eq!(found("LLM@decode/step 2", &seen), ["LLM:decode/step 2"]);
        assert_eq!(found("decode/*", &seen), [":decode"]);
        assert_eq!(found("decode/step 2", &seen), [""; 0]);
        assert_eq!(found("prefill/step *", &seen), [""; 0], "no pattern of ours");
        assert_eq!(found(r"a\/b", &seen), [r":a\/b"]);
        assert_eq!(found(r"a\/b/", &seen), [r":a\/b"]);
    }
}
