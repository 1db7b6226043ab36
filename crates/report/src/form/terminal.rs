//! Tables for a terminal: columns of text that line up.

use super::shown::{Digits, shown};
use crate::printable::printable;
use crate::tables::{Cell, Kind, Tabular, View};

/// How much of a table is shown, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    pub(crate) view: View,
    /// How many rows.
    pub(crate) rows: usize,
    /// A longer name is cut.
    pub(crate) widest_name: usize,
    pub(crate) names: Names,
    /// Shown if there is no value and the column does not say what that means.
    pub(crate) absent: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    Whole,
    Short,
}

impl Terminal {
    /// The table, and how many more rows it has.
    pub(crate) fn text(&self, table: &dyn Tabular) -> String {
        let columns = table.columns(self.view);
        let mut text = self.lines(table, &columns);
        let more = table.all_rows().saturating_sub(self.rows.min(table.len()) as u64);
        if more > 0 {
            text.push_str(&format!("and {more} more\n"));
        }
        text
    }

    /// The table without the columns that nothing was measured for: they take room.
    pub(crate) fn filled(&self, table: &dyn Tabular) -> String {
        let rows = self.rows.min(table.len());
        let has_value = |column: &usize| (0..rows).any(|row| table.cell(row, *column) != Cell::None);
        let columns: Vec<usize> = table.columns(self.view).into_iter().filter(has_value).collect();
        self.lines(table, &columns)
    }

    /// Rows under a heading, each column as wide as it needs.
    fn lines(&self, table: &dyn Tabular, columns: &[usize]) -> String {
        let heads = table.heads();
        let titles = columns.iter().map(|at| heads[*at].short_title().to_owned()).collect();
        let mut lines: Vec<Vec<String>> = vec![titles];
        for row in 0..self.rows.min(table.len()) {
            let cell = |at: &usize| {
                let shown = self.cell(heads[*at].kind, &table.cell(row, *at));
                shown.unwrap_or_else(|| heads[*at].absent.or(self.absent).unwrap_or_default().to_owned())
            };
            lines.push(columns.iter().map(cell).collect());
        }
        let is_text: Vec<bool> = columns.iter().map(|at| heads[*at].kind.is_text()).collect();
        aligned(&lines, &is_text)
    }

    fn cell(&self, kind: Kind, cell: &Cell<'_>) -> Option<String> {
        let text = match cell {
            Cell::Name { short, .. } if self.names == Names::Short => short.clone().into_owned(),
            cell => shown(kind, cell, Digits::Plain)?,
        };
        Some(printable(&if kind == Kind::Name { shortened(&text, self.widest_name) } else { text }))
    }
}

fn aligned(lines: &[Vec<String>], is_text: &[bool]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..is_text.len()).map(width).collect();
    let mut text = String::new();
    for cells in lines {
        let mut line = String::new();
        for ((cell, width), is_text) in cells.iter().zip(&widths).zip(is_text) {
            match is_text {
                true => line.push_str(&format!("{cell:<width$}  ")),
                false => line.push_str(&format!("{cell:>width$}  ")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The parts of a sentence of ours, and whether each is code, which stands between backticks; None where one is not
/// closed, as in a name that has some of its own.
pub(crate) fn code_spans(text: &str) -> Option<impl Iterator<Item = (bool, &str)>> {
    let is_closed = text.matches('`').count().is_multiple_of(2);
    is_closed.then(|| text.split('`').enumerate().map(|(at, part)| (at % 2 == 1, part)))
}

/// Not longer than `most` characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        assert_eq!(shortened("abcdef", 4), "abc…");
    }
}
