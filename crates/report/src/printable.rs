//! Text from outside, made harmless to read: names, paths and messages come from programs and files, and a terminal
//! obeys what it is shown.

/// One line: whatever would move the cursor, break the line or turn the direction of writing is shown as an escape.
pub fn printable(text: &str) -> String {
    escaped(text, is_hostile)
}

/// Many lines: the same, but for the line breaks and the tabs.
pub fn printable_lines(text: &str) -> String {
    escaped(text, |c| is_hostile(c) && !matches!(c, '\n' | '\t'))
}

/// One of our sentences on one line, with what to do at its end.
pub(crate) fn joined(text: &str) -> String {
    text.replace("\nhint: ", "; to fix: ").replace('\n', " ")
}

fn escaped(text: &str, is_shown: impl Fn(char) -> bool) -> String {
    if !text.contains(&is_shown) {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_shown(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Control characters of either set, and those that change how the text around them is laid out.
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(printable("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\nb");
        assert_eq!(printable("\u{7f}\u{9b}31m\u{85}"), "\\u{7f}\\u{9b}31m\\u{85}");
        assert_eq!(printable("a\u{202e}cba\u{2066}\u{200f}"), "a\\u{202e}cba\\u{2066}\\u{200f}");
        assert_eq!(printable("größe, 大きさ, 👩‍🔬"), "größe, 大きさ, 👩‍🔬");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(printable_lines("a\n\tb\r\u{1b}[31m"), "a\n\tb\\r\\u{1b}[31m");
    }
}
