//! Kernels and ranges are called whatever a program calls them: in the page that stays text.

use serde_json::Value;

use super::terminal::code_spans;
use crate::printable::printable;

/// For text between tags and for attributes in double quotes.
pub(crate) fn text(raw: &str) -> String {
    let mut escaped = String::with_capacity(raw.len());
    for c in printable(raw).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// For the part of an address behind `#`.
pub(crate) fn in_address(raw: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    printable(raw).bytes().map(escaped).collect()
}

/// The same for numbers with their units.
pub(crate) fn unsplit(raw: &str) -> String {
    held_together(&text(raw))
}

/// No line ends between a number and its percent sign.
fn held_together(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

/// Our own sentences: text between backticks is code, and a hint gets its own line.
pub(crate) fn prose(raw: &str) -> String {
    raw.lines().map(prose_line).collect::<Vec<_>>().join("<br>")
}

fn prose_line(raw: &str) -> String {
    let escaped = text(raw);
    let Some(parts) = code_spans(&escaped) else { return escaped };
    let part = |(is_code, part): (bool, &str)| {
        if is_code { format!("<code>{part}</code>") } else { held_together(part) }
    };
    parts.map(part).collect()
}

/// For the inside of a script element: nothing in it can end the element or begin a comment,
/// and a reader that takes it for JavaScript finds no line break inside a string.
pub(crate) fn json(value: &Value) -> String {
    let plain = value.to_string();
    if !plain.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return plain;
    }
    // Outside of strings JSON has none of these.
    let mut escaped = String::with_capacity(plain.len() + plain.len() / 16);
    for c in plain.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_text() {
        let hostile = "</script><img src=x onerror=alert(1)>\u{2028}&\"'\u{0}";
        let shown = text(hostile);
        assert!(!shown.contains(['<', '>', '"', '\'', '\u{0}']), "{shown}");
        assert_eq!(prose("set `a<b` and `c`"), "set <code>a&lt;b</code> and <code>c</code>");
        assert_eq!(prose("busy 6.7 % of"), "busy 6.7\u{a0}% of");
        assert_eq!(prose("a ` alone"), "a ` alone");
        assert_eq!(prose("no `x`\nhint: set `y`"), "no <code>x</code><br>hint: set <code>y</code>");
        assert_eq!(in_address(":step/a<b> é"), "%3Astep%2Fa%3Cb%3E%20%C3%A9");
        let value = Value::from(hostile);
        let written = json(&value);
        assert!(!written.contains(['<', '>', '&', '\u{2028}']), "{written}");
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
    }
}
