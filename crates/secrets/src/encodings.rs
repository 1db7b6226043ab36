//! The forms in which a program may write a value it was given.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, URL_SAFE};

/// Shorter pieces of Base64 would be found in other text.
const SHORTEST_PIECE: usize = 8;

/// Every form of `value` that differs from it.
pub(super) fn encodings(value: &str) -> Vec<String> {
    let json = in_json(value);
    let mut forms = vec![
        in_json(&json),
        json,
        in_ascii_json(value),
        value.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"),
        value.replace('\'', "'\\''"),
        value.replace('"', "\"\""),
        value.replace('|', "\\|"),
        escaped(value, "\\/:"),
        escaped(value, "\\@"),
        escaped(value, "\\/:@,[]*+"),
        in_html(value, "&#39;"),
        in_html(value, "&#x27;"),
        in_url(value, |byte| format!("%{byte:02X}")),
        in_url(value, |byte| format!("%{byte:02x}")),
        in_url(value, |byte| if byte == b' ' { "+".to_owned() } else { format!("%{byte:02X}") }),
    ];
    if value.len() >= SHORTEST_PIECE {
        forms.push(value.bytes().fold(String::new(), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        }));
        for alphabet in [&STANDARD, &URL_SAFE] {
            (0..3).for_each(|before| forms.push(in_base64(value.as_bytes(), before, alphabet)));
        }
    }
    forms.sort();
    forms.dedup();
    forms.retain(|form| form != value && form.len() >= SHORTEST_PIECE.min(value.len()));
    forms
}

fn in_json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn in_ascii_json(value: &str) -> String {
    let mut text = String::new();
    for c in in_json(value).chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

/// As region paths and the gates of the tools write a name.
fn escaped(value: &str, special: &str) -> String {
    value.chars().flat_map(|c| special.contains(c).then_some('\\').into_iter().chain([c])).collect()
}

fn in_html(value: &str, apostrophe: &str) -> String {
    let text = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', apostrophe)
}

fn in_url(value: &str, encoded: impl Fn(u8) -> String) -> String {
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    value
        .bytes()
        .map(|byte| if is_kept(byte) { char::from(byte).to_string() } else { encoded(byte) })
        .collect()
}

/// What of the Base64 of a text that holds `value` behind `before` other bytes (of three)
/// depends on `value` alone.
fn in_base64(value: &[u8], before: usize, alphabet: &GeneralPurpose) -> String {
    let mut padded = vec![0; before];
    padded.extend_from_slice(value);
    // The last digits would hold bits of what follows, and the first hold bits of what stands before.
    padded.truncate(padded.len() / 3 * 3);
    let text = alphabet.encode(padded);
    text[text.len().min([0, 2, 3][before])..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_an_odd_value() {
        let forms = encodings("a'b\"c&d é");
        for form in ["a'b\\\"c&d é", "a'b\\\"c&d \\u00e9", "a&#39;b&quot;c&amp;d é", "a%27b%22c%26d%20%C3%A9"]
        {
            assert!(forms.iter().any(|other| other == form), "{form} is not in {forms:?}");
        }
    }

    #[test]
    fn base64_of_whatever_stands_around() {
        let forms = encodings("hunter2-hunter2");
        // `x:hunter2-hunter2`, `user:hunter2-hunter2` and `ab:hunter2-hunter2`
        for encoded in
            ["eDpodW50ZXIyLWh1bnRlcjI=", "dXNlcjpodW50ZXIyLWh1bnRlcjI=", "YWI6aHVudGVyMi1odW50ZXIy"]
        {
            assert!(forms.iter().any(|form| encoded.contains(form.as_str())), "{encoded}: {forms:?}");
        }
    }
}
