//! Why a gate matches nothing.

use std::fmt;

use record::Cause;

/// Why a gate matches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateProblem {
    NoSuchName {
        nearest: Vec<String>,
    },
    NoSuchPath {
        nearest: Vec<String>,
    },
    OtherDomain {
        name: String,
        domains: Vec<String>,
    },
    /// ncu: without a slash a start/end range is meant.
    IsPushPop {
        path: String,
    },
    /// ncu: with a slash a push/pop range is meant.
    IsStartEnd {
        path: String,
    },
    /// ncu: the name has characters that mean something to it.
    Syntax,
    /// ncu: `A,B`, but the two are never open at the same time.
    NeverAtOnce,
    /// ncu: `A,B`, but one of them is no start/end range.
    NotStarted {
        name: String,
        is_push_pop: bool,
    },
    /// A pattern that matches no range.
    NoMatch,
    /// A `*` in a tool's own form, where it is no pattern.
    StarInForm {
        /// The same text as a path in our notation, where it can be one.
        path: Option<String>,
    },
    Unregistered {
        name: String,
    },
    Wide {
        name: String,
    },
    /// ncu: a wide string that is not registered.
    Unseen {
        name: String,
    },
    /// A list that the tool reads as one name.
    List {
        parts: Vec<String>,
    },
    /// nsys: a list with commas, read as one name.
    Comma,
    /// ncu: an expression that contains `;` matches nothing.
    Semicolon,
    /// nsys: a pattern, read as one name.
    Glob,
    /// ncu: a pattern without `regex:`, read as one name.
    GlobWithoutRegex,
    /// ncu: a regular expression for start/end ranges that matches push/pop ranges with a slash.
    RegexWithoutSlash {
        with_slash: String,
    },
    NoSuchDomain {
        domain: String,
        name: String,
        domains: Vec<String>,
    },
    /// nsys: a path.
    Path,
    /// A name in our syntax, or in the other tool's.
    Notation,
    /// Opened only where the tool does not look.
    ForkedOnly {
        name: String,
    },
    Refused {
        why: String,
    },
}

impl GateProblem {
    /// Why a capture by nsys with such a gate fails.
    pub fn nsys_cause(&self) -> Cause {
        match self {
            Self::NoSuchName { .. } | Self::NoSuchPath { .. } | Self::NoMatch => Cause::NoSuchRange,
            Self::OtherDomain { .. } | Self::NoSuchDomain { .. } => Cause::WrongDomain,
            Self::Unregistered { .. } => Cause::UnregisteredString,
            Self::Refused { .. } => Cause::Refused,
            Self::List { .. }
            | Self::Semicolon
            | Self::Comma
            | Self::Glob
            | Self::GlobWithoutRegex
            | Self::RegexWithoutSlash { .. }
            | Self::Path
            | Self::Notation
            | Self::Syntax
            | Self::IsPushPop { .. }
            | Self::IsStartEnd { .. }
            | Self::NeverAtOnce
            | Self::NotStarted { .. }
            | Self::StarInForm { .. }
            | Self::Wide { .. }
            | Self::Unseen { .. }
            | Self::ForkedOnly { .. } => Cause::GateCannotOpen,
        }
    }
}

/// What ncu makes of `A,B`.
const WITH_A_COMMA: &str = "with a comma it means start/end ranges that are open at the same time";

impl fmt::Display for GateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted =
            |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let places = |domains: &[String]| match domains {
            [domain] if domain.is_empty() => "the default domain".to_owned(),
            domains => format!("domain {}", quoted(domains)),
        };
        let near = |nearest: &[String]| match nearest {
            [] => String::new(),
            nearest => format!(" (nearest: {})", quoted(nearest)),
        };
        match self {
            Self::NoSuchName { nearest } => write!(f, "no range has this name{}", near(nearest)),
            Self::NoSuchPath { nearest } => write!(f, "no range has this path{}", near(nearest)),
            Self::OtherDomain { name, domains } => write!(f, "`{name}` exists only in {}", places(domains)),
            Self::NoSuchDomain { domain, name, domains } => {
                write!(f, "there is no domain `{domain}`; `{name}` exists in {}", places(domains))
            }
            Self::IsPushPop { path } => {
                write!(f, "without a slash it means a start/end range, but `{path}` is push/pop")
            }
            Self::IsStartEnd { path } => {
                write!(f, "with a slash it means a push/pop range, but `{path}` is start/end")
            }
            Self::Syntax => {
                write!(
                    f,
                    "ncu reads `,`, `/`, `[` and `]` as syntax; in a name, each needs a backslash before it"
                )
            }
            Self::NeverAtOnce => write!(f, "{WITH_A_COMMA}, but these never are"),
            Self::NotStarted { name, is_push_pop: true } => {
                write!(f, "{WITH_A_COMMA}, but `{name}` is push/pop; separate a list with `;`")
            }
            Self::NotStarted { name, is_push_pop: false } => {
                write!(f, "{WITH_A_COMMA}, but no start/end range is named `{name}`")
            }
            Self::NoMatch => write!(f, "no range matches this pattern"),
            Self::StarInForm { path: Some(path) } => {
                write!(f, "`*` is no pattern in this form; a path begins with its domain: `{path}`")
            }
            Self::StarInForm { path: None } => {
                write!(f, "`*` is no pattern in this form; use a name or a path: `step *`, `DOMAIN:step *`")
            }
            Self::Unregistered { name } => {
                write!(f, "`{name}` is not a registered string, and nsys looks only at those by default")
            }
            Self::Wide { name } => write!(f, "`{name}` is a wide string, which never opens an nsys gate"),
            Self::Unseen { name } => {
                write!(f, "`{name}` is a wide string, which ncu sees only if it is registered")
            }
            Self::List { parts } => {
                write!(f, "the tool reads this as one name, not as a list ({} were meant)", quoted(parts))
            }
            Self::Semicolon => {
                write!(f, "ncu matches nothing if the expression contains `;`, not even a name with one")
            }
            Self::Comma => write!(f, "nsys reads `,` as part of the name; separate a list with `;`"),
            Self::Notation => write!(f, "this tool uses a different syntax"),
            Self::Path => write!(f, "nsys selects ranges by name, not by path"),
            Self::Glob => write!(f, "nsys reads `*` literally"),
            Self::GlobWithoutRegex => {
                write!(f, "ncu reads `*` in a name literally; a pattern starts with `regex:`")
            }
            Self::RegexWithoutSlash { with_slash } => {
                write!(f, "without a slash it means start/end ranges; use `{with_slash}`")
            }
            Self::ForkedOnly { name } => {
                write!(f, "`{name}` is opened only in a forked child, which nsys does not follow")
            }
            Self::Refused { why } => write!(f, "the tool rejects the expression: {why}"),
        }
    }
}
