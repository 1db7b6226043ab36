//! What to look for, and who looks closer.

use std::ops::Range;
use std::sync::LazyLock;

use super::super::names::STEMS;
use super::super::shapes::SHAPES;
use super::super::sieve::Sieve;
use super::seen::{Seen, is_word};
use super::{named, pem, scheme, url};

#[derive(Debug, Clone, Copy)]
enum Needle {
    /// Index into [`SHAPES`].
    Shape(usize),
    WebToken,
    PrivateKey,
    Url,
    Scheme,
    /// `-u name:password`
    User,
    /// Part of a name that may hold a secret.
    Name,
}

const SCHEMES: [&str; 2] = ["bearer ", "basic "];
/// Options that take `name:password`.
pub(in super::super) const USERS: [&str; 3] = ["-u", "--user", "--proxy-user"];

/// Secret parts of a text, in order, not overlapping.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) spans: Vec<Range<usize>>,
    /// The last one is a private key whose end is not in the text.
    pub(crate) goes_on: bool,
}

/// Looks for secrets nobody has told it of.
#[derive(Debug, Clone)]
pub(crate) struct Scanner {
    sieve: Sieve,
    needles: Vec<Needle>,
    extra_names: Vec<String>,
}

static PLAIN: LazyLock<Scanner> = LazyLock::new(|| Scanner::build(&[]));

/// The parts of `text` that are secret by their looks, in order, not overlapping.
pub fn secret_spans(text: &str) -> Vec<Range<usize>> {
    PLAIN.scan(text.as_bytes()).spans
}

impl Scanner {
    pub(crate) fn new(extra_names: &[String]) -> Self {
        if extra_names.is_empty() { PLAIN.clone() } else { Self::build(extra_names) }
    }

    fn build(extra_names: &[String]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        let mut needles = Vec::new();
        let mut add = |text: &str, needle: Needle| {
            texts.push(text.to_owned());
            needles.push(needle);
        };
        SHAPES.iter().enumerate().for_each(|(at, shape)| add(shape.prefix, Needle::Shape(at)));
        add("eyJ", Needle::WebToken);
        add("-----BEGIN ", Needle::PrivateKey);
        add("://", Needle::Url);
        SCHEMES.iter().for_each(|text| add(text, Needle::Scheme));
        USERS.iter().for_each(|text| add(text, Needle::User));
        STEMS.iter().for_each(|stem| add(stem, Needle::Name));
        extra_names.iter().filter(|name| !name.is_empty()).for_each(|name| add(name, Needle::Name));
        let sieve = Sieve::new(&texts, true).expect("few and short needles fit");
        Self { sieve, needles, extra_names: extra_names.to_vec() }
    }

    pub(crate) fn scan(&self, text: &[u8]) -> Found {
        let mut found = Found::default();
        let mut seen = Seen::default();
        for hit in self.sieve.find_iter(text) {
            if hit.start() < seen.done {
                continue;
            }
            let needle = self.needles[hit.pattern().as_usize()];
            self.look(text, hit.range(), needle, &mut seen, &mut found);
            seen.done = found.spans.last().map_or(0, |span| span.end);
        }
        found
    }

    /// Looks closer at one place.
    fn look(&self, text: &[u8], hit: Range<usize>, needle: Needle, seen: &mut Seen, found: &mut Found) {
        let span = match needle {
            Needle::Shape(at) => key_of_shape(text, at, hit.start),
            Needle::WebToken => web_token(text, hit.start),
            Needle::PrivateKey => pem::private_key(text, hit.start).map(|(span, goes_on)| {
                found.goes_on = goes_on;
                span
            }),
            Needle::Url => return found.spans.extend(url::credentials(text, hit.end, seen)),
            Needle::Scheme => scheme::credentials(text, hit),
            Needle::User => named::user_option(text, hit),
            Needle::Name => named::assigned(text, hit, seen, &self.extra_names),
        };
        found.spans.extend(span);
    }
}

fn key_of_shape(text: &[u8], shape: usize, at: usize) -> Option<Range<usize>> {
    let shape = &SHAPES[shape];
    let begins_a_word = at == 0 || !is_word(text[at - 1]);
    let length = shape.length(&text[at..]).filter(|_| begins_a_word || shape.keeps_prefix)?;
    let start = if shape.keeps_prefix { at + shape.prefix.len() } else { at };
    Some(start..at + length)
}

/// `header.payload.signature`, each in Base64 of URLs.
fn web_token(text: &[u8], at: usize) -> Option<Range<usize>> {
    const SHORTEST: usize = 10;
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    if at > 0 && fits(&text[at - 1]) {
        return None;
    }
    let part = |at: usize| text[at..].iter().take_while(|byte| fits(byte)).count();
    let header = part(at);
    let payload_at = at + header + 1;
    if header < SHORTEST || text.get(payload_at - 1) != Some(&b'.') || payload_at >= text.len() {
        return None;
    }
    let payload = part(payload_at);
    if payload < SHORTEST || !text[payload_at..].starts_with(b"ey") {
        return None;
    }
    let mut end = payload_at + payload;
    while text.get(end) == Some(&b'.') {
        end += 1 + part(end + 1);
    }
    Some(at..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        secret_spans(text).into_iter().map(|span| &text[span]).collect()
    }

    #[test]
    fn shapes() {
        let text = "postgres://me:hunter2@db/x and hf_abcdefghijklmnopqrsT.";
        assert_eq!(found(text), ["hunter2", "hf_abcdefghijklmnopqrsT"]);
        for harmless in ["https://host/a:b@c", "git@host:a/b", "sk-learn", "risk-abcdefghijklmnopqrstuvw1"] {
            assert_eq!(found(harmless), [""; 0], "{harmless}");
        }
    }

    #[test]
    fn web_tokens() {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N";
        assert_eq!(found(&format!("a {token}, b")), [token]);
        assert_eq!(found("eyJhbGciOiJIUzI1NiJ9.txt keyJhbGciOiJIUzI1NiJ9"), [""; 0]);
    }

    /// The kernel counts time in steps of about so many nanoseconds.
    const COUNTED_IN: u64 = 20_000_000;

    /// Nanoseconds that this thread has been at work; others are on this machine as well.
    fn own_time() -> u64 {
        let used = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        used.split(' ').next().and_then(|used| used.parse().ok()).unwrap_or(0)
    }

    /// Texts made to be slow cost no more than a few times what other text does.
    #[test]
    fn hostile_texts_are_read_in_one_pass() {
        for pattern in [
            "token=token:",
            "://a:b/",
            "eyJ-",
            "password=\"",
            "-----BEGIN PRIVATE KEY-----",
            "-u -u",
            "bearer bearer ",
            "hf_hf_",
            "authorization: ",
            "\\\"token\\\": \\\"",
        ] {
            let time = |length: usize| {
                let text = pattern.repeat(length / pattern.len());
                let begin = own_time();
                PLAIN.scan(text.as_bytes());
                own_time() - begin
            };
            time(1 << 12);
            let (short, long) = (time(1 << 17), time(1 << 20));
            // Eight times as long: 64 times the time if it were quadratic.
            assert!(long < short.max(COUNTED_IN) * 32, "{pattern}: {short} ns, then {long} ns");
        }
    }
}
