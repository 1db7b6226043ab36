//! `key=value` on the command line, in the forms Hydra users know:
//! `a.b=text`, `a.b=[x,y]`, `a.b={k: v}`, `a.b=null`, `a.b='[literal]'`.

use super::error::ConfigError;
use super::node::{Node, Source, Value};

/// An override: the key's path and its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Override {
    pub(super) path: Vec<String>,
    pub(super) node: Node,
}

pub(super) fn parse(text: &str) -> Result<Override, ConfigError> {
    let source = Source::Override { text: text.to_owned() };
    let error = |message: String| ConfigError::Syntax { source: source.clone(), message };
    let Some((key, value)) = text.split_once('=') else {
        return Err(error(format!(
            "`{text}` is not a `key=value` override\nhint: put the workload after `--`: rangefinder run -- \
            {text} …"
        )));
    };
    let path: Vec<String> = key.split('.').map(str::to_owned).collect();
    if path.iter().any(|part| part.is_empty() || part.contains(char::is_whitespace)) {
        return Err(error(format!("`{key}` is not a valid key")));
    }
    let mut reader = Reader { text: value, at: 0, source: &source, depth: 0 };
    let node = reader.whole().map_err(error)?;
    Ok(Override { path, node })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    source: &'a Source,
    depth: usize,
}

impl Reader<'_> {
    /// The whole text. A scalar outside brackets is taken literally.
    fn whole(&mut self) -> Result<Node, String> {
        self.blanks();
        match self.peek() {
            Some('[' | '{' | '\'' | '"') => {
                let node = self.value()?;
                self.blanks();
                match self.peek() {
                    None => Ok(node),
                    Some(_) => Err(format!("unexpected `{}` after the value", &self.text[self.at..])),
                }
            }
            // `key=` is the empty text, as in Hydra; `key=null` is no value.
            _ => Ok(self.scalar(self.text.trim(), self.text.trim().is_empty())),
        }
    }

    fn value(&mut self) -> Result<Node, String> {
        self.blanks();
        if self.depth > 32 {
            return Err("the value is nested too deeply".to_owned());
        }
        self.depth += 1;
        let node = match self.peek() {
            Some('[') => self.list(),
            Some('{') => self.map(),
            Some('\'' | '"') => {
                let text = self.quoted()?;
                Ok(self.scalar(&text, true))
            }
            _ => {
                let text = self.until(&[',', ']', '}']);
                Ok(self.scalar(text.trim(), false))
            }
        };
        self.depth -= 1;
        node
    }

    fn list(&mut self) -> Result<Node, String> {
        self.next();
        let mut items = Vec::new();
        loop {
            self.blanks();
            if self.peek() == Some(']') && items.is_empty() {
                self.next();
                break;
            }
            items.push(self.value()?);
            if self.separator(']', "list")? {
                break;
            }
        }
        Ok(self.node(Value::List(items)))
    }

    fn map(&mut self) -> Result<Node, String> {
        self.next();
        let mut entries: Vec<(String, Node)> = Vec::new();
        loop {
            self.blanks();
            if self.peek() == Some('}') && entries.is_empty() {
                self.next();
                break;
            }
            let key = match self.peek() {
                Some('\'' | '"') => self.quoted()?,
                _ => self.until(&[':', ',', '}']).trim().to_owned(),
            };
            self.blanks();
            if self.next() != Some(':') {
                return Err(format!("missing `: value` after `{key}` in a map"));
            }
            let node = self.value()?;
            entries.retain(|(other, _)| *other != key);
            entries.push((key, node));
            if self.separator('}', "map")? {
                break;
            }
        }
        Ok(self.node(Value::Map(entries)))
    }

    /// Reads `,` or the closing bracket; true at the closing bracket.
    fn separator(&mut self, close: char, what: &str) -> Result<bool, String> {
        self.blanks();
        match self.next() {
            Some(',') => Ok(false),
            Some(c) if c == close => Ok(true),
            Some(c) => Err(format!("unexpected `{c}` in a {what}")),
            None => Err(format!("unclosed {what}: missing `{close}`")),
        }
    }

    fn quoted(&mut self) -> Result<String, String> {
        let quote = self.next().unwrap_or('"');
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(format!("unclosed quote: missing {quote}")),
                Some(c) if c == quote => return Ok(text),
                Some('\\') if matches!(self.peek(), Some(c) if c == quote || c == '\\') => {
                    text.extend(self.next());
                }
                Some(c) => text.push(c),
            }
        }
    }

    fn until(&mut self, stops: &[char]) -> String {
        let rest = &self.text[self.at..];
        let end = rest.find(stops).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_owned()
    }

    fn scalar(&self, text: &str, quoted: bool) -> Node {
        self.node(Value::Scalar { text: text.to_owned(), quoted })
    }

    fn node(&self, value: Value) -> Node {
        Node { value, source: self.source.clone() }
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.next();
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> String {
        parse(&format!("k={text}")).unwrap().node.to_string()
    }

    #[test]
    fn forms() {
        assert_eq!(value("decode"), "decode");
        assert_eq!(value("[prefill,decode]"), "[prefill, decode]");
        assert_eq!(value("[ LLM@decode_all/ , 'a, b' ]"), "[LLM@decode_all/, \"a, b\"]");
        assert_eq!(value("null"), "null");
        assert_eq!(value(""), "\"\"");
        assert_eq!(value("'null'"), "\"null\"");
        assert_eq!(value("stem;residual;head"), "\"stem;residual;head\"");
        assert_eq!(
            value("{a: 1, b: [x], 'c d': 'it''s'}".replace("''", "\\'").as_str()),
            "{a: 1, b: [x], c d: \"it's\"}"
        );
        assert_eq!(value("[]"), "[]");
        assert_eq!(value("{}"), "{}");
        assert_eq!(value("a=b"), "\"a=b\"");
        assert_eq!(parse("a.b.c=1").unwrap().path, ["a", "b", "c"]);
    }

    #[test]
    fn mistakes() {
        for (text, message) in [
            ("plain", "not a `key=value` override"),
            ("=x", "not a valid key"),
            ("a..b=x", "not a valid key"),
            ("a=[x", "unclosed list: missing `]`"),
            ("a=[x]]", "unexpected `]` after"),
            ("a={x}", "missing `: value`"),
            ("a='x", "unclosed quote"),
            ("a=['x'y]", "unexpected `y`"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
        assert!(parse(&format!("a={}", "[".repeat(1000))).is_err());
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,40}") {
            let _ = parse(&text);
        }

        /// What is printed reads back as the same value.
        #[test]
        fn printed_values_read_back(items in proptest::collection::vec("[ -~]{0,12}", 0..5)) {
            let source = Source::CommandLine { what: "test" };
            let list = items.iter().map(|item| Node::text(item.as_str(), source.clone())).collect();
            let node = Node { value: Value::List(list), source };
            let read = parse(&format!("k={node}")).unwrap().node;
            prop_assert_eq!(read.to_string(), node.to_string());
        }
    }
}
