//! What each capture really was.

use super::column::{self, Kind};
use super::table::Table;
use crate::page::VerdictLine;

type Row<'p> = &'p VerdictLine;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn captures(rows: &[VerdictLine]) -> Table<'_, Row<'_>> {
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Text, "tool", "tool", |row| (&row.tool).into()),
        Column::new(Kind::Text, "rung", "rung", |row| (&row.rung).into()),
        Column::new(Kind::Prose, "verdict", "verdict", |row| {
            let remedy = row.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
            format!("{}: {}{remedy}", row.outcome, row.text).into()
        }),
        Column::new(Kind::Prose, "evidence", "what it is told from", |row| row.evidence.join("; ").into()),
    ];
    Table::new("captures", "What each capture was", rows.iter().collect(), columns)
}
