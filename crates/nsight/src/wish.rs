//! What a user means by a gate, compared with the regions that exist.

use analysis::Region;
use nvtx::{RegionPath, RegionPattern};

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
}

impl Wanted<'_> {
    pub fn pattern(&self) -> Option<&RegionPattern> {
        if let Reading::Pattern(pattern) = &self.reading { Some(pattern) } else { None }
    }

    /// Says that it matches nothing.
    pub fn absent(&self) -> String {
        match self.reading {
            Reading::Pattern(_) => format!("no range matches `{}`", self.text),
            Reading::Name | Reading::Path => format!("no range named `{}`", self.text),
        }
    }

    /// Its `*` is part of the name of a range, and is taken for that.
    pub fn is_star_of_a_name(&self) -> bool {
        pattern_in(&self.text).is_some() && self.pattern().is_none()
    }
}

const MOST_LISTED: usize = 8;

/// A gate is one or several names separated by `;`. Each may be a name or a region path (`LLM:decode/step`,
/// `decode/step`), both with `*` for any text, or a tool's own form: `decode@LLM`, `LLM@decode/`, `decode/`.
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
    // A path in the default domain may be typed without its colon.
    let without_colon = text.contains('/').then(|| format!(":{text}"));
    for path in [Some(text.to_owned()), without_colon].into_iter().flatten() {
        let Ok(path) = path.parse::<RegionPath>() else { continue };
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
    if let Some((left, right)) = text.split_once('@') {
        let in_domain = |domain: &str, name: &str| {
            all(&|region| region.path.domain == domain && region.path.name() == name)
        };
        let nsys_order =
            if right == "*" { all(&|region| region.path.name() == left) } else { in_domain(right, left) };
        let ncu_order = in_domain(left, right.trim_end_matches('/'));
        return wanted(Reading::Name, if nsys_order.is_empty() { ncu_order } else { nsys_order });
    }
    let stem = text.trim_end_matches('/');
    wanted(Reading::Name, all(&|region| region.path.name() == stem))
}
