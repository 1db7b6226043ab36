//! YAML text → [`Node`], keeping the line of every value.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::error::ConfigError;
use super::node::{Node, Source, Value};

/// A configuration larger than this once its aliases are expanded is a mistake.
const MOST_NODES: usize = 100_000;
const DEEPEST: usize = 64;

/// Reads one document. An empty one is an empty map.
pub(super) fn parse(text: &str, source: &Source) -> Result<Node, ConfigError> {
    let mut builder = Builder { source, open: Vec::new(), anchors: HashMap::new(), nodes: 0, root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| ConfigError::Syntax {
            source: source.at_line(error.marker().line()),
            message: format!("not valid YAML: {}", error.info()),
        })?;
        builder.take(event, span.start.line())?;
    }
    let empty = || Node { value: Value::Map(Vec::new()), source: source.at_line(1) };
    match builder.root {
        Some(root) if root.is_null() => Ok(empty()),
        Some(root) => Ok(root),
        None => Ok(empty()),
    }
}

struct Builder<'a> {
    source: &'a Source,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
}

/// A list or map that is still open.
struct Open {
    line: usize,
    anchor: usize,
    value: Value,
    /// A key that waits for its value.
    key: Option<String>,
    /// All keys so far.
    keys: HashSet<String>,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), ConfigError> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let quoted = style != ScalarStyle::Plain;
                self.add(Value::Scalar { text: text.into_owned(), quoted }, line, anchor)
            }
            Event::SequenceStart(anchor, _) => self.begin(Value::List(Vec::new()), line, anchor),
            Event::MappingStart(anchor, _) => self.begin(Value::Map(Vec::new()), line, anchor),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.add(open.value, open.line, open.anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => {
                    self.nodes += count(&node);
                    self.add(node.value, line, 0)
                }
                None => Err(self.error(line, "an alias refers to an anchor that is not complete yet")),
            },
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(self.error(line, "more than one YAML document"))
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, value: Value, line: usize, anchor: usize) -> Result<(), ConfigError> {
        if self.open.len() >= DEEPEST {
            return Err(self.error(line, "nested too deeply"));
        }
        self.open.push(Open { line, anchor, value, key: None, keys: HashSet::new() });
        Ok(())
    }

    fn add(&mut self, value: Value, line: usize, anchor: usize) -> Result<(), ConfigError> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(self.error(line, "too large"));
        }
        let node = Node { value, source: self.source.at_line(line) };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(entries), Some(key)) => {
                if !open.keys.insert(key.clone()) {
                    return Err(self.error(line, &format!("duplicate key `{key}`")));
                }
                entries.push((key, node));
            }
            (Value::Map(_), None) => match node.value {
                Value::Scalar { text, .. } => open.key = Some(text),
                _ => return Err(self.error(line, "a key must be plain text")),
            },
            (Value::Scalar { .. }, _) => {}
        }
        Ok(())
    }

    fn error(&self, line: usize, message: &str) -> ConfigError {
        ConfigError::Syntax { source: self.source.at_line(line), message: message.to_owned() }
    }
}

fn count(node: &Node) -> usize {
    1 + match &node.value {
        Value::Scalar { .. } => 0,
        Value::List(items) => items.iter().map(count).sum(),
        Value::Map(entries) => entries.iter().map(|(_, node)| count(node)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Source {
        Source::File { path: "x.yaml".into(), line: 0 }
    }

    #[test]
    fn lines_and_values() {
        let root = parse("a:\n  b: [x, 'null']\n  c: null\nd: &z 3\ne: *z\n", &file()).unwrap();
        assert_eq!(root.to_string(), "{a: {b: [x, \"null\"], c: null}, d: 3, e: 3}");
        let Value::Map(entries) = &root.value else { panic!() };
        assert_eq!(entries[1].1.source.to_string(), "x.yaml:4");
    }

    #[test]
    fn refuses_what_it_must() {
        for (text, message) in [
            ("a: 1\na: 2\n", "duplicate key `a`"),
            ("a: [", "not valid YAML"),
            ("[a]: 1\n", "a key must be plain text"),
            ("a: 1\n---\nb: 2\n", "more than one YAML document"),
        ] {
            let error = parse(text, &file()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let bomb = (0..40).fold("a0: &a0 [x,x,x,x,x,x,x,x]\n".to_owned(), |bomb, n| {
            format!("{bomb}a{}: &a{} [*a{n},*a{n},*a{n}]\n", n + 1, n + 1)
        });
        assert!(parse(&bomb, &file()).unwrap_err().to_string().contains("too large"));
        assert!(parse(&"[".repeat(10_000), &file()).is_err());
    }

    #[test]
    fn empty_documents() {
        for text in ["", "# nothing\n", "---\n", "null\n"] {
            assert_eq!(parse(text, &file()).unwrap().to_string(), "{}");
        }
    }
}
