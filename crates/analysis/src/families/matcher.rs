//! Which family a kernel is of: the first rule that fits.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Regex, RegexSet, RegexSetBuilder, SetMatches};
use trace::Trace;

use super::bare_name::bare_name;
use super::rules::{Part, Rule, parse};

const RULES: &str = include_str!("rules.txt");
/// Kernels that no rule fits.
pub const OTHER: &str = "other";
/// Kernels that wait for other GPUs; whether they run beside others is told apart.
pub(crate) const COMMUNICATION: &str = "communication";

/// Rules and the families they tell. Letters of either case.
#[derive(Debug, Clone)]
pub struct Families {
    rules: Vec<Matcher>,
    names: RegexSet,
    texts: RegexSet,
    families: Vec<String>,
}

/// A rule, its patterns as places in the set of its part.
#[derive(Debug, Clone)]
struct Matcher {
    family: usize,
    part: Part,
    wanted: usize,
    unwanted: Option<usize>,
}

impl Matcher {
    fn fits(&self, matches: &SetMatches) -> bool {
        matches.matched(self.wanted) && !self.unwanted.is_some_and(|at| matches.matched(at))
    }
}

impl Default for Families {
    fn default() -> Self {
        // Ours are valid, which a test holds. Compiled once: that takes a while.
        static OURS: LazyLock<Families> =
            LazyLock::new(|| Families::with(&[]).unwrap_or_else(|_| Families::none()));
        OURS.clone()
    }
}

impl Families {
    /// Families of one's own, which come before ours: name and regular expression.
    pub fn with(own: &[(String, String)]) -> Result<Self, String> {
        for (name, pattern) in own {
            Regex::new(pattern).map_err(|error| format!("family `{name}`: {error}"))?;
        }
        let own =
            own.iter().map(|(family, wanted)| Rule { family, part: Part::Text, wanted, unwanted: None });
        let rules: Vec<Rule> = own.chain(parse(RULES)?).collect();
        Self::compiled(&rules).map_err(|error| error.to_string())
    }

    fn compiled(rules: &[Rule]) -> Result<Self, regex::Error> {
        let mut families: Vec<String> = Vec::new();
        let (mut names, mut texts) = (Vec::new(), Vec::new());
        let mut matchers = Vec::with_capacity(rules.len());
        for rule in rules {
            let family = families.iter().position(|known| known == rule.family).unwrap_or_else(|| {
                families.push(rule.family.to_owned());
                families.len() - 1
            });
            let patterns = match rule.part {
                Part::Name => &mut names,
                Part::Text => &mut texts,
            };
            let mut place = |pattern| {
                patterns.push(pattern);
                patterns.len() - 1
            };
            let wanted = place(rule.wanted);
            let unwanted = rule.unwanted.map(place);
            matchers.push(Matcher { family, part: rule.part, wanted, unwanted });
        }
        let set = |patterns: Vec<&str>| RegexSetBuilder::new(patterns).case_insensitive(true).build();
        Ok(Self { rules: matchers, names: set(names)?, texts: set(texts)?, families })
    }

    fn none() -> Self {
        Self { rules: Vec::new(), names: RegexSet::empty(), texts: RegexSet::empty(), families: Vec::new() }
    }

    pub(crate) fn index_of(&self, kernel: &str) -> usize {
        let names = self.names.matches(&bare_name(kernel));
        let texts = self.texts.matches(kernel);
        let fits = |rule: &&Matcher| match rule.part {
            Part::Name => rule.fits(&names),
            Part::Text => rule.fits(&texts),
        };
        self.rules.iter().find(fits).map_or(self.families.len(), |rule| rule.family)
    }

    pub(crate) fn name(&self, index: usize) -> &str {
        self.families.get(index).map_or(OTHER, String::as_str)
    }

    /// Which family a kernel belongs to.
    pub fn of(&self, kernel: &str) -> &str {
        self.name(self.index_of(kernel))
    }

    /// By launch. A kernel is launched in many shapes, and its name is looked at once.
    pub(crate) fn indices_of_launches(&self, trace: &Trace) -> Vec<usize> {
        let mut known = HashMap::new();
        let launches = trace.activities.launches.iter();
        launches
            .map(|launch| {
                *known.entry(launch.name).or_insert_with(|| self.index_of(trace.strings.text(launch.name)))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_counts() {
        let rules = parse("a name ^x !y\nb text y\na text z").unwrap();
        let families = Families::compiled(&rules).unwrap();
        for (kernel, family) in [("X", "a"), ("void x<y>", "a"), ("xy", "b"), ("k<Z>", "a"), ("k", "other")] {
            assert_eq!(families.of(kernel), family, "{kernel}");
        }
        assert_eq!(families.index_of("x"), families.index_of("k<z>"));
    }

    #[test]
    fn the_rules_are_whole_and_name_what_the_code_asks_for() {
        let families = Families::with(&[]).unwrap();
        assert!(families.families.iter().any(|family| family == COMMUNICATION));
        assert_eq!(families.of("nothing known"), OTHER);
    }

    #[test]
    fn ones_own_come_first() {
        let own = |name: &str, pattern: &str| Families::with(&[(name.to_owned(), pattern.to_owned())]);
        let families = own("mine", "^my_").unwrap();
        assert_eq!(families.of("my_gemm(float*)"), "mine");
        assert_eq!(families.of("gemm(float*)"), "gemm");
        assert_eq!(own("gemm", "^my_").unwrap().of("my_kernel"), "gemm");
        assert!(own("bad", "(").unwrap_err().starts_with("family `bad`: "));
    }
}
