//! MFU and MBU of stages.

use analysis::Efficiency;

use super::cell::Cell;
use super::column::{self, Kind};
use super::table::{Keys, Table, View};

type Row<'p> = &'p Efficiency;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn efficiency(rows: &[Efficiency]) -> Table<'_, Row<'_>> {
    let bounds = rows.iter().any(|row| row.mfu_at_most.is_some());
    let keys = || {
        let shown = Keys::of(["region", "time_ns"]);
        let shown = if bounds { shown.and(["mfu_at_most"]) } else { shown.and(["flops", "mfu"]) };
        shown.and(["bytes", "mbu"])
    };
    Table::new("efficiency", "MFU and MBU", rows.iter().collect(), columns())
        .absent("–")
        .view(View::Page, keys())
        .view(View::Stakeholder, keys())
}

fn columns<'p>() -> Vec<Column<'p>> {
    vec![
        Column::new(Kind::Text, "stage", "name", |row| (&row.stage).into()),
        Column::new(Kind::Name, "region", "stage", |row| (&row.region).into()),
        Column::new(Kind::Number(6), "seconds", "seconds", |row| row.seconds.into()),
        Column::new(Kind::Count, "tokens", "tokens", |row| row.tokens.into()),
        Column::new(Kind::Operations, "flops", "operations", |row| row.flops.into()),
        Column::new(Kind::Bytes, "bytes", "bytes", |row| row.bytes.into()),
        Column::new(Kind::Speed, "peak_flops", "peak FLOP/s", |row| row.peak_flops.into()),
        Column::new(Kind::Rate, "peak_bytes", "peak B/s", |row| row.peak_bytes.into()),
        Column::new(Kind::Text, "peak_source", "peaks from", |row| (&row.peak_source).into()),
        Column::new(Kind::Part, "mfu", "MFU", |row| row.mfu.into()),
        Column::new(Kind::Part, "mfu_at_most", "MFU at most", |row| row.mfu_at_most.into()),
        Column::new(Kind::Part, "mbu", "MBU", |row| row.mbu.into()),
        Column::new(Kind::List, "assumptions", "assumptions", |row| Cell::list(&row.assumptions)),
        Column::new(Kind::Time, "time_ns", "time per instance", |row| (row.seconds * 1e9).into())
            .for_people(),
    ]
}
