//! Documents as JSON, written as they are made.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, PrettyFormatter, Serializer};

use crate::printable::is_hostile;

/// What becomes of the strings of a document on their way out.
pub trait Strings {
    /// Of a field, with its name, or in a list.
    fn value(&self, field: Option<&str>, text: String) -> String;

    /// Another name for a field, where it needs one.
    fn field(&self, _: &str) -> Option<String> {
        None
    }
}

/// They stay as they are.
#[derive(Debug, Clone, Copy)]
pub struct AsIs;

impl Strings for AsIs {
    fn value(&self, _: Option<&str>, text: String) -> String {
        text
    }
}

/// Indented, without a line break at its end. What is no finite number is `null`, and what a terminal would obey is
/// written as an escape.
pub fn write_json(
    document: &(impl Serialize + ?Sized),
    strings: &dyn Strings,
    out: &mut dyn Write,
) -> io::Result<()> {
    let indented = PrettyFormatter::new();
    let formatter = Document { indented, strings, field: None, is_field: false, text: String::new() };
    Ok(document.serialize(&mut Serializer::with_formatter(out, formatter))?)
}

/// On one line, as safe as [`write_json`].
pub fn json_line(document: &impl Serialize) -> String {
    let line = serde_json::to_string(document).unwrap_or_default();
    let mut safe = String::with_capacity(line.len());
    for c in line.chars() {
        // They are in strings, if anywhere.
        match is_hostile(c) {
            true => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => safe.push(c),
        }
    }
    safe
}

/// The inside of a string.
fn write_text(text: &str, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let mut done = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_hostile(*c) || matches!(c, '"' | '\\')) {
        out.write_all(&text.as_bytes()[done..at])?;
        done = at + c.len_utf8();
        match c {
            '"' => out.write_all(b"\\\"")?,
            '\\' => out.write_all(b"\\\\")?,
            '\u{8}' => out.write_all(b"\\b")?,
            '\t' => out.write_all(b"\\t")?,
            '\n' => out.write_all(b"\\n")?,
            '\u{c}' => out.write_all(b"\\f")?,
            '\r' => out.write_all(b"\\r")?,
            // All of these are in the first plane.
            c => write!(out, "\\u{:04x}", u32::from(c))?,
        }
    }
    out.write_all(&text.as_bytes()[done..])
}

/// Holds one string at a time: they come in parts.
struct Document<'s> {
    indented: PrettyFormatter<'static>,
    strings: &'s dyn Strings,
    /// The name of the field whose value is written.
    field: Option<String>,
    /// Whether a name is written, and not a value.
    is_field: bool,
    text: String,
}

impl Formatter for Document<'_> {
    fn write_char_escape<W: ?Sized + Write>(&mut self, _: &mut W, escape: CharEscape) -> io::Result<()> {
        self.text.push(match escape {
            CharEscape::Quote => '"',
            CharEscape::ReverseSolidus => '\\',
            CharEscape::Solidus => '/',
            CharEscape::Backspace => '\u{8}',
            CharEscape::FormFeed => '\u{c}',
            CharEscape::LineFeed => '\n',
            CharEscape::CarriageReturn => '\r',
            CharEscape::Tab => '\t',
            CharEscape::AsciiControl(byte) => char::from(byte),
        });
        Ok(())
    }

    fn end_string<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        if self.is_field {
            write_text(self.strings.field(&text).as_deref().unwrap_or(&text), out)?;
            self.field = Some(text);
        } else {
            write_text(&self.strings.value(self.field.as_deref(), text), out)?;
        }
        out.write_all(b"\"")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, _: &mut W, text: &str) -> io::Result<()> {
        self.text.push_str(text);
        Ok(())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.field = None;
        self.indented.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.indented.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.indented.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.indented.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.indented.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.indented.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.is_field = true;
        self.indented.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.is_field = false;
        self.indented.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.field = None;
        self.indented.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    struct Loud;

    impl Strings for Loud {
        fn value(&self, field: Option<&str>, text: String) -> String {
            format!("{}={}", field.unwrap_or("-"), text.to_uppercase())
        }
    }

    fn written(document: &Value, strings: &dyn Strings) -> String {
        let mut out = Vec::new();
        write_json(document, strings, &mut out).unwrap_or_default();
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn as_serde_json_writes_it() {
        let document = json!({
            "a": ["x", 1, null, {"b": "\"\\\n\u{1}\u{1f}\u{8}\u{c}\t\r/ü"}], "c": {}, "d": [], "e": 0.1, "": -5
        });
        assert_eq!(written(&document, &AsIs), serde_json::to_string_pretty(&document).unwrap_or_default());
    }

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_means_the_same() {
        let document = json!({ "\u{9b}a": "\u{1b}[2J\u{9b}31m\u{7f}\u{202e}" });
        let text = written(&document, &AsIs);
        assert!(text.contains("\\u001b[2J\\u009b31m\\u007f\\u202e") && text.contains("\\u009ba"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap_or_default(), document);
    }

    #[test]
    fn one_line() {
        assert_eq!(json_line(&json!({"a": "\u{9b}\n"})), "{\"a\":\"\\u009b\\n\"}");
    }

    #[test]
    fn strings_are_seen_with_their_fields() {
        let document = json!({ "a": "x", "b": ["y", {"c": "z"}, "w"], "d": "v" });
        let expected = json!({ "a": "a=X", "b": ["-=Y", {"c": "c=Z"}, "-=W"], "d": "d=V" });
        assert_eq!(serde_json::from_str::<Value>(&written(&document, &Loud)).unwrap_or_default(), expected);
    }
}
