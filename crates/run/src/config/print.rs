//! The resolved configuration, for people and for programs.

use std::fmt::Write as _;

use serde_json::json;

use super::node::{Node, Value};
use super::overrides;
use super::resolved::Resolved;
use secrets::Redactor;

impl Resolved {
    /// YAML that can be given back with `-c`, each value with its source behind it.
    /// Secrets are masked.
    pub fn to_yaml(&self, redactor: &Redactor) -> String {
        let mut rows = Vec::new();
        rows_of(&self.tree, 0, redactor, &mut rows);
        let width = rows.iter().filter(|(_, source)| source.is_some()).map(|(text, _)| text.chars().count());
        let width = width.max().unwrap_or(0).min(48);
        let mut yaml = String::new();
        for (text, source) in rows {
            match source {
                // Writing to a String cannot fail.
                Some(source) => drop(writeln!(yaml, "{text:width$}  # {source}")),
                None => drop(writeln!(yaml, "{text}")),
            }
        }
        yaml
    }

    /// `{key: {value, source}}` with dotted keys. Secrets are masked.
    pub fn to_json(&self, redactor: &Redactor) -> serde_json::Value {
        let mut keys = serde_json::Map::new();
        self.tree.leaves("", &mut |key, node| {
            let mut value = node.to_json();
            if let serde_json::Value::String(text) = &value {
                value = redactor.named(key, text).into();
            }
            redactor.document(&mut value);
            keys.insert(
                key.to_owned(),
                json!({"value": value, "source": redactor.text(&node.source.in_file())}),
            );
        });
        keys.into()
    }
}

fn rows_of(node: &Node, depth: usize, redactor: &Redactor, rows: &mut Vec<(String, Option<String>)>) {
    let Value::Map(entries) = &node.value else { return };
    let indent = "  ".repeat(depth);
    for (key, node) in entries {
        match &node.value {
            Value::Map(inner) if !inner.is_empty() => {
                rows.push((format!("{indent}{}:", scalar(key, true)), None));
                rows_of(node, depth + 1, redactor, rows);
            }
            _ => {
                let source = one_line(&redactor.text(&node.source.in_file()));
                let row = format!("{indent}{}: {}", scalar(key, true), inline(key, node, redactor));
                rows.push((row, Some(source)));
            }
        }
    }
}

fn inline(key: &str, node: &Node, redactor: &Redactor) -> String {
    match &node.value {
        _ if node.is_null() => "null".to_owned(),
        Value::Scalar { text, quoted } => scalar(&redactor.named(key, text), *quoted),
        Value::List(items) => {
            let texts: Vec<Option<&str>> = items
                .iter()
                .map(|item| match &item.value {
                    Value::Scalar { text, .. } => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            // An argv: a secret may follow the option that names it.
            let written = match texts.iter().copied().collect::<Option<Vec<&str>>>() {
                Some(texts) => {
                    let argv: Vec<std::ffi::OsString> = texts.iter().map(std::ffi::OsString::from).collect();
                    redactor.argv(&argv).0
                }
                None => items.iter().map(|item| redactor.text(&item.to_string())).collect(),
            };
            let quoted: Vec<String> = written.iter().map(|text| scalar(text, true)).collect();
            format!("[{}]", quoted.join(", "))
        }
        Value::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, node)| format!("{}: {}", scalar(key, true), inline(key, node, redactor)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// A `key=value` argument with its secrets masked. None if it is not an override.
pub fn masked_override(text: &str, redactor: &Redactor) -> Option<String> {
    let given = overrides::parse(text).ok()?;
    let key = given.path.join(".");
    Some(format!("{key}={}", inline(&key, &given.node, redactor)))
}

/// A scalar as YAML reads it back: plain where that is safe, else in quotes.
fn scalar(text: &str, is_text: bool) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./@+=".contains(c));
    let typed = matches!(text, "null" | "true" | "false" | "~") || text.parse::<f64>().is_ok();
    if plain && !(is_text && typed) { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use crate::config::{Request, resolve};
    use secrets::Redactor;

    #[test]
    fn printed_yaml_reads_back_as_the_same_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("again.yaml");
        let redactor = Redactor::new(std::iter::empty(), &[]);
        let first = resolve(&Request {
            overrides: vec![
                "run.name='a: b # c'".to_owned(),
                "workload.env={X: '1', Y: null}".to_owned(),
                "ncu.nvtx_include=[LLM@decode_all/, 'x,y', '']".to_owned(),
            ],
            command: vec!["sh".to_owned(), "-c".to_owned(), "echo \"hi\"\nexit".to_owned()],
            cwd: "/nonexistent".into(),
            ..Request::default()
        })
        .unwrap();
        std::fs::write(&path, first.to_yaml(&redactor)).unwrap();
        let again = resolve(&Request { file: Some(path), cwd: "/nonexistent".into(), ..Request::default() });
        assert_eq!(format!("{:?}", again.unwrap().config), format!("{:?}", first.config));
    }

    #[test]
    fn secrets_are_masked() {
        let redactor = Redactor::new([("HF_TOKEN", "tok-12345678")].into_iter(), &[]);
        let resolved = resolve(&Request {
            overrides: vec!["workload.env.API_KEY=zzzz".to_owned()],
            command: vec![
                "x".to_owned(),
                "--password".to_owned(),
                "pw".to_owned(),
                "tok-12345678".to_owned(),
            ],
            cwd: "/nonexistent".into(),
            ..Request::default()
        })
        .unwrap();
        let yaml = resolved.to_yaml(&redactor);
        assert!(
            yaml.contains("[x, --password, \"***\", \"***\"]")
                || yaml.contains("[x, \"--password\", \"***\", \"***\"]"),
            "{yaml}"
        );
        assert!(!yaml.contains("tok-12345678") && yaml.contains("API_KEY: \"***\""), "{yaml}");
    }
}
