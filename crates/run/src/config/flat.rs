//! A configuration as a list of keys and values.

use std::path::PathBuf;

use super::node::{Node, Source, Value};
use super::yaml::parse;

/// `workload.cwd` and its text, for every key of a written configuration; none if it is not YAML.
pub(crate) fn flat_settings(text: &str) -> Vec<(String, String)> {
    let source = Source::File { path: PathBuf::new(), line: 0 };
    let mut found = Vec::new();
    if let Ok(node) = parse(text, &source) {
        flatten(&node, "", &mut found);
    }
    found
}

fn flatten(node: &Node, name: &str, found: &mut Vec<(String, String)>) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(value, &name, found);
            }
        }
        _ if name.is_empty() => {}
        _ => found.push((name.to_owned(), shown(node))),
    }
}

fn shown(node: &Node) -> String {
    match &node.value {
        Value::Scalar { text, .. } => text.clone(),
        Value::List(values) => format!("[{}]", values.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let shown: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key}: {}", shown(value))).collect();
            format!("{{{}}}", shown.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values() {
        let text = "a:\n  b: 1 # default\n  c: [x, 2]\nd: null\ne: {}\nf:\n  g:\n    h: text\n";
        let expected = [("a.b", "1"), ("a.c", "[x, 2]"), ("d", "null"), ("e", "{}"), ("f.g.h", "text")];
        assert_eq!(flat_settings(text), expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert!(flat_settings("a: [").is_empty() && flat_settings("").is_empty());
    }
}
