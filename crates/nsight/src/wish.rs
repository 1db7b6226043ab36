//! What a user means by a gate, compared with the regions that exist.

use analysis::Region;

/// One part of a gate and the regions it can mean.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    pub text: String,
    pub regions: Vec<&'a Region>,
}

const MOST_LISTED: usize = 8;

/// A gate is one or several names separated by `;`. Each may be a name, a region path
/// (`LLM:decode/step`, `decode/step`), or a tool's own form: `decode@LLM`, `LLM@decode/`, `decode/`.
pub fn wanted<'a>(wish: &str, regions: &'a [Region]) -> Vec<Wanted<'a>> {
    let exact = |text: &str| -> Vec<&'a Region> {
        regions.iter().filter(|region| region.path.name() == text).collect()
    };
    // A name may itself contain a semicolon.
    if !exact(wish).is_empty() {
        return vec![Wanted { text: wish.to_owned(), regions: exact(wish) }];
    }
    let parts = wish.split(';').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| Wanted { text: part.to_owned(), regions: meant(part, regions) }).collect()
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

fn meant<'a>(text: &str, regions: &'a [Region]) -> Vec<&'a Region> {
    let all = |test: &dyn Fn(&Region) -> bool| -> Vec<&'a Region> {
        regions.iter().filter(|region| test(region)).collect()
    };
    let by_name = all(&|region| region.path.name() == text);
    if !by_name.is_empty() {
        return by_name;
    }
    if let Ok(path) = text.parse::<nvtx::RegionPath>() {
        let by_path = all(&|region| region.path == path);
        if !by_path.is_empty() {
            return by_path;
        }
    }
    // A path in the default domain, typed without its colon.
    if text.contains('/')
        && let Ok(path) = format!(":{text}").parse::<nvtx::RegionPath>()
    {
        let by_path = all(&|region| region.path == path);
        if !by_path.is_empty() {
            return by_path;
        }
    }
    if let Some((left, right)) = text.split_once('@') {
        let in_domain = |domain: &str, name: &str| {
            all(&|region| region.path.domain == domain && region.path.name() == name)
        };
        let nsys_order =
            if right == "*" { all(&|region| region.path.name() == left) } else { in_domain(right, left) };
        let ncu_order = in_domain(left, right.trim_end_matches('/'));
        return if nsys_order.is_empty() { ncu_order } else { nsys_order };
    }
    let stem = text.trim_end_matches('/');
    all(&|region| region.path.name() == stem)
}
