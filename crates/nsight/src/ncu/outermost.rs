//! The gate that restricts ncu to the program's own ranges if none was named, so that a warm-up outside of
//! them is not measured. It is one expression or none, even if every step of the program has its own name:
//! ncu counts what the gate admits as one sequence (measured, also for several expressions).

use analysis::Region;
use nvtx::{Begins, Kind, is_library, ncu_expression};

use super::open::is_unseen;

/// The most ranges in one expression.
const MOST_NAMED: usize = 16;

/// Outermost regions, and the expression that admits what is launched in any of them.
#[derive(Debug, Default, PartialEq)]
pub struct Outermost<'a> {
    pub regions: Vec<&'a Region>,
    pub include: Option<String>,
}

/// None if there are too many, or one expression cannot describe them.
pub fn outermost(regions: &[Region]) -> Outermost<'_> {
    let is_outer = |region: &&Region| region.path.names.len() == 1 && !is_library(&region.path.domain);
    let outer: Vec<&Region> = regions.iter().filter(is_outer).collect();
    match include_of_any(&outer) {
        Some(include) if outer.len() <= MOST_NAMED => Outermost { regions: outer, include: Some(include) },
        _ => Outermost::default(),
    }
}

fn include_of_any(regions: &[&Region]) -> Option<String> {
    if regions.iter().any(|region| is_unseen(region)) {
        return None;
    }
    let [first, others @ ..] = regions else { return None };
    if others.is_empty() {
        return Some(ncu_expression(&first.path, first.kind, Begins::Anywhere).text);
    }
    let alike = |region: &&&Region| {
        region.kind == Kind::PushPop
            && region.path.domain == first.path.domain
            && is_plain(region.path.name())
    };
    let names: Option<Vec<String>> = regions
        .iter()
        .map(|region| Some(regex::escape(alike(&region).then(|| region.path.name())?)))
        .collect();
    let names = names?.join("|");
    match first.path.domain.as_str() {
        "" => Some(format!("regex:^({names})$/")),
        domain => is_plain(domain).then(|| format!("regex:^{}$@^({names})$/", regex::escape(domain))),
    }
}

/// Whether it has no character that is special to ncu or to its regular expressions.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_ .".contains(letter))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use nvtx::{NcuGate, OpenRanges};

    use crate::seen::regions;

    fn include(ranges: &[(&str, &str, Kind)]) -> Option<String> {
        let ranges: Vec<(&str, Vec<&str>, Kind)> =
            ranges.iter().map(|(domain, name, kind)| (*domain, vec![*name], *kind)).collect();
        let ranges: Vec<(&str, &[&str], Kind)> =
            ranges.iter().map(|(domain, names, kind)| (*domain, names.as_slice(), *kind)).collect();
        outermost(&regions(&ranges)).include
    }

    #[test]
    fn one_expression_lets_in_all_of_them_and_nothing_else() {
        let steps: Vec<String> = (0..12).map(|step| format!("Train step {step}")).collect();
        for (domain, names) in [
            ("", vec!["prefill", "decode"]),
            ("LLM", vec!["prefill", "decode.all"]),
            ("", steps.iter().map(String::as_str).collect()),
        ] {
            let ranges: Vec<_> = names.iter().map(|name| (domain, *name, Kind::PushPop)).collect();
            let gate = NcuGate::parse(&include(&ranges).unwrap()).unwrap();
            let lets_in = |domain: &str, name: &str| {
                let stack =
                    vec![(domain.to_owned(), name.to_owned()), (domain.to_owned(), "in it".to_owned())];
                gate.includes(&OpenRanges { stack, started: Vec::new() })
            };
            assert!(names.iter().all(|name| lets_in(domain, name)), "{names:?}");
            let others = ["Train step 12", "Train step", "prefill 1", "decodexall", "other"];
            assert!(!others.iter().any(|name| lets_in(domain, name)), "{names:?}");
            assert!(!lets_in("elsewhere", names[0]) && !lets_in("LLM2", names[0]));
        }
    }

    #[test]
    fn what_one_expression_cannot_say_is_no_gate() {
        use Kind::{PushPop, StartEnd};
        assert_eq!(include(&[("", "a/b", PushPop)]).as_deref(), Some("a\\/b/"), "one is always possible");
        assert_eq!(include(&[("", "s", StartEnd)]).as_deref(), Some("s"));
        for ranges in [
            [("", "a", PushPop), ("LLM", "b", PushPop)],
            [("", "a", PushPop), ("", "s", StartEnd)],
            [("", "a", PushPop), ("", "b/c", PushPop)],
            [("", "a", PushPop), ("", "b+", PushPop)],
        ] {
            assert_eq!(include(&ranges), None, "{ranges:?}");
        }
        let many: Vec<String> = (0..17).map(|step| format!("step {step}")).collect();
        let many: Vec<_> = many.iter().map(|name| ("", name.as_str(), PushPop)).collect();
        assert_eq!(include(&many), None);
        assert_eq!(include(&[]), None);
    }
}
