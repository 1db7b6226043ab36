//! The steps of the run.

use record::Step;

use super::column::{self, Kind};
use super::table::Table;

type Row<'p> = &'p Step;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn steps(rows: &[Step]) -> Table<'_, Row<'_>> {
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Text, "step", "step", |row| row.name.as_str().into()),
        Column::new(Kind::Text, "status", "status", |row| row.status.as_str().into()),
        Column::new(Kind::Time, "time_ns", "time", |row| row.duration_ms.map(|ms| ms as f64 * 1e6).into()),
        Column::new(Kind::Prose, "note", "note", |row| row.note.as_deref().unwrap_or_default().into()),
    ];
    Table::new("steps", "Steps", rows.iter().collect(), columns)
}
