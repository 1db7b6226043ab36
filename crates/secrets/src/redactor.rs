//! One redactor a run: it knows the secret values and masks them in everything
//! we write.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::Value;

use super::encodings::encodings;
use super::marks::{MASK, MarkKey};
use super::names::looks_secret_name;
use super::scan::{Found, Scanner, secret_spans};
use super::sieve::Sieve;

/// A value shorter than this is not searched for in other text: `KEY=a` must not
/// mask every `a`. Where it stands under its own name it is masked all the same.
const SHORTEST: usize = 6;

/// Knows the secrets of our own environment and nothing else.
pub fn of_environment() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
        let variables: Vec<(String, String)> = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect();
        Redactor::new(variables.iter().map(|(name, value)| (name.as_str(), value.as_str())), &[])
    });
    &REDACTOR
}

/// Names that all hold another secret are masked one by one and no more learned.
const MOST_LEARNED: usize = 500;

#[derive(Debug, Clone)]
pub struct Redactor {
    /// Known secret values with the variable each comes from, longest first.
    known: Vec<(String, Option<String>)>,
    extra_names: Vec<String>,
    finder: Option<Known>,
    scanner: Scanner,
    key: MarkKey,
}

/// Finds known values in every form.
#[derive(Debug, Clone)]
struct Known {
    search: Search,
    /// Of each pattern, the value it is a form of; the values themselves come first.
    values: Vec<usize>,
    longest: usize,
}

/// How they are found.
#[derive(Debug, Clone)]
enum Search {
    /// All at once.
    Together(Sieve),
    /// One by one, which takes longer and is always possible: secrets are masked, however many and long they are.
    Apart(Vec<Finder<'static>>),
}

/// A secret part of a text, and the variable that holds it, if one does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Secret<'a> {
    pub(super) span: Range<usize>,
    pub(super) variable: Option<&'a str>,
}

impl Redactor {
    /// Learns the secrets among `variables` (the environment, `workload.env`).
    pub fn new<'a>(variables: impl Iterator<Item = (&'a str, &'a str)>, extra_names: &[String]) -> Self {
        let mut redactor = Self {
            known: Vec::new(),
            extra_names: extra_names.to_vec(),
            finder: None,
            scanner: Scanner::new(extra_names),
            key: MarkKey::new(),
        };
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

    /// Learns the secrets in names: what is made of a name later, its last part say, holds a
    /// secret that can no longer be told from a word.
    pub fn learn_from<'t>(&mut self, names: impl Iterator<Item = &'t str>) {
        let mut found: Vec<String> = Vec::new();
        for name in names {
            let secrets = self.scanner.scan(name.as_bytes()).spans.into_iter();
            let secrets = secrets.filter_map(|span| name.get(span)).filter(|secret| !is_a_word(secret));
            found.extend(secrets.map(str::to_owned));
            if found.len() >= MOST_LEARNED {
                break;
            }
        }
        if !found.is_empty() {
            self.learn(found);
        }
    }

    fn rebuild(&mut self) {
        self.known.retain(|(value, _)| value.len() >= SHORTEST && value != MASK);
        self.known.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        self.known.dedup_by(|a, b| a.0 == b.0);
        self.finder = Known::new(&self.known);
    }

    pub fn is_secret_name(&self, name: &str, value: &str) -> bool {
        looks_secret_name(name, value, &self.extra_names)
    }

    /// Masks known values, secret shapes and values behind secret names.
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

    /// The same length, and another mark for another secret: for names, and for files
    /// whose structure must stay. None when there is nothing to mask.
    pub fn marked(&self, text: &[u8]) -> Option<Vec<u8>> {
        let spans = self.find(text).spans;
        if spans.is_empty() {
            return None;
        }
        let mut marked = text.to_vec();
        for span in spans {
            marked[span.clone()].copy_from_slice(&self.key.mark(&text[span]));
        }
        Some(marked)
    }

    /// A name that may be shown and still differs from others.
    pub fn name(&self, name: &str) -> Option<String> {
        String::from_utf8(self.marked(name.as_bytes())?).ok()
    }

    /// The mark of a known value, where it is one.
    pub(super) fn mark(&self, secret: &[u8]) -> Vec<u8> {
        self.key.mark(secret)
    }

    /// Masks a whole value when its name says so, else what is secret inside it.
    pub fn named(&self, name: &str, value: &str) -> String {
        if self.is_secret_name(name, value) { MASK.to_owned() } else { self.text(value) }
    }

    /// Masks every string of a document, whole values under secret names, and secrets in keys.
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
                let secret = |key: &String| !is_our_word(key) && !self.spans(key).is_empty();
                if fields.keys().any(secret) {
                    let entries = std::mem::take(fields).into_iter();
                    *fields = entries.map(|(key, value)| (self.key(key), value)).collect();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Marks instead of `***`: two keys must not become one.
    fn key(&self, key: String) -> String {
        self.other_key(&key).unwrap_or(key)
    }

    pub fn other_key(&self, key: &str) -> Option<String> {
        if is_our_word(key) { None } else { self.name(key) }
    }

    /// The secret parts of `text` in order, not overlapping.
    pub(super) fn spans(&self, text: &str) -> Vec<Secret<'_>> {
        let shapes = self.scanner.scan(text.as_bytes()).spans.into_iter();
        let shapes = shapes.map(|span| Secret { span: on_characters(text, span), variable: None });
        union(self.known(text.as_bytes()).chain(shapes).collect())
    }

    /// The same for bytes that may be no text.
    fn find(&self, bytes: &[u8]) -> Found {
        self.find_in_lines(bytes, bytes.len())
    }

    /// The same where lines are complete up to `lines`: only known values may cross that.
    pub(super) fn find_in_lines(&self, bytes: &[u8], lines: usize) -> Found {
        let Found { spans, goes_on } = self.scanner.scan(&bytes[..lines]);
        let shapes = spans.into_iter().map(|span| Secret { span, variable: None });
        let all = union(self.known(bytes).chain(shapes).collect());
        Found { spans: all.into_iter().map(|secret| secret.span).collect(), goes_on }
    }

    /// Only values that were given; they may lie anywhere, also in what is no text.
    pub(crate) fn known_spans(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        union(self.known(bytes).collect()).into_iter().map(|secret| secret.span).collect()
    }

    fn known<'s>(&'s self, bytes: &[u8]) -> impl Iterator<Item = Secret<'s>> {
        let hits = self.finder.iter().flat_map(move |known| {
            known.search.all_in(bytes).into_iter().map(move |(span, pattern)| (span, pattern, known))
        });
        // A number is no part of a longer one.
        let is_apart = |span: &Range<usize>| {
            let in_number =
                |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
            !bytes[span.clone()].iter().all(u8::is_ascii_digit)
                || !in_number(span.start.wrapping_sub(1)) && !in_number(span.end)
        };
        hits.filter(|(span, ..)| is_apart(span))
            .map(|(span, pattern, known)| {
                let (_, variable) = &self.known[known.values[pattern]];
                // Only the value as it is can be put back.
                Secret { span, variable: variable.as_deref().filter(|_| pattern < self.known.len()) }
            })
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Bytes of the longest known value in any form.
    pub(crate) fn longest_known(&self) -> usize {
        self.finder.as_ref().map_or(0, |known| known.longest)
    }

    /// Whether a known value has several lines.
    pub(super) fn knows_lines(&self) -> bool {
        self.known.iter().any(|(value, _)| value.contains('\n'))
    }
}

impl Known {
    fn new(known: &[(String, Option<String>)]) -> Option<Self> {
        let mut patterns: Vec<String> = known.iter().map(|(value, _)| value.clone()).collect();
        let mut values: Vec<usize> = (0..known.len()).collect();
        for (at, (value, _)) in known.iter().enumerate() {
            for form in encodings(value) {
                patterns.push(form);
                values.push(at);
            }
        }
        let longest = patterns.iter().map(String::len).max()?;
        Some(Self {
            search: Search::of(&patterns, |patterns| Sieve::new(patterns, false).ok()),
            values,
            longest,
        })
    }
}

impl Search {
    /// `together` may fail: an automaton has limits.
    fn of(patterns: &[String], together: impl FnOnce(&[String]) -> Option<Sieve>) -> Self {
        let apart = || patterns.iter().map(|pattern| Finder::new(pattern).into_owned()).collect();
        together(patterns).map_or_else(|| Self::Apart(apart()), Self::Together)
    }

    /// Where a pattern lies, and which one.
    fn all_in(&self, bytes: &[u8]) -> Vec<(Range<usize>, usize)> {
        match self {
            Self::Together(sieve) => {
                sieve.find_iter(bytes).map(|hit| (hit.range(), hit.pattern().as_usize())).collect()
            }
            Self::Apart(finders) => {
                let of = |(pattern, finder): (usize, &'_ Finder<'static>)| {
                    let length = finder.needle().len();
                    finder.find_iter(bytes).map(|at| (at..at + length, pattern)).collect::<Vec<_>>()
                };
                finders.iter().enumerate().flat_map(of).collect()
            }
        }
    }
}

/// Overlapping parts become one, which then comes from no single variable.
pub(super) fn union(mut found: Vec<Secret<'_>>) -> Vec<Secret<'_>> {
    found.sort_by_key(|secret| (secret.span.start, std::cmp::Reverse(secret.span.end)));
    let mut merged: Vec<Secret<'_>> = Vec::new();
    for secret in found {
        match merged.last_mut() {
            Some(last) if secret.span.start < last.span.end => {
                if secret.span.end > last.span.end {
                    last.span.end = secret.span.end;
                    last.variable = None;
                }
            }
            _ => merged.push(secret),
        }
    }
    merged
}

/// A span that may end inside of a character, made larger.
fn on_characters(text: &str, mut span: Range<usize>) -> Range<usize> {
    while !text.is_char_boundary(span.start) {
        span.start -= 1;
    }
    while !text.is_char_boundary(span.end) {
        span.end += 1;
    }
    span
}

/// A key of our own documents may happen to be somebody's password.
fn is_our_word(key: &str) -> bool {
    key.len() <= 32 && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// As a part of other names it may mean nothing.
fn is_a_word(text: &str) -> bool {
    text.len() < 12 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
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

    /// A masker that cannot be built must not become one that masks nothing.
    #[test]
    fn secrets_are_masked_without_an_automaton() {
        let mut redactor = redactor();
        let text = "x=s3cr3t-value; s3cr3t-values3cr3t-value czNjcjN0LXZhbHVl";
        let masked = redactor.text(text);
        assert!(!masked.contains("czNjcjN0LXZhbHVl"), "{masked}");
        let known = redactor.finder.as_mut().unwrap();
        let patterns: Vec<String> = match &known.search {
            Search::Together(_) => {
                let values = redactor.known.iter().map(|(value, _)| value.clone());
                let forms = redactor.known.iter().flat_map(|(value, _)| encodings(value));
                values.chain(forms).collect()
            }
            Search::Apart(_) => panic!("few and short patterns fit"),
        };
        assert_eq!(patterns.len(), known.values.len());
        known.search = Search::of(&patterns, |_| None);
        assert!(matches!(&known.search, Search::Apart(finders) if finders.len() == patterns.len()));
        assert_eq!(redactor.text(text), masked);
        assert_eq!(redactor.marked(b"name s3cr3t-value").map(|name| name.len()), Some(17));
        assert_eq!(redactor.known_spans(b"\xff\0s3cr3t-value").first(), Some(&(2..14)));
    }

    #[test]
    fn keys_of_a_document_stay_apart() {
        let redactor = redactor();
        let mut document =
            serde_json::json!({"step s3cr3t-value": 1, "step hf_abcdefghijklmnopqrsT": 2, "regions": 3});
        redactor.document(&mut document);
        let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
        assert_eq!(keys.len(), 3);
        assert!(keys.iter().filter(|key| key.starts_with("step ***")).count() == 2, "{keys:?}");
    }

    #[test]
    fn names_that_differed_still_differ() {
        let redactor = redactor();
        let name = |text: &str| redactor.name(text).unwrap();
        let (one, other) = (name("step s3cr3t-value"), name("step hf_abcdefghijklmnopqrsT"));
        assert_ne!(one, other);
        assert_eq!(one.len(), "step s3cr3t-value".len());
        assert_eq!(one, name("step s3cr3t-value"));
        assert_eq!(redactor.name("decode/step 3"), None);
    }
}
