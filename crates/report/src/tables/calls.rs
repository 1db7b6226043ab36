//! CUDA calls by name, on the host.

use analysis::{Analysis, ApiRow};

use super::cell::Cell;
use super::column::{self, Kind};
use super::place::process_called;
use super::table::{Keys, More, Table, View};
use crate::units::{counted, duration};

type Row<'p> = &'p ApiRow;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn calls(analysis: &Analysis) -> Table<'_, Row<'_>> {
    let more = analysis.more_api.map(|more| More {
        rows: more.rows,
        of: "call",
        named: "name",
        sums: vec![("calls", more.calls.into()), ("total_ns", more.total_ns.into())],
        told: format!(": {}, {}", counted(more.calls, "call"), duration(more.total_ns as f64)),
    });
    Table::new("calls", "CUDA calls, host time", analysis.api.iter().collect(), columns())
        .more(more)
        .view(
            View::Page,
            Keys::of(["name"]).when(analysis.scope.by_process, ["process_called"]).and([
                "share",
                "total_ns",
                "calls",
                "mean_ns",
                "median_ns",
                "max_ns",
                "waits",
            ]),
        )
        .view(
            View::Screen,
            Keys::of(["name"])
                .when(analysis.scope.by_process, ["process_called"])
                .and(["calls", "total_ns", "mean_ns", "share"]),
        )
}

fn columns<'p>() -> Vec<Column<'p>> {
    vec![
        Column::new(Kind::Name, "name", "call", |row| Cell::name(trace::names::call(&row.name), &row.name))
            .found(),
        Column::new(Kind::Id, "process", "process", |row| row.place.process.into()),
        Column::new(Kind::Id, "device", "GPU", |row| row.place.device.into()),
        Column::new(Kind::Text, "synchronises", "synchronizes", |row| row.synchronises.into()),
        Column::new(Kind::Count, "calls", "calls", |row| row.statistics.calls.into()),
        Column::new(Kind::Time, "total_ns", "total", |row| row.statistics.total_ns.into()),
        Column::new(Kind::Time, "mean_ns", "mean", |row| Cell::Nanoseconds(row.statistics.mean_ns)),
        Column::new(Kind::Time, "median_ns", "median", |row| Cell::Nanoseconds(row.statistics.median_ns)),
        Column::new(Kind::Time, "min_ns", "min", |row| row.statistics.min_ns.into()),
        Column::new(Kind::Time, "max_ns", "max", |row| row.statistics.max_ns.into()),
        Column::new(Kind::Time, "std_ns", "std", |row| Cell::Nanoseconds(row.statistics.std_ns)),
        Column::new(Kind::Share, "share", "share", |row| row.statistics.share.into())
            .help("of total call time"),
        Column::new(Kind::Id, "rank", "rank", |row| row.place.origin.rank.into()),
        Column::new(Kind::Id, "recording", "recording", |row| row.place.origin.recording.into()),
        Column::new(Kind::Id, "process_called", "process", |row| {
            process_called(row.place.process, row.place.origin).into()
        })
        .for_people(),
        Column::new(Kind::Text, "waits", "waits for GPU", |row| row.synchronises.then_some("yes").into())
            .for_people(),
    ]
}
