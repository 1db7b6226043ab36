//! One redactor a run: it knows the secret values and masks them in everything
//! we write.

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;

use super::argv::union;
use super::rules::{looks_secret_name, secret_spans};

/// Stands where a secret was.
pub const MASK: &str = "***";

/// A value shorter than this is not searched for in other text: `KEY=a` must not
/// mask every `a`. Where it stands under its own name it is masked all the same.
const SHORTEST: usize = 6;

#[derive(Debug, Clone)]
pub struct Redactor {
    /// Known secret values with the variable each comes from, longest first.
    known: Vec<(String, Option<String>)>,
    extra_names: Vec<String>,
    finder: Option<AhoCorasick>,
}

/// A secret part of a text, and the variable that holds it, if one does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Secret<'a> {
    pub(super) span: std::ops::Range<usize>,
    pub(super) variable: Option<&'a str>,
}

impl Redactor {
    /// Learns the secrets among `variables` (the environment, `workload.env`).
    pub fn new<'a>(variables: impl Iterator<Item = (&'a str, &'a str)>, extra_names: &[String]) -> Self {
        let mut redactor = Self { known: Vec::new(), extra_names: extra_names.to_vec(), finder: None };
        for (name, value) in variables {
            if looks_secret_name(name, value, extra_names) && !is_path(value) {
                redactor.known.push((value.trim().to_owned(), Some(name.to_owned())));
            }
            for span in secret_spans(value) {
                redactor.known.push((value[span].to_owned(), Some(name.to_owned())));
            }
        }
        redactor.rebuild();
        redactor
    }

    /// Learns secrets that stood somewhere else, in an argv say.
    pub fn learn(&mut self, values: impl IntoIterator<Item = String>) {
        let new: Vec<String> = values.into_iter().filter(|value| !is_path(value)).collect();
        for value in new {
            if self.known.iter().all(|(known, _)| *known != value) {
                self.known.push((value, None));
            }
        }
        self.rebuild();
    }

    fn rebuild(&mut self) {
        self.known.retain(|(value, _)| value.len() >= SHORTEST && value != MASK);
        self.known.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        self.known.dedup_by(|a, b| a.0 == b.0);
        let patterns: Vec<&str> = self.known.iter().map(|(value, _)| value.as_str()).collect();
        let build = || AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns).ok();
        self.finder = (!self.known.is_empty()).then(build).flatten();
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
        for Secret { span, .. } in self.spans(text) {
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

    /// The secret parts of `text` in order, not overlapping.
    pub(super) fn spans(&self, text: &str) -> Vec<Secret<'_>> {
        let known = self.finder.iter().flat_map(|finder| finder.find_iter(text)).map(|found| Secret {
            span: found.range(),
            variable: self.known[found.pattern().as_usize()].1.as_deref(),
        });
        let shapes = secret_spans(text).into_iter().map(|span| Secret { span, variable: None });
        union(known.chain(shapes).collect())
    }
}

/// A path says where a secret lies; masking it everywhere would only do harm.
fn is_path(value: &str) -> bool {
    value.starts_with('/') && std::path::Path::new(value.trim()).exists()
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
