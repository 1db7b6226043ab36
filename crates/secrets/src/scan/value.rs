//! Where a value begins and ends.

use std::borrow::Cow;
use std::ops::Range;

use super::class::Class;

/// So much of a value is enough to tell whether it is a secret.
const HEAD: usize = 40;

/// A quotation mark, and how many backslashes stand before it: JSON inside of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quote {
    mark: u8,
    escapes: usize,
}

impl Quote {
    const MOST_ESCAPES: usize = 7;

    pub(super) fn at(text: &[u8], at: usize) -> Option<Self> {
        let rest = text.get(at..)?;
        let escapes = rest.iter().take(Self::MOST_ESCAPES).take_while(|byte| **byte == b'\\').count();
        let mark = *rest.get(escapes)?;
        b"\"'`".contains(&mark).then_some(Self { mark, escapes })
    }

    pub(super) fn before(text: &[u8], at: usize) -> Option<Self> {
        let mark = *text[..at].last()?;
        let escapes = text[..at - 1].iter().rev().take(Self::MOST_ESCAPES);
        let escapes = escapes.take_while(|byte| **byte == b'\\').count();
        b"\"'`".contains(&mark).then_some(Self { mark, escapes })
    }

    pub(super) fn length(self) -> usize {
        self.escapes + 1
    }

    /// Where the text that it opened ends: at the same mark, escaped as often, or with the line.
    pub(super) fn end(self, text: &[u8], start: usize) -> usize {
        let mut escapes = 0;
        for (at, byte) in text.iter().enumerate().skip(start) {
            match byte {
                b'\\' => escapes += 1,
                b'\n' => return at,
                // Pairs of backslashes are characters of the text itself.
                byte if *byte == self.mark && self.escapes == 0 && escapes % 2 == 0 => return at,
                byte if *byte == self.mark && escapes > 0 && escapes <= self.escapes => return at - escapes,
                byte if *byte == self.mark && self.escapes > 0 && escapes == 0 => return at,
                _ => escapes = 0,
            }
        }
        text.len()
    }
}

/// The value that begins at `at`, without its quotes.
pub(in super::super) fn value_at(text: &str, at: usize) -> Option<Range<usize>> {
    Value::at(text.as_bytes(), at)?.span(text.as_bytes())
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub(super) start: usize,
    pub(super) quote: Option<Quote>,
    /// It may have spaces in it and ends with the line.
    pub(super) is_line: bool,
}

impl Value {
    pub(super) fn at(text: &[u8], at: usize) -> Option<Self> {
        let (at, quote) = match Quote::at(text, at) {
            Some(quote) => (at, Some(quote)),
            None => {
                let inner = at + call_length(&text[at..]);
                Quote::at(text, inner).map_or((at, None), |quote| (inner, Some(quote)))
            }
        };
        let value = Self { start: at + quote.map_or(0, Quote::length), quote, is_line: false };
        (value.start < text.len()).then_some(value)
    }

    /// Its beginning.
    pub(super) fn head<'t>(&self, text: &'t [u8]) -> Cow<'t, str> {
        let rest = &text[self.start..text.len().min(self.start + HEAD)];
        let end = match self.quote {
            Some(quote) => quote.end(rest, 0),
            None => word_length(rest),
        };
        String::from_utf8_lossy(&rest[..end])
    }

    /// All of it; none when it is empty.
    pub(super) fn span(&self, text: &[u8]) -> Option<Range<usize>> {
        let rest = &text[self.start..];
        let end = match self.quote {
            Some(quote) => quote.end(text, self.start),
            None if self.is_line => line_end(text, self.start),
            None => self.start + word_length(rest),
        };
        (self.start < end).then_some(self.start..end)
    }
}

/// `b'...'` and `SecretStr('...')` of Python: what stands before the quote.
fn call_length(text: &[u8]) -> usize {
    let name = text.iter().take(32).take_while(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(byte));
    match (name.count(), text) {
        (1, [b'b' | b'r' | b'u' | b'f', ..]) => 1,
        (length, text) if length > 0 && text.get(length) == Some(&b'(') => length + 1,
        _ => 0,
    }
}

pub(super) fn line_end(text: &[u8], start: usize) -> usize {
    let rest = &text[start..];
    let end = start + rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
    let blanks = text[start..end].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
    end - blanks
}

/// A quotation mark ends it, and the backslash before one belongs to that.
fn word_length(text: &[u8]) -> usize {
    let length = text.iter().position(|byte| ends_a_word(*byte)).unwrap_or(text.len());
    match text.get(length) {
        Some(b'"' | b'\'') => length - text[..length].iter().rev().take_while(|byte| **byte == b'\\').count(),
        _ => length,
    }
}

fn ends_a_word(byte: u8) -> bool {
    static ENDS: Class = Class::new(b"\0\"'`&;,}<", false, true);
    ENDS.has(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes() {
        for (text, value) in [
            (r#""two words", 3"#, "two words"),
            (r#""a\"b" c"#, r#"a\"b"#),
            (r#"\"inner one\", \"x"#, "inner one"),
            ("'open\nnext", "open"),
            ("plain, next", "plain"),
            ("b'bytes'", "bytes"),
            ("SecretStr('inside')", "inside"),
        ] {
            let bytes = text.as_bytes();
            let span = Value::at(bytes, 0).unwrap().span(bytes).unwrap();
            assert_eq!(&text[span], value);
        }
    }
}
