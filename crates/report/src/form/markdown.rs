//! Markdown: text in which nothing that a program chose has a meaning.

use super::terminal::code_spans;
use crate::printable::printable;

/// A name, also between backticks: one line, no column breaks.
pub fn cell(text: &str) -> String {
    printable(text).replace('|', "\\|").replace('`', "'")
}

/// A sentence of ours in one line: what stands between backticks is code, and nothing is HTML.
pub fn sentence(text: &str) -> String {
    let line = printable(&text.replace('\n', " ")).replace('|', "\\|");
    let Some(parts) = code_spans(&line) else { return line.replace('`', "'").replace('<', "\\<") };
    let part = |(is_code, part): (bool, &str)| {
        if is_code { format!("`{part}`") } else { part.replace('<', "\\<") }
    };
    parts.map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stays_code() {
        assert_eq!(sentence("`a|b` is\n<b>"), "`a\\|b` is \\<b>");
        assert_eq!(sentence("`a`<b>` is"), "'a'\\<b>' is", "a name with a backtick of its own");
        assert_eq!(cell("a|`b`"), "a\\|'b'");
    }
}
