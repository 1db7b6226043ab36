//! Passwords and keys in `scheme://user:password@host`.

use std::ops::Range;

use super::super::names::looks_random;
use super::class::Class;
use super::seen::Seen;

/// No further than this is looked for the `@`.
const LONGEST: usize = 512;
const SHORTEST_KEY: usize = 20;

/// The secret parts of the user information that begins at `at`, behind `://`.
pub(super) fn credentials(text: &[u8], at: usize, seen: &mut Seen) -> Vec<Range<usize>> {
    let window = &text[at..text.len().min(at + LONGEST)];
    let ends_authority = |byte: &u8| b"/?#".contains(byte) || ends_a_url(*byte);
    let authority = window.iter().position(ends_authority).unwrap_or(window.len());
    let colon = window[..authority].iter().position(|byte| *byte == b':');
    let info = window[..authority].iter().rposition(|byte| *byte == b'@');
    let info = info.or_else(|| behind_slash(window, authority, colon?, at, seen));
    let Some(info) = info else { return Vec::new() };
    let rest = window;
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

/// The `@` behind a password with a slash in it; a port would be a number.
fn behind_slash(window: &[u8], authority: usize, colon: usize, at: usize, seen: &mut Seen) -> Option<usize> {
    let port = &window[colon + 1..authority];
    let is_slash = window.get(authority).is_some_and(|byte| b"/?#".contains(byte));
    if !is_slash || port.is_empty() || port.iter().all(u8::is_ascii_digit) || window[0] == b'[' {
        return None;
    }
    let from = authority.max(seen.no_at.saturating_sub(at));
    let rest = window.get(from..)?;
    let rest = &rest[..rest.iter().position(|byte| ends_a_url(*byte)).unwrap_or(rest.len())];
    let found = rest.iter().rposition(|byte| *byte == b'@');
    if found.is_none() {
        seen.no_at = at + from + rest.len();
    }
    found.map(|found| from + found)
}

fn ends_a_url(byte: u8) -> bool {
    static ENDS: Class = Class::new(b"\0\x1b\"'<>`\\", false, true);
    ENDS.has(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let at = text.find("://").unwrap() + 3;
        credentials(text.as_bytes(), at, &mut Seen::default()).into_iter().map(|span| &text[span]).collect()
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
