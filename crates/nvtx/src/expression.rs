//! The expression that makes a tool record one region.

use crate::kind::Kind;
use crate::nsys::{DomainChoice, NsysDialect, NsysGate};
use crate::region::RegionPath;
use crate::region_pattern::{NamePattern, REGEX};

/// What `nsys profile -c nvtx -p …` takes for a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NsysExpression {
    /// The argument of `-p`.
    Gate(String),
    /// nsys has no way to say it, and why.
    None(&'static str),
}

/// The gate for the innermost name of a region: nsys knows no nesting, so every
/// range of that name in that domain opens it.
pub fn nsys_expression(path: &RegionPath, wide: bool, dialect: NsysDialect) -> NsysExpression {
    let name = path.name();
    if wide {
        return NsysExpression::None("its name is a wide string, which never opens a gate of nsys");
    }
    if name.contains('@') || path.domain.contains('@') {
        return NsysExpression::None("its name contains an `@`, which nsys reads as the start of a domain");
    }
    if name.is_empty() {
        return NsysExpression::None("it has no name");
    }
    let (gate, domain) = match path.domain.as_str() {
        "" => (name.to_owned(), DomainChoice::Default),
        domain => (format!("{name}@{domain}"), DomainChoice::Named(domain.to_owned())),
    };
    // A backslash is an escape to some versions, and `*` is not a domain name.
    match NsysGate::parse(&gate, dialect) {
        Ok(read) if read.name == name && read.domain == domain => NsysExpression::Gate(gate),
        _ => NsysExpression::None("nsys does not take its `\\` or `*` literally"),
    }
}

/// What `ncu --nvtx-include …` takes for a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NcuInclude {
    pub text: String,
    /// Why it selects more than the region, where it does.
    pub note: Option<&'static str>,
}

/// Where the stack that an expression describes may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// Also inside other ranges.
    Anywhere,
    /// Outside all other ranges of the domain. Start/end ranges have no nesting, so it means nothing for them.
    Outermost,
}

/// The expression that selects a region.
pub fn ncu_expression(path: &RegionPath, kind: Kind, begins: Begins) -> NcuInclude {
    let mut names: Vec<&str> = Vec::new();
    let shown = match kind {
        Kind::StartEnd => &path.names[path.names.len().saturating_sub(1)..],
        Kind::PushPop => path.names.as_slice(),
    };
    for name in shown {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let repeated = names.len() < shown.len();
    // No way to write them: `;` makes an expression void, and a backslash cannot be escaped.
    let unwritable = |text: &str| text.contains([';', '\\']);
    let as_regex = names.iter().any(|name| unwritable(name)) || unwritable(&path.domain);
    let written = |text: &str| if as_regex { whole(&as_regular(text)) } else { escaped(text) };
    let domain = if path.domain.is_empty() { String::new() } else { format!("{}@", written(&path.domain)) };
    let has_semicolon = names.iter().any(|name| name.contains(';')) || path.domain.contains(';');
    let (start, end) = (start(kind, begins), end(kind, names.len()));
    let names: Vec<String> = names.into_iter().map(written).collect();
    NcuInclude {
        text: format!("{}{domain}{start}{}{end}", if as_regex { REGEX } else { "" }, names.join("/")),
        note: if repeated {
            Some("ncu counts nested ranges of one name only once, so this also selects the outer range")
        } else if has_semicolon {
            Some("ncu cannot match `;` in a name; the dot matches any character")
        } else {
            None
        },
    }
}

/// The expression that selects what such names match in such a domain; an empty one is the default domain.
pub fn ncu_pattern(domain: &NamePattern, names: &[NamePattern], kind: Kind, begins: Begins) -> String {
    let shown = match kind {
        Kind::StartEnd => &names[names.len().saturating_sub(1)..],
        Kind::PushPop => names,
    };
    let one = |name: &NamePattern| {
        let pieces: Vec<String> = name.pieces().iter().map(|piece| as_regular(piece)).collect();
        whole(&pieces.join(".*"))
    };
    let domain = if domain.literal() == Some("") { String::new() } else { format!("{}@", one(domain)) };
    let names: Vec<String> = shown.iter().map(one).collect();
    format!("{REGEX}{domain}{}{}{}", start(kind, begins), names.join("/"), end(kind, names.len()))
}

fn start(kind: Kind, begins: Begins) -> &'static str {
    if (kind, begins) == (Kind::PushPop, Begins::Outermost) { "[" } else { "" }
}

/// A slash tells ncu that push/pop ranges are meant; a path has one already.
fn end(kind: Kind, names: usize) -> &'static str {
    if kind == Kind::PushPop && names == 1 { "/" } else { "" }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if "@,[]/*+".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A regular expression is searched for, unless it is tied to both ends.
fn whole(regular: &str) -> String {
    format!("^{regular}$")
}

/// The regular expression for a text. Measured on 2025.3.1: ncu takes a backslash before each of these, and
/// any other character for itself.
fn as_regular(text: &str) -> String {
    let mut regular = String::new();
    for c in text.chars() {
        match c {
            ';' => regular.push('.'),
            c if r"\.[](){}*+?^$|@,/".contains(c) => regular.extend(['\\', c]),
            c => regular.push(c),
        }
    }
    regular
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nsys() {
        let gate = |domain, name: &str, wide| {
            nsys_expression(&RegionPath::new(domain, [name]), wide, NsysDialect::NEWEST)
        };
        assert_eq!(gate("", "A", false), NsysExpression::Gate("A".to_owned()));
        assert_eq!(gate("LLM", "decode_all", false), NsysExpression::Gate("decode_all@LLM".to_owned()));
        assert!(matches!(gate("", "a@b", false), NsysExpression::None(_)));
        assert!(matches!(gate("", "A", true), NsysExpression::None(_)));
        assert!(matches!(gate("", r"a\b", false), NsysExpression::None(_)));
        assert!(matches!(gate("*", "A", false), NsysExpression::None(_)));
        let old = NsysDialect { escapes: false };
        let path = RegionPath::new("", [r"a\b"]);
        assert_eq!(nsys_expression(&path, false, old), NsysExpression::Gate(r"a\b".to_owned()));
    }

    #[test]
    fn ncu() {
        let include = |domain, names: &[&str], kind| {
            ncu_expression(&RegionPath::new(domain, names.iter().copied()), kind, Begins::Anywhere).text
        };
        assert_eq!(include("", &["A"], Kind::PushPop), "A/");
        assert_eq!(include("LLM", &["decode_all"], Kind::PushPop), "LLM@decode_all/");
        assert_eq!(include("", &["A", "A1"], Kind::PushPop), "A/A1");
        assert_eq!(include("", &["se"], Kind::StartEnd), "se");
        assert_eq!(include("", &["a/b*"], Kind::PushPop), r"a\/b\*/");
        assert_eq!(include("", &["A", "B", "A"], Kind::PushPop), "A/B");
        assert_eq!(include("", &["a;b"], Kind::PushPop), "regex:^a.b$/");
        assert_eq!(include("", &[r"a\b", "c.d"], Kind::PushPop), r"regex:^a\\b$/^c\.d$");
    }

    #[test]
    fn ncu_patterns() {
        let include = |domain, names: &[&str], kind| {
            let names: Vec<NamePattern> = names.iter().filter_map(|name| NamePattern::parse(name)).collect();
            ncu_pattern(&NamePattern::parse(domain).unwrap(), &names, kind, Begins::Anywhere)
        };
        assert_eq!(include("", &["Train step *"], Kind::PushPop), "regex:^Train step .*$/");
        assert_eq!(include("", &["Train step *"], Kind::StartEnd), "regex:^Train step .*$");
        assert_eq!(include("LLM", &["step *", "fwd"], Kind::PushPop), "regex:^LLM$@^step .*$/^fwd$");
        assert_eq!(include("", &[r"a.b(*)[\*]"], Kind::PushPop), r"regex:^a\.b\(.*\)\[\*\]$/");
        assert_eq!(include("*", &["step *"], Kind::PushPop), "regex:^.*$@^step .*$/");
        assert_eq!(include("", &["*;*"], Kind::PushPop), "regex:^.*..*$/");
    }

    #[test]
    fn ncu_outermost() {
        let path = RegionPath::new("LLM", ["a[0]", "b"]);
        assert_eq!(ncu_expression(&path, Kind::PushPop, Begins::Outermost).text, r"LLM@[a\[0\]/b");
        let start_end = ncu_expression(&RegionPath::new("", ["se"]), Kind::StartEnd, Begins::Outermost);
        assert_eq!(start_end.text, "se");
        let (domain, names) = (NamePattern::exactly(""), [NamePattern::parse("step *").unwrap()]);
        assert_eq!(ncu_pattern(&domain, &names, Kind::PushPop, Begins::Outermost), "regex:[^step .*$/");
    }
}
