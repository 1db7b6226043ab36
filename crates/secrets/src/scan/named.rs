//! Values behind a name: `name=value`, `"name": "value"`, `--name value`, headers.

use std::ops::Range;

use super::class::Class;
use super::seen::{Seen, is_word};
use super::value::{Quote, Value};

const LONGEST_BEFORE: usize = 64;
const LONGEST_BEHIND: usize = 48;
/// A value between tags.
const LONGEST_IN_TAG: usize = 256;
/// Spaces between a name, its sign and its value.
const MOST_SPACES: usize = 8;

/// The value that belongs to the name around `hit`, if the two are a secret.
pub(super) fn assigned(
    text: &[u8],
    hit: Range<usize>,
    seen: &mut Seen,
    extra: &[String],
) -> Option<Range<usize>> {
    // Another part of a name that was looked at.
    if hit.start < seen.name {
        return None;
    }
    let name = name_around(text, hit, seen)?;
    let sign = behind_sign(text, name.end).or_else(|| behind_tag(text, &name));
    let spelled = std::str::from_utf8(&text[name.clone()]).ok()?;
    let is_option = spelled.starts_with('-');
    let next = if sign.is_none() { next_argument(text, name.end) } else { None };
    sign.or(next)?;
    let spelled = spelled.trim_start_matches('-');
    let name_in_text = seen.name_in_text(spelled, extra);
    // `('Authorization', 'Bearer X')`
    let is_entry = next.is_some() && name_in_text.is_authorization() && Quote::at(text, name.end).is_some();
    if let Some(at) = sign.or(next.filter(|_| is_entry && !is_option)) {
        if name_in_text.is_authorization() {
            return header(text, &name, at, true);
        }
        if matches!(name_in_text.upper(), "COOKIE" | "SET-COOKIE") {
            return header(text, &name, at, false);
        }
        let mut value = Value::at(text, at)?;
        value.is_line = is_first_in_line(text, name.start) && text[at - 1] == b' ';
        return name_in_text.holds(&value.head(text)).then(|| value.span(text))?;
    }
    if let Some(at) = next {
        let value = Value::at(text, at)?;
        if !is_option {
            return name_in_text.stands_before(&value.head(text)).then(|| value.span(text))?;
        }
        let is_secret = name_in_text.option_holds(&value.head(text), value.quote.is_some());
        return is_secret.then(|| value.span(text))?;
    }
    None
}

/// `-u name:password` and its long forms.
pub(super) fn user_option(text: &[u8], hit: Range<usize>) -> Option<Range<usize>> {
    let begins = hit.start == 0 || !is_word(text[hit.start - 1]) && !b"-./".contains(&text[hit.start - 1]);
    if !begins {
        return None;
    }
    let is_short = hit.len() == 2;
    let at = match text.get(hit.end)? {
        b'=' if !is_short => hit.end + 1,
        byte if byte.is_ascii_alphanumeric() && is_short && is_of_curl(&text[..hit.start]) => hit.end,
        _ => next_argument(text, hit.end)?,
    };
    let value = Value::at(text, at)?;
    let name = name_of_pair(&value.head(text))?;
    let span = value.span(text)?;
    Some(span.start + name + 1..span.end)
}

/// How long the name in `name:password` is. A number of a user and its group is no such pair.
pub(in super::super) fn name_of_pair(text: &str) -> Option<usize> {
    let (name, password) = text.split_once(':')?;
    let is_pair = !name.is_empty()
        && !name.starts_with('-')
        && !name.contains('/')
        && !password.is_empty()
        && !password.starts_with(['/', ':']);
    let ids = [name, password].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    (is_pair && !ids).then_some(name.len())
}

fn is_of_curl(before: &[u8]) -> bool {
    let near = &before[before.len().saturating_sub(128)..];
    near.windows(5).any(|part| part == b"curl ")
}

fn is_name(byte: u8) -> bool {
    static NAME: Class = Class::new(b"_-.", true, false);
    NAME.has(byte)
}

/// All of a name of which `hit` is a part. None when it is too long for one.
fn name_around(text: &[u8], hit: Range<usize>, seen: &mut Seen) -> Option<Range<usize>> {
    let behind = text[hit.end..].iter().take(LONGEST_BEHIND + 1).take_while(|byte| is_name(**byte)).count();
    seen.name = hit.end + behind;
    let before = text[seen.done..hit.start].iter().rev().take(LONGEST_BEFORE + 1);
    let before = before.take_while(|byte| is_name(**byte)).count();
    (behind <= LONGEST_BEHIND && before <= LONGEST_BEFORE).then(|| hit.start - before..hit.end + behind)
}

/// Where a value begins behind `=`, `:`, `=>` or `:=`, which quotes may close a name before.
fn behind_sign(text: &[u8], name_end: usize) -> Option<usize> {
    let mut at = name_end;
    if let Some(quote) = Quote::at(text, at) {
        at += quote.length();
    }
    if text.get(at) == Some(&b']') {
        at += 1;
    }
    at += spaces(text, at);
    let next = text.get(at + 1).copied();
    at += match (text.get(at)?, next) {
        (b'=', Some(b'=')) | (b':', Some(b':')) => return None,
        (b':', Some(b'/')) if text.get(at + 2) == Some(&b'/') => return None,
        (b'=' | b'-', Some(b'>')) | (b':', Some(b'=')) => 2,
        (b'=' | b':', _) => 1,
        // A variable in a URL's query or a form.
        (b'%', Some(b'3')) if matches!(text.get(at + 2), Some(b'D' | b'd' | b'A' | b'a')) => 3,
        _ => return None,
    };
    Some(at + spaces(text, at))
}

/// `<password>X</password>`
fn behind_tag(text: &[u8], name: &Range<usize>) -> Option<usize> {
    let opens = name.start > 0 && text[name.start - 1] == b'<' && text.get(name.end) == Some(&b'>');
    let rest = text.get(name.end + 1..).filter(|_| opens)?;
    let ends = rest.iter().take(LONGEST_IN_TAG).position(|byte| b"<\n\"".contains(byte))?;
    (ends > 0 && rest[ends..].starts_with(b"</")).then_some(name.end + 1)
}

/// The next word of a command line, also where it is printed as a list: `'--token', 'X'`.
fn next_argument(text: &[u8], option_end: usize) -> Option<usize> {
    let Some(quote) = Quote::at(text, option_end) else {
        let gap = spaces(text, option_end);
        return (gap > 0).then_some(option_end + gap);
    };
    let at = option_end + quote.length();
    let comma = at + usize::from(text.get(at) == Some(&b','));
    let next = comma + spaces(text, comma);
    (next > at && Quote::at(text, next).is_some()).then_some(next)
}

fn spaces(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().take(MOST_SPACES).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// A header as such or as an entry: the credentials behind their scheme, or all of it.
fn header(text: &[u8], name: &Range<usize>, at: usize, has_scheme: bool) -> Option<Range<usize>> {
    let value = Value::at(text, at)?;
    let start = value.start;
    // `-H "Authorization: X"`: the quote that stands before the name ends the value.
    let enclosing = Quote::before(text, name.start).filter(|_| value.quote.is_none());
    let scheme = if has_scheme { scheme_length(&text[start..]) } else { 0 };
    // Of several parts: `AWS4-HMAC-SHA256 Credential=..., Signature=...`.
    let whole = !has_scheme || scheme > 8;
    let end = match value.quote.or(enclosing) {
        Some(quote) => quote.end(text, start),
        None if whole => {
            let line = super::value::line_end(text, start);
            start + text[start..line].iter().position(|byte| *byte == b'"').unwrap_or(line - start)
        }
        None => {
            let rest = &text[start + scheme..];
            let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"',;\\".contains(byte);
            start + scheme + rest.iter().position(ends).unwrap_or(rest.len())
        }
    };
    let secret = start + scheme..end;
    (secret.len() > 2 && !text[secret.clone()].starts_with(b"***")).then_some(secret)
}

/// `Bearer `, `Basic `, `token `: a word and the space behind it.
fn scheme_length(text: &[u8]) -> usize {
    let word = text.iter().take(24).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
    match text.get(word) {
        Some(b' ') if word > 0 => word + spaces(text, word),
        _ => 0,
    }
}

fn is_first_in_line(text: &[u8], at: usize) -> bool {
    let before = text[..at].iter().rev().take(32);
    before.clone().take_while(|byte| **byte != b'\n').all(|byte| matches!(byte, b' ' | b'\t' | b'-'))
}
