//! `Bearer` and `Basic` credentials, wherever they stand.

use std::ops::Range;

const SHORTEST: usize = 12;

/// What follows `bearer ` or `basic `, if it is no word of a sentence.
pub(super) fn credentials(text: &[u8], hit: Range<usize>) -> Option<Range<usize>> {
    if hit.start > 0 && super::seen::is_word(text[hit.start - 1]) {
        return None;
    }
    let rest = &text[hit.end..];
    let shortest = rest.get(..SHORTEST)?;
    if !shortest.iter().all(|byte| fits(*byte)) {
        return None;
    }
    let length = rest.iter().take_while(|byte| fits(**byte)).count();
    let value = &rest[..length];
    let is_basic =
        text[hit.start].eq_ignore_ascii_case(&b'b') && text[hit.start + 1].eq_ignore_ascii_case(&b'a');
    let secret = if is_basic { holds_a_pair(value) } else { is_no_word(value) };
    secret.then(|| hit.end..hit.end + length)
}

fn fits(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte)
}

/// A digit, or a capital letter inside.
fn is_no_word(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) || value[1..].iter().any(u8::is_ascii_uppercase)
}

/// Base64 of `name:password`.
fn holds_a_pair(value: &[u8]) -> bool {
    decoded(&value[..value.len().min(256)])
        .is_some_and(|pair| pair.contains(&b':') && pair.iter().all(|byte| !byte.is_ascii_control()))
}

fn decoded(value: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(value.len());
    let (mut bits, mut held) = (0u32, 0);
    for byte in value.iter().take_while(|byte| **byte != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_sentences() {
        let of = |text: &str| {
            let hit = text.find(' ').unwrap() + 1;
            credentials(text.as_bytes(), 0..hit).map(|span| text[span].to_owned())
        };
        assert_eq!(of("Basic dXNlcjpodW50ZXIy"), Some("dXNlcjpodW50ZXIy".to_owned()));
        assert_eq!(of("Basic functionality tests"), None);
        assert_eq!(of("Bearer abcdef1234567890, x"), Some("abcdef1234567890".to_owned()));
        assert_eq!(of("bearer authentication is used"), None);
    }
}
