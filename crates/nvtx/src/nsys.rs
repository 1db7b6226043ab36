//! The gate of nsys: what `-p` takes with `-c nvtx`.
//!
//! `NAME`, `NAME@DOMAIN` or `NAME@*`; exact, case-sensitive, one gate a capture.
//! There is no glob, no regular expression and no list: such characters are part
//! of the name. `NAME` alone means the default domain, for which there is no name.

use std::fmt;

use crate::seen::RangeSeen;

/// Where versions of nsys differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NsysDialect {
    /// Measured on 2023.4.4: `\@` is an `@` of the name or the domain, and then a
    /// domain must be given (`a\@b@*`); any other use of a backslash but `\\` is
    /// refused; `\\` stays as it is; a second `@` makes a gate that never opens.
    /// On 2022.4.2 a backslash is a character like any other, and all that follows
    /// the first `@` is the domain.
    pub escapes: bool,
}

impl NsysDialect {
    /// 2023.4.4 and later.
    pub const NEWEST: Self = Self { escapes: true };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NsysGate {
    pub name: String,
    pub domain: DomainChoice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DomainChoice {
    Default,
    Named(String),
    Any,
    /// nsys takes the gate, and nothing opens it.
    Never,
}

/// nsys refuses it: exit code 1, and the program is not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NsysGateError {
    NoDomain,
    Empty,
    BadEscape,
}

impl std::error::Error for NsysGateError {}

impl fmt::Display for NsysGateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDomain => {
                write!(f, "no domain follows the `@`; leave out the `@` for the default domain")
            }
            Self::Empty => write!(f, "a gate needs a name"),
            Self::BadEscape => write!(f, "nsys accepts a backslash only before `@` or another backslash"),
        }
    }
}

impl NsysGate {
    pub fn parse(text: &str, dialect: NsysDialect) -> Result<Self, NsysGateError> {
        let gate = if dialect.escapes { Self::escaped(text)? } else { Self::plain(text) };
        match &gate.domain {
            _ if gate.name.is_empty() => Err(NsysGateError::Empty),
            DomainChoice::Named(domain) if domain.is_empty() => Err(NsysGateError::NoDomain),
            _ => Ok(gate),
        }
    }

    fn plain(text: &str) -> Self {
        match text.split_once('@') {
            None => Self { name: text.to_owned(), domain: DomainChoice::Default },
            Some((name, "*")) => Self { name: name.to_owned(), domain: DomainChoice::Any },
            Some((name, domain)) => {
                Self { name: name.to_owned(), domain: DomainChoice::Named(domain.to_owned()) }
            }
        }
    }

    fn escaped(text: &str) -> Result<Self, NsysGateError> {
        let mut parts = vec![String::new()];
        let mut escaped_name = false;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let last = parts.len() - 1;
            match (c, characters.peek()) {
                ('\\', Some('@')) => {
                    escaped_name |= last == 0;
                    parts[last].extend(characters.next());
                }
                ('\\', Some('\\')) => {
                    parts[last].push(c);
                    parts[last].extend(characters.next());
                }
                ('\\', _) => return Err(NsysGateError::BadEscape),
                ('@', _) => parts.push(String::new()),
                (c, _) => parts[last].push(c),
            }
        }
        let mut parts = parts.into_iter();
        let name = parts.next().unwrap_or_default();
        let domain = match (parts.next(), parts.next()) {
            (None, _) if escaped_name => DomainChoice::Never,
            (None, _) => DomainChoice::Default,
            (Some(_), Some(_)) => DomainChoice::Never,
            (Some(domain), None) if domain == "*" => DomainChoice::Any,
            (Some(domain), None) => DomainChoice::Named(domain),
        };
        Ok(Self { name, domain })
    }

    /// Whether this range opens the gate. Names that the program did not register
    /// count only with `NSYS_NVTX_PROFILER_REGISTER_ONLY=0`; wide names never do.
    pub fn opens_for(&self, range: &RangeSeen, register_only_off: bool) -> bool {
        self.names(range) && !range.wide && (range.registered || register_only_off)
    }

    /// Whether it is this range that the gate speaks of.
    pub fn names(&self, range: &RangeSeen) -> bool {
        let domain = match &self.domain {
            DomainChoice::Default => range.domain.is_empty(),
            DomainChoice::Named(domain) => range.domain == *domain,
            DomainChoice::Any => true,
            DomainChoice::Never => false,
        };
        domain && range.name == self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use proptest::prelude::*;

    const OLD: NsysDialect = NsysDialect { escapes: false };
    const NEW: NsysDialect = NsysDialect { escapes: true };

    #[test]
    fn forms() {
        let gate = |name: &str, domain| Ok(NsysGate { name: name.to_owned(), domain });
        assert_eq!(NsysGate::parse("A", OLD), gate("A", DomainChoice::Default));
        assert_eq!(NsysGate::parse("A@LLM", OLD), gate("A", DomainChoice::Named("LLM".to_owned())));
        assert_eq!(NsysGate::parse("A@*", OLD), gate("A", DomainChoice::Any));
        assert_eq!(NsysGate::parse("A@", OLD), Err(NsysGateError::NoDomain));
        assert_eq!(NsysGate::parse("a;b*[0]/ c", OLD), gate("a;b*[0]/ c", DomainChoice::Default));
        assert_eq!(NsysGate::parse(r"a\@b@*", NEW), gate("a@b", DomainChoice::Any));
        assert_eq!(NsysGate::parse(r"a\@b", NEW), gate("a@b", DomainChoice::Never));
        assert_eq!(NsysGate::parse(r"x@a\@b", NEW), gate("x", DomainChoice::Named("a@b".to_owned())));
        assert_eq!(NsysGate::parse("x@a@b", NEW), gate("x", DomainChoice::Never));
        assert_eq!(NsysGate::parse("x@a@b", OLD), gate("x", DomainChoice::Named("a@b".to_owned())));
        assert_eq!(NsysGate::parse(r"a\b", NEW), Err(NsysGateError::BadEscape));
        assert_eq!(NsysGate::parse(r"a\b", OLD), gate(r"a\b", DomainChoice::Default));
        assert_eq!(NsysGate::parse(r"a\@b@*", OLD), gate(r"a\", DomainChoice::Named("b@*".to_owned())));
    }

    #[test]
    fn who_opens_it() {
        let range = |domain: &str, registered, wide| RangeSeen {
            domain: domain.to_owned(),
            name: "A".to_owned(),
            kind: Kind::PushPop,
            registered,
            wide,
        };
        let opens =
            |gate: &str, range: &RangeSeen, off| NsysGate::parse(gate, OLD).unwrap().opens_for(range, off);
        assert!(!opens("A", &range("", false, false), false) && opens("A", &range("", false, false), true));
        assert!(opens("A", &range("", true, false), false));
        assert!(
            !opens("A", &range("LLM", true, false), true) && opens("A@*", &range("LLM", true, false), false)
        );
        assert!(
            !opens("A@llm", &range("LLM", true, false), true)
                && opens("A@LLM", &range("LLM", true, false), false)
        );
        assert!(!opens("a", &range("", true, false), true));
        assert!(!opens("A", &range("", true, true), true), "a wide name never opens a gate");
    }

    /// Every recorded row of nsys 2025.3.1: whether the gate opened.
    #[test]
    fn the_recorded_truth_table() {
        const RANGES: [(&str, &str, bool); 26] = [
            ("", "plain", false),
            ("", "outer", false),
            ("", "mid", false),
            ("", "inner", false),
            ("", "reg_default", true),
            ("LLM", "reg_llm", true),
            ("LLM", "unreg_llm", false),
            ("", "same", false),
            ("LLM", "same", false),
            ("other", "same", false),
            ("", "se", false),
            ("", "sx", false),
            ("", "sy", false),
            ("LLM", "se_llm", false),
            ("", "a/b", false),
            ("", "x@y", false),
            ("", "[z]", false),
            ("", "two words", false),
            ("", "st*ar", false),
            ("", "step0", false),
            ("", "step1", false),
            ("", "Case", false),
            ("", "threaded", false),
            ("", "in_thread", false),
            ("", "nothing", false),
            ("", "outer", false),
        ];
        let mut rows = 0;
        for line in include_str!("../tests/data/nsys-2025.3.1.tsv").lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            let gate = NsysGate::parse(columns[0], NEW).unwrap();
            let opened = RANGES.iter().any(|(domain, name, registered)| {
                let range = RangeSeen {
                    domain: (*domain).to_owned(),
                    name: (*name).to_owned(),
                    kind: Kind::PushPop,
                    registered: *registered,
                    wide: false,
                };
                gate.opens_for(&range, columns[1] == "0")
            });
            assert_eq!(opened, columns[2] == "yes", "{line}");
            rows += 1;
        }
        assert!(rows >= 32, "{rows}");
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,20}", escapes in any::<bool>()) {
            let _ = NsysGate::parse(&text, NsysDialect { escapes });
        }
    }
}
