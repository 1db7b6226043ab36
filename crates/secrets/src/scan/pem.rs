//! Private keys between `-----BEGIN` and `-----END`.

use std::ops::Range;

const LONGEST: usize = 32 << 10;
const LONGEST_LABEL: usize = 48;
const LONGEST_LINE: usize = 128;

/// The key that begins at `at`, and whether its end is missing.
pub(super) fn private_key(text: &[u8], at: usize) -> Option<(Range<usize>, bool)> {
    let label = &text[at..text.len().min(at + LONGEST_LABEL)];
    let body = at + find(label, b"PRIVATE KEY")? + b"PRIVATE KEY".len();
    let text = &text[..text.len().min(at + LONGEST)];
    // With its lines written as `\n`.
    let mut end = line_end(text, body);
    if let Some(last) = find(&text[body..end], b"-----END ") {
        let tail = &text[body + last..end];
        let close = tail.iter().position(|byte| matches!(byte, b'"' | b'\'' | b'\\'));
        return Some((at..body + last + close.unwrap_or(tail.len()), false));
    }
    let same_line = body + text[body..end].iter().take_while(|byte| is_body(**byte)).count();
    if same_line < end {
        return Some((at..same_line, false));
    }
    while end < text.len() {
        let next = line_end(text, end + 1);
        let line = &text[end + 1..next];
        if let Some(length) = ends(line) {
            return Some((at..end + 1 + length, false));
        }
        if !continues(line) {
            return Some((at..end, false));
        }
        end = next;
    }
    Some((at..end, true))
}

/// Whether a line can belong to a key that has begun before it.
pub(in super::super) fn continues(line: &[u8]) -> bool {
    const HEADERS: [&[u8]; 5] = [b"Proc-Type:", b"DEK-Info:", b"Version:", b"Comment:", b"Hash:"];
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\\r".contains(byte);
    line.len() <= LONGEST_LINE
        && (line.iter().all(is_base64) || HEADERS.iter().any(|header| line.starts_with(header)))
}

/// Where a key ends in a line, if it does.
pub(in super::super) fn ends(line: &[u8]) -> Option<usize> {
    let label = line.strip_prefix(b"-----END ")?;
    let dashes = find(label, b"-----").map(|at| at + b"-----".len());
    Some(line.len() - label.len() + dashes.unwrap_or(label.len()))
}

fn is_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-\\ \r\t:,".contains(&byte)
}

fn line_end(text: &[u8], from: usize) -> usize {
    from + text[from..].iter().position(|byte| *byte == b'\n').unwrap_or(text.len() - from)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_and_without_an_end() {
        let key = b"x -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\ny";
        assert_eq!(private_key(key, 2), Some((2..key.len() - 2, false)));
        let cut = b"-----BEGIN PRIVATE KEY-----\nMIIE\nMIIE\n";
        assert_eq!(private_key(cut, 0), Some((0..cut.len(), true)));
        let other = b"-----BEGIN PRIVATE KEY-----\nMIIE\nstep {1}\n";
        assert_eq!(private_key(other, 0), Some((0..32, false)));
        let escaped = br#"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n", "x": 1"#;
        assert_eq!(private_key(escaped, 0), Some((0..60, false)));
        assert_eq!(private_key(b"-----BEGIN CERTIFICATE-----\nMIIE\n", 0), None);
    }
}
