//! Markdown: text in which nothing that a program chose has a meaning.

use super::shown::{Digits, shown};
use super::terminal::{Names, code_spans};
use crate::printable::{joined, printable};
use crate::tables::{Cell, Kind, Tabular, View};
use crate::units::{count, counted};

/// How much of a table is shown, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Markdown {
    pub(crate) view: View,
    /// How many rows.
    pub(crate) rows: usize,
    pub(crate) names: Names,
    pub(crate) digits: Digits,
    /// Shown if there is no value.
    pub(crate) absent: &'static str,
}

impl Markdown {
    /// The table; if all rows are shown, the sum of what it leaves out comes last.
    pub(crate) fn table(&self, table: &dyn Tabular) -> String {
        let (columns, heads) = (table.columns(self.view), table.heads());
        let titles = columns.iter().map(|at| heads[*at].title.to_string());
        let rule = columns.iter().map(|at| if heads[*at].kind.is_text() { "---" } else { "---:" });
        let mut text = row(titles).replace("|  ", "| ");
        text.push_str(&format!("|{}|\n", rule.collect::<Vec<_>>().join("|")));
        for at in 0..self.rows.min(table.len()) {
            let cell = |column: &usize| {
                let head = heads[*column];
                let absent = head.absent.unwrap_or(self.absent);
                self.cell(head.kind, &table.cell(at, *column)).unwrap_or_else(|| absent.to_owned())
            };
            text.push_str(&row(columns.iter().map(cell)));
        }
        if let Some(more) = table.about().more.as_ref().filter(|_| table.len() <= self.rows) {
            let cells = table.more_cells(&columns, &counted(more.rows, &format!("more {}", more.of)));
            let shown = |(at, cell): (&usize, Cell<'_>)| shown(heads[*at].kind, &cell, self.digits);
            text.push_str(&row(columns.iter().zip(cells).map(|pair| shown(pair).unwrap_or_default())));
        }
        text
    }

    /// The same, and how many more rows there are.
    pub(crate) fn counted(&self, table: &dyn Tabular) -> String {
        let mut text = self.table(table);
        let more = table.all_rows().saturating_sub(self.rows as u64);
        if more > 0 && table.len() > self.rows {
            text.push_str(&format!("\nand {} more\n", count(more)));
        }
        text
    }

    fn cell(&self, kind: Kind, cell: &Cell<'_>) -> Option<String> {
        let text = match cell {
            Cell::Name { short, .. } if self.names == Names::Short => short.clone().into_owned(),
            cell => shown(kind, cell, self.digits)?,
        };
        Some(match kind {
            Kind::Name => code(&text),
            Kind::Prose => sentence(&text),
            _ => self::cell(&text),
        })
    }
}

fn row(cells: impl Iterator<Item = String>) -> String {
    format!("|{}\n", cells.map(|cell| format!(" {cell} |")).collect::<String>())
}

/// A name of a program's.
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

/// A name, also between backticks: one line, no column breaks.
pub(crate) fn cell(text: &str) -> String {
    printable(text).replace('|', "\\|").replace('`', "'")
}

/// One of our sentences in one line: text between backticks is code, and nothing is HTML.
pub(crate) fn sentence(text: &str) -> String {
    let line = printable(&joined(text)).replace('|', "\\|");
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
        assert_eq!(sentence("no `x`\nhint: set `y`"), "no `x`; to fix: set `y`");
        assert_eq!(sentence("`a`<b>` is"), "'a'\\<b>' is", "a name with a backtick of its own");
        assert_eq!(cell("a|`b`"), "a\\|'b'");
    }
}
