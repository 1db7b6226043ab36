//! Records of a CSV as ncu writes it: every cell quoted, a quote doubled.

use std::borrow::Cow;

pub(super) struct Records<'a> {
    rest: &'a str,
    length: usize,
    /// The text ends with the end of a line.
    ended: bool,
    /// Of the record that was read last: its line, counted from 1, and its first byte.
    pub(super) line: usize,
    pub(super) start: usize,
    next_line: usize,
}

impl<'a> Records<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, length: text.len(), ended: text.ends_with('\n'), line: 0, start: 0, next_line: 1 }
    }

    /// To the record that begins with `start`, past whatever was printed before it. False
    /// when there is none.
    pub(super) fn find(&mut self, start: &str) -> bool {
        while !self.rest.is_empty() {
            if self.rest.starts_with(start) {
                return true;
            }
            self.skip_line();
        }
        false
    }

    /// The next record into `cells`, past lines of ncu's own log. None at the end, false
    /// when the text ends within a quoted cell.
    pub(super) fn next(&mut self, cells: &mut Vec<Cow<'a, str>>) -> Option<bool> {
        while self.rest.starts_with("==") || self.rest.starts_with(['\n', '\r']) {
            self.skip_line();
        }
        if self.rest.is_empty() {
            return None;
        }
        self.line = self.next_line;
        self.start = self.length - self.rest.len();
        cells.clear();
        loop {
            let (cell, whole) = self.cell();
            cells.push(cell);
            if !whole {
                return Some(false);
            }
            match self.rest.as_bytes().first() {
                Some(b',') => self.rest = &self.rest[1..],
                _ => {
                    self.skip_line();
                    return Some(true);
                }
            }
        }
    }

    /// Whether the text ends in the line that was read last.
    pub(super) fn broken_off(&self) -> bool {
        self.rest.is_empty() && !self.ended
    }

    /// Up to a comma or the end of the line.
    fn cell(&mut self) -> (Cow<'a, str>, bool) {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let end = self.rest.find([',', '\n', '\r']).unwrap_or(self.rest.len());
            let (cell, rest) = self.rest.split_at(end);
            self.rest = rest;
            return (Cow::Borrowed(cell), true);
        };
        let mut doubled = false;
        let mut from = 0;
        while let Some(quote) = quoted[from..].find('"').map(|at| from + at) {
            if quoted[quote + 1..].starts_with('"') {
                doubled = true;
                from = quote + 2;
                continue;
            }
            let cell = &quoted[..quote];
            self.next_line += cell.bytes().filter(|byte| *byte == b'\n').count();
            self.rest = &quoted[quote + 1..];
            return (if doubled { cell.replace("\"\"", "\"").into() } else { cell.into() }, true);
        }
        self.rest = "";
        (Cow::Borrowed(quoted), false)
    }

    fn skip_line(&mut self) {
        self.next_line += 1;
        self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end + 1..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_cells() {
        let text = "a program's words, \"ID\"\n==PROF== log\n\"ID\",\"a \"\"b\"\", c\"\r\n==PROF== more\n1,\"two\nlines\",\n\"open";
        let mut records = Records::new(text);
        assert!(records.find("\"ID\","));
        let mut all = Vec::new();
        let mut cells = Vec::new();
        while let Some(whole) = records.next(&mut cells) {
            all.push((records.line, cells.iter().map(ToString::to_string).collect::<Vec<_>>(), whole));
        }
        let expected = [
            (3, vec!["ID", "a \"b\", c"], true),
            (5, vec!["1", "two\nlines", ""], true),
            (7, vec!["open"], false),
        ];
        for ((line, cells, whole), (expected_line, expected, expected_whole)) in all.iter().zip(expected) {
            assert_eq!((*line, *whole), (expected_line, expected_whole));
            assert_eq!(cells, &expected);
        }
        assert_eq!(all.len(), 3);
        assert!(!Records::new("nothing\nhere").find("\"ID\","));
    }
}
