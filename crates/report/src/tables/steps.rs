//! The steps of the run.

use super::column::{self, Kind};
use super::table::Table;
use crate::page::StepLine;

type Row<'p> = &'p StepLine;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn steps(rows: &[StepLine]) -> Table<'_, Row<'_>> {
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Text, "step", "step", |row| (&row.name).into()),
        Column::new(Kind::Text, "status", "status", |row| (&row.status).into()),
        Column::new(Kind::Time, "time_ns", "time", |row| row.ms.map(|ms| ms as f64 * 1e6).into()),
        Column::new(Kind::Prose, "note", "note", |row| (&row.note).into()),
    ];
    Table::new("steps", "Steps", rows.iter().collect(), columns)
}
