//! The expression that makes a tool record one region.

use crate::{Kind, RegionPath};

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
pub fn nsys_expression(path: &RegionPath, wide: bool) -> NsysExpression {
    let name = path.name();
    if wide {
        return NsysExpression::None("its name is a wide string, which never opens a gate of nsys");
    }
    if name.contains('@') || path.domain.contains('@') {
        return NsysExpression::None("its name holds an `@`, which nsys takes for the domain");
    }
    if name.is_empty() {
        return NsysExpression::None("it has no name");
    }
    NsysExpression::Gate(if path.domain.is_empty() {
        name.to_owned()
    } else {
        format!("{name}@{}", path.domain)
    })
}

/// The argument of `ncu --nvtx-include` for a region.
pub fn ncu_expression(path: &RegionPath, kind: Kind) -> String {
    let escape = |text: &str| {
        let mut escaped = String::new();
        for c in text.chars() {
            if "@,[]/*+".contains(c) {
                escaped.push('\\');
            }
            escaped.push(c);
        }
        escaped
    };
    let domain = if path.domain.is_empty() { String::new() } else { format!("{}@", escape(&path.domain)) };
    match kind {
        Kind::StartEnd => format!("{domain}{}", escape(path.name())),
        Kind::PushPop => {
            let names: Vec<String> = path.names.iter().map(|name| escape(name)).collect();
            let end = if names.len() == 1 { "/" } else { "" };
            format!("{domain}{}{end}", names.join("/"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nsys() {
        let gate = |domain, name: &str, wide| nsys_expression(&RegionPath::new(domain, [name]), wide);
        assert_eq!(gate("", "A", false), NsysExpression::Gate("A".to_owned()));
        assert_eq!(gate("LLM", "decode_all", false), NsysExpression::Gate("decode_all@LLM".to_owned()));
        assert!(matches!(gate("", "a@b", false), NsysExpression::None(_)));
        assert!(matches!(gate("", "A", true), NsysExpression::None(_)));
    }

    #[test]
    fn ncu() {
        let include = |domain, names: &[&str], kind| {
            ncu_expression(&RegionPath::new(domain, names.iter().copied()), kind)
        };
        assert_eq!(include("", &["A"], Kind::PushPop), "A/");
        assert_eq!(include("LLM", &["decode_all"], Kind::PushPop), "LLM@decode_all/");
        assert_eq!(include("", &["A", "A1"], Kind::PushPop), "A/A1");
        assert_eq!(include("", &["se"], Kind::StartEnd), "se");
        assert_eq!(include("", &["a/b*"], Kind::PushPop), r"a\/b\*/");
    }
}
