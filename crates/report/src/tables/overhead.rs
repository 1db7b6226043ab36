//! What profiling cost: regions with the profiler and with only the tracer.

use analysis::Overhead;

use super::column::{self, Kind};
use super::table::{Keys, Table, View};

/// What the times are, as a sentence.
pub(crate) const OVERHEAD_TIMES: &str = "Medians without the first instance, where there are several";

type Row<'p> = &'p Overhead;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn overhead(rows: &[Overhead]) -> Table<'_, Row<'_>> {
    let keys = || Keys::of(["region", "instances", "rehearsed_ns", "profiled_ns", "ratio"]);
    Table::new("overhead", "What profiling cost", rows.iter().collect(), columns())
        .view(View::Page, keys())
        .view(View::Sheet, keys())
        .view(View::Stakeholder, keys())
}

fn columns<'p>() -> Vec<Column<'p>> {
    vec![
        Column::new(Kind::Name, "region", "region", |row| (&row.region).into()),
        Column::new(Kind::Count, "instances", "instances", |row| row.instances.into()),
        Column::new(Kind::Time, "rehearsed_ns", "rehearsed", |row| row.rehearsed_ns.into()),
        Column::new(Kind::Time, "profiled_ns", "profiled", |row| row.profiled_ns.into()),
        Column::new(Kind::Number(2), "ratio", "ratio", |row| row.ratio.into()),
    ]
}
