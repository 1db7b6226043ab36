//! Every run of the workload.

use record::Pass;

use super::column::{self, Kind};
use super::table::Table;

type Row<'p> = &'p Pass;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn passes(rows: &[Pass]) -> Table<'_, Row<'_>> {
    let ns = |ms: u64| ms as f64 * 1e6;
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Text, "pass", "pass", |row| row.name.to_string().into()),
        Column::new(Kind::Text, "ending", "ended with", |row| row.ending.to_string().into()),
        Column::new(Kind::Time, "wall_ns", "wall time", move |row| ns(row.wall_ms).into()),
        Column::new(Kind::Time, "user_ns", "user time", move |row| ns(row.usage.user_ms).into())
            .help("of all processes"),
        Column::new(Kind::Time, "system_ns", "system time", move |row| ns(row.usage.system_ms).into())
            .help("of all processes"),
        Column::new(Kind::Bytes, "max_rss_bytes", "peak memory", |row| {
            (row.usage.max_rss_kb as f64 * 1024.0).into()
        })
        .help("of the largest process"),
        Column::new(Kind::Bytes, "stdout_bytes", "stdout", |row| row.stdout_bytes.into()),
        Column::new(Kind::Bytes, "stderr_bytes", "stderr", |row| row.stderr_bytes.into()),
    ];
    Table::new("passes", "Every run of the workload", rows.iter().collect(), columns)
}
