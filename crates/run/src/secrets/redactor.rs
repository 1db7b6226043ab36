//! One redactor a run: it knows the secret values and masks them in everything
//! we write.

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

use super::rules::{looks_secret_name, secret_spans};

/// Stands where a secret was.
pub const MASK: &str = "***";

/// A value shorter than this is not searched for in other text: `KEY=a` must not
/// mask every `a`. Where it stands under its own name it is masked all the same.
const SHORTEST: usize = 6;

#[derive(Debug, Clone)]
pub struct Redactor {
    /// Known secret values with the variable each comes from, longest first.
    known: Vec<(String, String)>,
    extra_names: Vec<String>,
    finder: Option<AhoCorasick>,
}

impl Redactor {
    /// Learns the secrets among `variables` (the environment, `workload.env`).
    pub fn new<'a>(variables: impl Iterator<Item = (&'a str, &'a str)>, extra_names: &[String]) -> Self {
        let mut known: Vec<(String, String)> = Vec::new();
        for (name, value) in variables {
            if looks_secret_name(name, value, extra_names) {
                known.push((value.to_owned(), name.to_owned()));
            }
            for span in secret_spans(value) {
                known.push((value[span].to_owned(), name.to_owned()));
            }
        }
        known.retain(|(value, _)| value.len() >= SHORTEST);
        known.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        known.dedup_by(|a, b| a.0 == b.0);
        let patterns: Vec<&str> = known.iter().map(|(value, _)| value.as_str()).collect();
        let finder = (!patterns.is_empty())
            .then(|| AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns).ok())
            .flatten();
        Self { known, extra_names: extra_names.to_vec(), finder }
    }

    /// Values to keep out of byte streams.
    pub fn known_values(&self) -> Vec<String> {
        self.known.iter().map(|(value, _)| value.clone()).collect()
    }

    pub fn is_secret_name(&self, name: &str, value: &str) -> bool {
        looks_secret_name(name, value, &self.extra_names)
    }

    /// Masks known values and secret shapes.
    pub fn text(&self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        let mut end = 0;
        for (span, _) in self.spans(text) {
            masked.push_str(&text[end..span.start]);
            masked.push_str(MASK);
            end = span.end;
        }
        masked.push_str(&text[end..]);
        masked
    }

    /// Masks a whole value when its name says so, else what is secret inside it.
    pub fn named(&self, name: &str, value: &str) -> String {
        if self.is_secret_name(name, value) { MASK.to_owned() } else { self.text(value) }
    }

    /// Masks every string of a document, and whole values under secret names.
    pub fn document(&self, document: &mut Value) {
        match document {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.document(item)),
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    match value {
                        Value::String(text) => *text = self.named(name, text),
                        other => self.document(other),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The secret parts of `text` in order, each with the variable that holds it.
    pub(super) fn spans(&self, text: &str) -> Vec<(std::ops::Range<usize>, Option<&str>)> {
        let mut spans: Vec<(std::ops::Range<usize>, Option<&str>)> = self
            .finder
            .iter()
            .flat_map(|finder| finder.find_iter(text))
            .map(|found| (found.range(), Some(self.known[found.pattern().as_usize()].1.as_str())))
            .collect();
        for shape in secret_spans(text) {
            if spans.iter().all(|(span, _)| shape.end <= span.start || span.end <= shape.start) {
                spans.push((shape, None));
            }
        }
        spans.sort_by_key(|(span, _)| span.start);
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        let variables = [("HF_TOKEN", "s3cr3t-value"), ("PATH", "/bin"), ("A_KEY", "ab")];
        Redactor::new(variables.into_iter(), &[])
    }

    #[test]
    fn masks_values_names_and_shapes() {
        let redactor = redactor();
        assert_eq!(redactor.text("x=s3cr3t-value;"), "x=***;");
        assert_eq!(redactor.text("cab /bin"), "cab /bin");
        assert_eq!(redactor.text("ftp://u:p@h s3cr3t-values3cr3t-value"), "ftp://u:***@h ******");
        let mut document = serde_json::json!({"password": "x", "list": ["s3cr3t-value", 3]});
        redactor.document(&mut document);
        assert_eq!(document, serde_json::json!({"password": "***", "list": ["***", 3]}));
    }
}
