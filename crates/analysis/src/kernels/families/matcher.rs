//! Which family a kernel belongs to: the first rule that matches.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};
use trace::Trace;

use super::bare_name::bare_name;
use super::family::Family;
use super::rules::{Part, Rule, parse};

const RULES: &str = include_str!("rules.txt");

/// Rules and their families. Case does not matter.
///
/// Rules are tried one after the other: most names match one of the first, and a set of all
/// patterns, which share words and overlap, was twenty times as slow.
#[derive(Debug, Clone)]
pub struct Families {
    rules: Vec<Matcher>,
    families: Vec<Family>,
}

/// A rule for lowercase names.
#[derive(Debug, Clone)]
struct Matcher {
    family: usize,
    part: Part,
    wanted: Regex,
    unwanted: Option<Regex>,
}

impl Matcher {
    fn fits(&self, text: &[u8]) -> bool {
        self.wanted.is_match(text) && !self.unwanted.as_ref().is_some_and(|unwanted| unwanted.is_match(text))
    }
}

impl Default for Families {
    /// Ours.
    fn default() -> Self {
        // Compiled once: that takes a while. They are valid, which a test holds.
        static OURS: LazyLock<Families> =
            LazyLock::new(|| Families::ours().unwrap_or_else(|_| Families::none()));
        OURS.clone()
    }
}

impl Families {
    /// The user's families, which come before ours: name and regular expression.
    pub fn with(own: &[(String, String)]) -> Result<Self, String> {
        let mut families = Self::none();
        for (family, wanted) in own {
            let rule = Rule { family, part: Part::Text, wanted, unwanted: None };
            families.add(&rule, |pattern| RegexBuilder::new(pattern).case_insensitive(true).build())?;
        }
        families.append(Self::default());
        Ok(families)
    }

    fn none() -> Self {
        Self { rules: Vec::new(), families: Vec::new() }
    }

    fn ours() -> Result<Self, String> {
        Self::of_rules(&parse(RULES)?)
    }

    fn of_rules(rules: &[Rule]) -> Result<Self, String> {
        let mut families = Self::none();
        for rule in rules {
            // Names are letters and digits as C++ has them.
            families.add(rule, |pattern| RegexBuilder::new(pattern).unicode(false).build())?;
        }
        Ok(families)
    }

    fn add(
        &mut self,
        rule: &Rule,
        compile: impl Fn(&str) -> Result<Regex, regex::Error>,
    ) -> Result<(), String> {
        let compiled =
            |pattern| compile(pattern).map_err(|error| format!("family `{}`: {error}", rule.family));
        let (wanted, unwanted) = (compiled(rule.wanted)?, rule.unwanted.map(compiled).transpose()?);
        let family = self.number(rule.family);
        self.rules.push(Matcher { family, part: rule.part, wanted, unwanted });
        Ok(())
    }

    fn append(&mut self, others: Self) {
        for rule in others.rules {
            let family = self.number(others.families[rule.family].as_str());
            self.rules.push(Matcher { family, ..rule });
        }
    }

    fn number(&mut self, family: &str) -> usize {
        self.families.iter().position(|known| known.as_str() == family).unwrap_or_else(|| {
            self.families.push(Family::named(family));
            self.families.len() - 1
        })
    }

    /// The number of a kernel's family.
    fn number_of(&self, kernel: &str) -> usize {
        // The user's patterns ignore case, ours are lowercase.
        let name = bare_name(kernel).to_ascii_lowercase();
        let text = kernel.to_ascii_lowercase();
        let fits = |rule: &&Matcher| match rule.part {
            Part::Name => rule.fits(name.as_bytes()),
            Part::Text => rule.fits(text.as_bytes()),
        };
        self.rules.iter().find(fits).map_or(self.families.len(), |rule| rule.family)
    }

    pub fn family(&self, number: usize) -> &Family {
        self.families.get(number).unwrap_or(&Family::Other)
    }

    /// Which family a kernel belongs to.
    pub fn family_of(&self, kernel: &str) -> &Family {
        self.family(self.number_of(kernel))
    }

    /// By launch: the number of its family. A kernel is launched in many shapes, and its name is looked at once.
    pub fn numbers_of_launches(&self, trace: &Trace) -> Vec<usize> {
        let mut known = HashMap::new();
        let launches = trace.activities.launches.iter();
        launches
            .map(|launch| {
                *known.entry(launch.name).or_insert_with(|| self.number_of(trace.strings.text(launch.name)))
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
        let families = Families::of_rules(&rules).unwrap();
        for (kernel, family) in [("X", "a"), ("void x<y>", "a"), ("xy", "b"), ("k<Z>", "a"), ("k", "other")] {
            assert_eq!(families.family_of(kernel).as_str(), family, "{kernel}");
        }
        assert_eq!(families.number_of("x"), families.number_of("k<z>"));
    }

    #[test]
    fn the_rules_are_whole_and_name_what_the_code_asks_for() {
        let families = Families::ours().unwrap();
        for rule in parse(RULES).unwrap() {
            let patterns = [Some(rule.wanted), rule.unwanted].into_iter().flatten();
            let large = patterns.flat_map(str::chars).find(char::is_ascii_uppercase);
            assert_eq!(large, None, "names are looked at in small letters: {rule:?}");
        }
        assert!(families.families.contains(&Family::Communication));
        assert_eq!(*families.family_of("nothing known"), Family::Other);
    }

    #[test]
    fn ones_own_come_first() {
        let own = |name: &str, pattern: &str| Families::with(&[(name.to_owned(), pattern.to_owned())]);
        let families = own("mine", "^my_").unwrap();
        assert_eq!(families.family_of("my_gemm(float*)").as_str(), "mine");
        assert_eq!(families.family_of("gemm(float*)").as_str(), "gemm");
        assert_eq!(own("gemm", "^my_").unwrap().family_of("my_kernel").as_str(), "gemm");
        assert_eq!(own("mine", "^My_K").unwrap().family_of("mY_kernel").as_str(), "mine");
        assert!(own("bad", "(").unwrap_err().starts_with("family `bad`: "));
    }
}
