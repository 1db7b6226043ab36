//! Passwords and keys in `scheme://user:password@host`.

use std::ops::Range;

use super::super::names::looks_random;

/// No further than this is looked for the `@`.
const LONGEST: usize = 512;
const SHORTEST_KEY: usize = 20;

/// The secret parts of the user information that begins at `at`, behind `://`.
pub(super) fn credentials(text: &[u8], at: usize) -> Vec<Range<usize>> {
    let window = &text[at..text.len().min(at + LONGEST)];
    let end = window.iter().position(|byte| ends_a_url(*byte)).unwrap_or(window.len());
    let rest = &window[..end];
    let authority = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
    let colon = rest[..authority].iter().position(|byte| *byte == b':');
    let info = match rest[..authority].iter().rposition(|byte| *byte == b'@') {
        Some(info) => info,
        // A password with a slash in it; a port would be a number.
        None => {
            let Some(colon) = colon.filter(|_| authority < rest.len()) else { return Vec::new() };
            let port = &rest[colon + 1..authority];
            if port.is_empty() || port.iter().all(u8::is_ascii_digit) || rest[0] == b'[' {
                return Vec::new();
            }
            match rest.iter().rposition(|byte| *byte == b'@') {
                Some(info) => info,
                None => return Vec::new(),
            }
        }
    };
    let name_end = colon.filter(|colon| *colon < info).unwrap_or(info);
    let mut found = Vec::new();
    // A key in place of a name: a DSN of Sentry, a token for git.
    if name_end >= SHORTEST_KEY && std::str::from_utf8(&rest[..name_end]).is_ok_and(looks_random) {
        found.push(at..at + name_end);
    }
    if name_end + 1 < info && !rest[name_end + 1..].starts_with(b"***") {
        found.push(at + name_end + 1..at + info);
    }
    found
}

fn ends_a_url(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_control() || b"\"'<>`\\".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let at = text.find("://").unwrap() + 3;
        credentials(text.as_bytes(), at).into_iter().map(|span| &text[span]).collect()
    }

    #[test]
    fn passwords_with_odd_characters() {
        assert_eq!(found("postgres://user:p@ss@host/db"), ["p@ss"]);
        assert_eq!(found("redis://:secret@host:6379/0"), ["secret"]);
        assert_eq!(found("amqp://user:pa/ss@host/v"), ["pa/ss"]);
        assert_eq!(
            found("https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/2"),
            ["0123456789abcdef0123456789abcdef"]
        );
        assert_eq!(found("https://user:pw@a https://b@c"), ["pw"]);
    }

    #[test]
    fn what_is_no_password() {
        for harmless in [
            "https://host:8080/a@b",
            "http://[::1]:80/a@b",
            "https://user@host/x",
            "s3://bucket/key@v1",
            "https://host/a:b@c",
            "://",
        ] {
            assert_eq!(found(harmless), [""; 0], "{harmless}");
        }
    }
}
