//! Colors for people at a terminal. What is painted has been made printable before: it has no codes of its own.

use std::io::IsTerminal;

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const CYAN: &str = "36";

/// Words that a line may begin with.
const WORDS: [(&str, &str); 6] = [
    ("error:", RED),
    ("warning:", YELLOW),
    ("note:", DIM),
    ("hint:", CYAN),
    ("do:", GREEN),
    ("no finding:", DIM),
];

/// Whether to paint what goes there: a terminal, and nobody asked for no colors (<https://no-color.org>).
pub(crate) fn wanted(stream: &impl IsTerminal) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// Headings and findings stand out, and the words that say what a line is.
pub(crate) fn painted(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let paint = |at: usize| {
        let line = lines[at];
        let bare = line.trim_start();
        let indent = &line[..line.len() - bare.len()];
        if let Some((word, colour)) = WORDS.iter().find(|(word, _)| bare.starts_with(word)) {
            return format!("{indent}{}{}", in_colour(word, colour), &bare[word.len()..]);
        }
        let is_heading = |line: &str| {
            !line.is_empty() && !line.starts_with(' ') && !line.contains("  ") && !line.contains(':')
        };
        let is_alone = at > 0 && lines[at - 1].is_empty();
        let leads = lines.get(at + 1).is_some_and(|next| next.starts_with("  "));
        let is_finding = bare.split_once(". ").is_some_and(|(number, _)| {
            !indent.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        match is_alone && leads && is_heading(line) || is_finding {
            true => format!("{indent}{}", in_colour(bare, BOLD)),
            false => line.to_owned(),
        }
    };
    (0..lines.len()).map(paint).collect::<Vec<_>>().join("\n")
}

pub(crate) fn in_colour(text: &str, colour: &str) -> String {
    format!("\x1b[{colour}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_out() {
        let text = "run\n\nwhat limits it\n  1. it waits\n     do: wait less\n  loop `:a`: 3\n\nregion  host\nhint: x";
        assert_eq!(
            painted(text),
            "run\n\n\u{1b}[1mwhat limits it\u{1b}[0m\n  \u{1b}[1m1. it waits\u{1b}[0m\n     \u{1b}[32mdo:\u{1b}[0m wait less\n  \
             loop `:a`: 3\n\nregion  host\n\u{1b}[36mhint:\u{1b}[0m x"
        );
    }
}
