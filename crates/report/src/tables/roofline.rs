//! Measured launches against the device's peaks.

use analysis::{Achieved, MemoryLevel, RooflinePoint, Traffic, hardest};

use super::cell::Cell;
use super::column::{self, Kind};
use super::table::{Keys, Table, View};

type Row<'p> = &'p RooflinePoint;
type Column<'p> = column::Column<'p, Row<'p>>;

/// The longest first; programs get them in the order of the report.
pub(crate) fn roofline(points: &[RooflinePoint]) -> Table<'_, Row<'_>> {
    let mut rows: Vec<Row<'_>> = points.iter().collect();
    rows.sort_by(|a, b| b.time_ns.total_cmp(&a.time_ns));
    let measured =
        MemoryLevel::ALL.into_iter().filter(|name| rows.iter().any(|row| level(row, *name).is_some()));
    let of_levels = measured.flat_map(|name| LEVEL_KEYS.map(|key| format!("{name}.{key}")));
    let page = Keys::of(["kernel", "region", "result", "time_ns", "limited_by", "flops_per_second"])
        .and(["precision", "share"])
        .and(of_levels);
    Table::new("roofline", "Measured launches compared with the device's peaks", rows, columns())
        .absent("–")
        .sorted("time_ns")
        .every(|see| points.iter().try_for_each(|point| see(&point)))
        .view(View::Page, page)
        .view(
            View::Screen,
            Keys::of(["result", "kernel", "time_ns", "precision", "tera_flops", "share"]).and([
                "dram_giga_bytes",
                "DRAM.share",
                "DRAM.intensity",
                "ridge",
            ]),
        )
}

/// Of each level of memory, in the page.
const LEVEL_KEYS: [&str; 4] = ["bytes_per_second", "share", "intensity", "headroom"];

fn columns<'p>() -> Vec<Column<'p>> {
    let mut columns = vec![
        Column::new(Kind::Id, "result", "ID", |row| row.result.into()).help("number in the report"),
        Column::new(Kind::Name, "kernel", "kernel", |row| (&row.kernel).into()).found(),
        Column::new(Kind::Name, "region", "region", |row| row.region.as_deref().into()).found(),
        Column::new(Kind::Time, "time_ns", "time", |row| row.time_ns.into())
            .help("measured by ncu during replay"),
        Column::new(Kind::Text, "bound", "bound", |row| Cell::code(&row.bound)),
        Column::new(Kind::List, "precisions", "precisions", |row| Cell::list(&row.precisions)),
        Column::new(Kind::List, "traffic", "traffic", |row| Cell::list(&row.traffic)),
    ];
    columns.extend(
        [
            Column::new(Kind::Text, "limited_by", "limited by", |row| row.bound.as_str().into()),
            Column::new(Kind::Speed, "flops_per_second", "FLOP/s", |row| {
                Some(flops(row)).filter(|flops| *flops > 0.0).into()
            })
            .help("all precisions"),
            Column::new(Kind::Text, "precision", "precision", |row| {
                hardest(&row.precisions).map(|hardest| hardest.precision.to_string()).into()
            })
            .help("the one with the most operations"),
            Column::new(Kind::Number(2), "tera_flops", "TFLOP/s", |row| {
                hardest(&row.precisions).map(|hardest| hardest.flops_per_second / 1e12).into()
            })
            .help("for that precision"),
            Column::new(Kind::Part, "share", "of peak", |row| {
                hardest(&row.precisions).and_then(|hardest| hardest.share).into()
            })
            .help("for that precision"),
            Column::new(Kind::Number(0), "dram_giga_bytes", "DRAM GB/s", |row| {
                level(row, MemoryLevel::Dram).map(|dram| dram.bytes_per_second / 1e9).into()
            }),
            Column::new(Kind::Number(1), "ridge", "ridge", |row| {
                level(row, MemoryLevel::Dram).and_then(|dram| dram.ridge).into()
            }),
        ]
        .map(Column::for_people),
    );
    columns.extend(MemoryLevel::ALL.into_iter().flat_map(level_columns).map(Column::for_people));
    columns
}

fn level_columns<'p>(name: MemoryLevel) -> [Column<'p>; 4] {
    let [speed, share, intensity, headroom] = LEVEL_KEYS.map(|key| format!("{name}.{key}"));
    let of = move |row: &Row<'p>, of: fn(&Traffic) -> Option<f64>| level(row, name).and_then(of);
    [
        Column::new(Kind::Rate, speed, format!("{name} B/s"), move |row| {
            of(row, |level| Some(level.bytes_per_second)).into()
        }),
        Column::new(Kind::Part, share, format!("{name} of peak"), move |row| {
            of(row, |level| level.share).into()
        })
        .short("of peak"),
        Column::new(Kind::Number(2), intensity, format!("{name} FLOP/B"), move |row| {
            of(row, |level| level.intensity).into()
        })
        .short("FLOP/byte")
        .help("operations per byte"),
        Column::new(Kind::Times, headroom, format!("{name} headroom"), move |row| {
            of(row, |level| level.headroom).into()
        })
        .help("possible speedup under this roof"),
    ]
}

fn level(row: &RooflinePoint, name: MemoryLevel) -> Option<&Traffic> {
    row.traffic.iter().find(|traffic| traffic.level == name)
}

pub(crate) fn flops(point: &RooflinePoint) -> f64 {
    point.precisions.iter().map(|achieved| achieved.flops_per_second).sum()
}

/// Precisions that did anything.
pub(crate) fn worked(point: &RooflinePoint) -> impl Iterator<Item = &Achieved> {
    point.precisions.iter().filter(|achieved| achieved.flops_per_second > 0.0)
}
