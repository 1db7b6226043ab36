//! Operators of a framework, on the host and on devices.

use analysis::{Analysis, OperatorRow};

use super::cell::Cell;
use super::column::{self, Kind};
use super::place::process_called;
use super::table::{Keys, More, Table, View};
use crate::printable::printable;
use crate::units::{counted, duration};

type Row<'p> = &'p OperatorRow;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn operators(analysis: &Analysis) -> Table<'_, Row<'_>> {
    let more = analysis.more_operators.map(|more| More {
        rows: more.operators,
        of: "operator",
        named: "name",
        sums: vec![
            ("calls", more.calls.into()),
            ("host_self_ns", more.host_self_ns.into()),
            ("device_self_ns", more.device_self_ns.into()),
            ("activities", more.activities.into()),
        ],
        told: format!(": {}, {} on GPUs", counted(more.calls, "call"), duration(more.device_self_ns as f64)),
    });
    let device = analysis.operators.iter().any(|row| row.activities > 0);
    let on_host = ["host_self_ns", "host_total_ns", "host_mean_ns"];
    let on_device = ["device_self_ns", "device_total_ns"];
    Table::new("operators", "Framework operators", analysis.operators.iter().collect(), columns())
        .more(more)
        .view(
            View::Page,
            Keys::of(["name"])
                .when(analysis.scope.by_process, ["process"])
                .when(!analysis.recordings.is_empty(), ["origin"])
                .and(["calls"])
                .and(on_host)
                .when(device, on_device)
                .when(device, ["activities"]),
        )
        .view(
            View::Screen,
            Keys::of(["name"])
                .when(analysis.scope.by_process, ["process_called"])
                .and(["calls", "host_self_ns", "host_total_ns"])
                .when(device, on_device),
        )
        .view(
            View::Sheet,
            Keys::of(["name", "calls"])
                .and(on_host)
                .when(device, on_device)
                .when(device, ["activities", "longest", "in_regions"]),
        )
        .view(
            View::Stakeholder,
            Keys::of(["name", "calls", "host_self_ns"]).when(device, ["device_total_ns"]),
        )
}

fn columns<'p>() -> Vec<Column<'p>> {
    vec![
        Column::new(Kind::Name, "name", "operator", |row| (&row.name).into()).found(),
        Column::new(Kind::Id, "process", "process", |row| row.process.into()),
        Column::new(Kind::Count, "calls", "calls", |row| row.calls.into()),
        Column::new(Kind::Time, "host_total_ns", "host total", |row| row.host_total_ns.into()),
        Column::new(Kind::Time, "host_self_ns", "host self", |row| row.host_self_ns.into())
            .help("without the operators it calls"),
        Column::new(Kind::Time, "host_mean_ns", "host mean", |row| Cell::Nanoseconds(row.host_mean_ns)),
        Column::new(Kind::Time, "device_total_ns", "device total", |row| row.device_total_ns.into()),
        Column::new(Kind::Time, "device_self_ns", "device self", |row| row.device_self_ns.into()),
        Column::new(Kind::Count, "activities", "kernels and copies", |row| row.activities.into()),
        Column::new(Kind::List, "kernels", "kernels", |row| Cell::list(&row.kernels)),
        Column::new(Kind::List, "regions", "regions", |row| Cell::list(&row.regions)),
        Column::new(Kind::Id, "rank", "rank", |row| row.origin.rank.into()),
        Column::new(Kind::Id, "recording", "recording", |row| row.origin.recording.into()),
        Column::new(Kind::Text, "origin", "recording", |row| row.origin.called().into()).for_people(),
        Column::new(Kind::Id, "process_called", "process", |row| {
            process_called(row.process, row.origin).into()
        })
        .for_people(),
        Column::new(Kind::Prose, "longest", "longest kernels", |row| named(&row.kernels, bare).into())
            .for_people(),
        Column::new(Kind::Prose, "in_regions", "in regions", |row| named(&row.regions, |path| path).into())
            .for_people(),
    ]
}

/// `` `gemm` 1.20 ms, `copy` 3.00 us ``
fn named(rows: &[(String, i64)], called: fn(&str) -> &str) -> String {
    let one = |(name, ns): &(String, i64)| {
        let name = printable(called(name)).replace('`', "'");
        format!("`{name}` {}", duration(*ns as f64))
    };
    rows.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A kernel without its template arguments; `Memcpy HtoD (Pinned -> Device)` as it is.
fn bare(name: &str) -> &str {
    if name.starts_with("Mem") { name } else { trace::names::short(name) }
}
