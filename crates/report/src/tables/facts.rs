//! Names and values, without a heading.

use super::column::{self, Kind};
use super::table::Table;

type Row<'p> = &'p (String, String);
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn facts(rows: &[(String, String)]) -> Table<'_, Row<'_>> {
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Text, "name", "", |(name, _)| name.into()),
        Column::new(Kind::Text, "value", "", |(_, value)| value.into()),
    ];
    Table::new("facts", "Names and values", rows.iter().collect(), columns)
}
