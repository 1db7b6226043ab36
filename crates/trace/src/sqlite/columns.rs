//! Columns of a table, found by their names.
//!
//! A reader names the columns it wants once for each table and gets a handle for each; rows are read by
//! handle. What a handle is of is its type: a text cannot be read as a number by mistake. A table of another
//! version may lack a column. Its handle then reads as NULL in every row, which a reader has to expect of
//! any column, and what a row is worth without the value is the reader's to say.

use super::btree::{Leaves, Piece, scan};
use super::damage::Damage;
use super::handles::{Integer, Real, Text};
use super::pages::Pages;
use super::record::Row;
use super::table::Table;

/// Gives out handles of the columns of a table.
#[derive(Debug)]
pub(crate) struct Finder<'t> {
    table: &'t Table,
    /// By handle: its place in the table, if it is there.
    places: Vec<Option<usize>>,
}

impl Finder<'_> {
    pub(crate) fn integer(&mut self, name: &str) -> Integer {
        Integer(self.handle(self.table.column(name)))
    }

    pub(crate) fn real(&mut self, name: &str) -> Real {
        Real(self.handle(self.table.column(name)))
    }

    pub(crate) fn text(&mut self, name: &str) -> Text {
        Text(self.handle(self.table.column(name)))
    }

    /// Of a column that is known by its place.
    pub(crate) fn text_at(&mut self, place: usize) -> Text {
        Text(self.handle(Some(place)))
    }

    /// Two handles of one column are the same.
    fn handle(&mut self, place: Option<usize>) -> u8 {
        let known = self.places.iter().position(|known| place.is_some() && *known == place);
        let handle = known.unwrap_or_else(|| {
            self.places.push(place);
            self.places.len() - 1
        });
        handle as u8
    }
}

/// A table, and the handles of what is wanted of it.
#[derive(Debug)]
pub(crate) struct Selection<'a, Columns> {
    pages: &'a Pages,
    table: &'a Table,
    places: Vec<Option<usize>>,
    columns: Columns,
}

impl<'a, Columns> Selection<'a, Columns> {
    pub(super) fn new(
        pages: &'a Pages,
        table: &'a Table,
        find: impl FnOnce(&mut Finder<'_>) -> Columns,
    ) -> Self {
        let mut finder = Finder { table, places: Vec::new() };
        let columns = find(&mut finder);
        Self { pages, table, places: finder.places, columns }
    }

    pub(crate) fn leaves(&self) -> Leaves {
        Leaves::below(self.pages, self.table.root)
    }

    /// Gives every row of these leaves to `found`.
    pub(crate) fn scan(&self, leaves: &[u32], mut found: impl FnMut(&Row<'_>, &Columns)) -> Damage {
        self.scan_places(leaves, |row, columns, _| found(row, columns))
    }

    /// The same, and where in the file the row's bytes lie: one piece after the other.
    pub(crate) fn scan_places(
        &self,
        leaves: &[u32],
        mut found: impl FnMut(&Row<'_>, &Columns, &[Piece]),
    ) -> Damage {
        let columns = &self.columns;
        scan(self.pages, self.table, leaves, &self.places, |row, pieces| found(row, columns, pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Plan;
    use super::super::schema::contents;
    use super::*;

    #[test]
    fn columns_are_found_by_name_and_absent_ones_are_null() {
        let table = contents();
        let mut find = Finder { table: &table, places: Vec::new() };
        let (sql, kind, root) = (find.text("SQL"), find.text("type"), find.integer("rootpage"));
        let (absent, again) = (find.real("no such column"), find.text("sql"));
        assert_eq!(find.places, [Some(4), Some(0), Some(3), None]);
        assert_eq!(sql.0, again.0, "a column is read once");
        // A text of one byte, two NULLs, a number of one byte, a text of one byte.
        let record = [6, 15, 0, 0, 1, 15, b't', 5, b's'];
        let row = Row::parse(&record, 1, &Plan::new(&find.places, None)).unwrap();
        assert_eq!((row.text(sql), row.text(kind)), (Some(&b"s"[..]), Some(&b"t"[..])));
        assert_eq!((row.integer(root), row.is_null(root), row.real(absent)), (Some(5), false, None));
    }
}
