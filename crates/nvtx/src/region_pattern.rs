//! Patterns in our own notation of gates: `Train step *`, `LLM:decode/layer *`.
//!
//! `*` stands for any text, also for none, as in a glob, and never for more than one name of a path.
//! `\*` is a `*`; `\` takes the meaning from any other character, too. What [`crate::folded`] makes of a name
//! is a pattern that matches it.
//!
//! A text without a `*` is no pattern. Nor is one in a tool's own form, where a `*` means what the tool makes
//! of it: `decode@*` of nsys, `A/*/B` and `regex:` of ncu.

use std::fmt;

use crate::pattern::FOLDED;
use crate::region::RegionPath;

/// What ncu's regular expressions begin with.
pub(crate) const REGEX: &str = "regex:";

/// A name with `*` for any text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamePattern {
    /// What stands between the `*`; at least one.
    pieces: Vec<String>,
}

impl NamePattern {
    /// None where it ends in a single `\`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self::of(&letters(text)?))
    }

    /// Matches this name only.
    pub fn exactly(name: &str) -> Self {
        Self { pieces: vec![name.to_owned()] }
    }

    /// Matches every name.
    pub fn any() -> Self {
        Self { pieces: vec![String::new(); 2] }
    }

    fn of(letters: &[Letter]) -> Self {
        let pieces = letters.split(|letter| *letter == Letter::Special(FOLDED));
        Self { pieces: pieces.map(|piece| piece.iter().map(|letter| letter.text()).collect()).collect() }
    }

    /// The one name that it matches, if it has no `*`.
    pub fn literal(&self) -> Option<&str> {
        if let [only] = self.pieces.as_slice() { Some(only) } else { None }
    }

    pub(crate) fn pieces(&self) -> &[String] {
        &self.pieces
    }

    pub fn matches(&self, name: &str) -> bool {
        let [first, between @ .., last] = self.pieces.as_slice() else {
            return self.literal() == Some(name);
        };
        let Some(rest) = name.strip_prefix(first.as_str()) else { return false };
        let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
        for piece in between {
            let Some(at) = rest.find(piece.as_str()) else { return false };
            rest = &rest[at + piece.len()..];
        }
        true
    }

    /// The same, whether letters are small or capital.
    pub fn matches_in_any_case(&self, name: &str) -> bool {
        let small = Self { pieces: self.pieces.iter().map(|piece| piece.to_ascii_lowercase()).collect() };
        small.matches(&name.to_ascii_lowercase())
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, special: &str) -> fmt::Result {
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                write!(f, "{FOLDED}")?;
            }
            for c in piece.chars() {
                if c == FOLDED || c == '\\' || special.contains(c) {
                    f.write_str("\\")?;
                }
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

/// Which regions are meant by a text with a `*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RegionPattern {
    /// All that end in such a name, at any depth and in any domain.
    Name(NamePattern),
    /// Those of such a path.
    Path { domain: NamePattern, names: Vec<NamePattern> },
}

impl RegionPattern {
    /// None if the text is no pattern.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.contains(FOLDED) || text.starts_with(REGEX) {
            return None;
        }
        let letters = letters(text)?;
        match letters.iter().position(|letter| *letter == Letter::Special(':')) {
            Some(colon) => {
                let names = letters[colon + 1..].split(|letter| *letter == Letter::Special('/'));
                Some(Self::Path {
                    domain: NamePattern::of(&letters[..colon]),
                    names: names.map(NamePattern::of).collect(),
                })
            }
            None if letters.iter().any(|letter| matches!(letter, Letter::Special('/' | '@'))) => None,
            None => Some(Self::Name(NamePattern::of(&letters))),
        }
    }

    /// Whether every `*` in it is a character of a name.
    pub fn is_literal(&self) -> bool {
        let is_literal = |name: &NamePattern| name.literal().is_some();
        match self {
            Self::Name(name) => is_literal(name),
            Self::Path { domain, names } => is_literal(domain) && names.iter().all(is_literal),
        }
    }

    pub fn matches(&self, path: &RegionPath) -> bool {
        match self {
            Self::Name(name) => name.matches(path.name()),
            Self::Path { domain, names } => {
                domain.matches(&path.domain)
                    && names.len() == path.names.len()
                    && names.iter().zip(&path.names).all(|(pattern, name)| pattern.matches(name))
            }
        }
    }

    /// Its names, outermost first.
    pub fn names(&self) -> &[NamePattern] {
        match self {
            Self::Name(name) => std::slice::from_ref(name),
            Self::Path { names, .. } => names,
        }
    }
}

impl fmt::Display for RegionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.write(f, "/:@"),
            Self::Path { domain, names } => {
                // Otherwise it is ncu's form.
                if domain.literal() == REGEX.strip_suffix(':') {
                    f.write_str("\\")?;
                }
                domain.write(f, "/:")?;
                for (at, name) in names.iter().enumerate() {
                    f.write_str(if at == 0 { ":" } else { "/" })?;
                    name.write(f, "/:")?;
                }
                Ok(())
            }
        }
    }
}

/// A character, and whether it may mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letter {
    Plain(char),
    Special(char),
}

impl Letter {
    fn text(self) -> char {
        match self {
            Self::Plain(c) | Self::Special(c) => c,
        }
    }
}

fn letters(text: &str) -> Option<Vec<Letter>> {
    let mut letters = Vec::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        letters.push(match c {
            '\\' => Letter::Plain(characters.next()?),
            c => Letter::Special(c),
        });
    }
    Some(letters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded;
    use proptest::prelude::*;

    #[test]
    fn any_text_or_none() {
        for (pattern, matching, others) in [
            ("Train step *", vec!["Train step 7", "Train step ", "Train step 7/8"], vec!["Train step", "x"]),
            ("*", vec!["", "a", "a*b"], vec![]),
            ("a*b*c", vec!["abc", "a1b2c", "abbcc"], vec!["ab", "acb", "a1b2c3"]),
            ("a*a", vec!["aa", "aba"], vec!["a", "ab"]),
            (r"a\*b", vec!["a*b"], vec!["axb", r"a\*b"]),
            (r"a\\*", vec![r"a\", r"a\b"], vec!["ab"]),
            ("é*ü", vec!["éü", "éxü"], vec!["eü"]),
        ] {
            let pattern = NamePattern::parse(pattern).unwrap();
            assert!(matching.iter().all(|name| pattern.matches(name)), "{pattern:?}");
            assert!(!others.iter().any(|name| pattern.matches(name)), "{pattern:?}");
        }
        assert!(NamePattern::parse("train *").unwrap().matches_in_any_case("Train 7"));
        assert!(!NamePattern::parse("train *").unwrap().matches_in_any_case("Trains 7"));
    }

    #[test]
    fn a_path_has_a_pattern_for_each_name() {
        let pattern = RegionPattern::parse(":Train step */layer *").unwrap();
        assert!(pattern.matches(&RegionPath::new("", ["Train step 7", "layer 11"])));
        assert!(!pattern.matches(&RegionPath::new("LLM", ["Train step 7", "layer 11"])));
        assert!(!pattern.matches(&RegionPath::new("", ["Train step 7"])));
        assert!(!pattern.matches(&RegionPath::new("", ["Train step 7", "x", "layer 11"])));
        let name = RegionPattern::parse("layer *").unwrap();
        assert!(name.matches(&RegionPath::new("LLM", ["Train step 7", "layer 11"])));
        let domain = RegionPattern::parse("LLM*:step").unwrap();
        assert!(domain.matches(&RegionPath::new("LLM2", ["step"])));
        let colon = RegionPattern::parse(r":aten\:\:mm, sizes = *").unwrap();
        assert!(colon.matches(&RegionPath::new("", ["aten::mm, sizes = [1, 2]"])));
    }

    /// They mean what the tool makes of them.
    #[test]
    fn the_tools_own_forms_are_no_patterns() {
        for text in ["step", "decode@*", "A/*/B", "A/*", "step*/", "LLM@step*/", "regex:step.*/", r"step *\"]
        {
            assert_eq!(RegionPattern::parse(text), None, "{text}");
        }
        let literal = RegionPattern::parse(r"step \*").unwrap();
        assert!(literal.is_literal() && literal.matches(&RegionPath::new("", ["step *"])));
    }

    const HOSTILE: &str = "[ab*:/@\\\\é]{0,12}";

    proptest! {
        #[test]
        fn reads_back(text in HOSTILE, regex in any::<bool>()) {
            let text = if regex { format!("\\regex:{text}") } else { text };
            if let Some(pattern) = RegionPattern::parse(&text) {
                let again = RegionPattern::parse(&pattern.to_string());
                prop_assert_eq!(again.as_ref(), Some(&pattern), "{}", pattern);
            }
        }

        /// As the regular expression that says the same.
        #[test]
        fn matches_as_a_regular_expression(text in "[ab*]{0,6}", name in "[ab]{0,8}") {
            let pattern = NamePattern::parse(&text).unwrap();
            let same = regex::Regex::new(&format!("^{}$", text.replace('*', ".*"))).unwrap();
            prop_assert_eq!(pattern.matches(&name), same.is_match(&name), "{} {}", text, name);
        }

        /// What people paste from a report selects what it stands for.
        #[test]
        fn a_folded_path_matches_what_was_folded(
            domain in "[a:/ \\\\]{0,3}", names in proptest::collection::vec("\\PC{0,6}[0-9/:\\\\ x]{1,6}", 1..3),
        ) {
            let path = RegionPath::new(domain, names);
            let shown = path.names.iter().map(|name| folded(name).unwrap_or_else(|| name.clone()));
            let shown = RegionPath::new(path.domain.clone(), shown).to_string();
            if let Some(pattern) = RegionPattern::parse(&shown) {
                prop_assert!(pattern.matches(&path), "{} {}", shown, path);
            }
        }
    }
}
