//! The verdict on each capture.

use record::VerdictRecord;

use super::column::{self, Kind};
use super::table::Table;

type Row<'p> = &'p VerdictRecord;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn captures(rows: &[VerdictRecord]) -> Table<'_, Row<'_>> {
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Text, "tool", "tool", |row| row.tool.as_str().into()),
        Column::new(Kind::Text, "rung", "how", |row| row.rung.as_str().into()),
        Column::new(Kind::Prose, "verdict", "verdict", |row| {
            let verdict = &row.verdict;
            let remedy = verdict.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
            format!("{}: {}{remedy}", verdict.outcome.as_str(), verdict.text).into()
        }),
        Column::new(Kind::Prose, "evidence", "evidence", |row| row.verdict.evidence.join("; ").into()),
    ];
    Table::new("captures", "Verdict on each capture", rows.iter().collect(), columns)
}
