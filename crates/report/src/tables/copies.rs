//! Copies and fills by direction.

use analysis::{Analysis, TransferRow};

use super::cell::Cell;
use super::column::{self, Kind};
use super::place::{is_split, process_called};
use super::table::{Keys, Table, View};

type Row<'p> = &'p TransferRow;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn copies(analysis: &Analysis) -> Table<'_, Row<'_>> {
    Table::new("copies", "Copies and fills", analysis.memcpy.iter().collect(), columns())
        .view(
            View::Page,
            Keys::of(["direction", "share", "total_ns", "calls", "mean_ns", "bytes", "bytes_per_second"]),
        )
        .view(
            View::Screen,
            Keys::of(["direction"]).when(is_split(analysis), ["process_called", "device"]).and([
                "calls",
                "bytes",
                "total_ns",
                "bytes_per_second",
            ]),
        )
}

fn columns<'p>() -> Vec<Column<'p>> {
    vec![
        Column::new(Kind::Text, "direction", "direction", |row| row.direction.as_str().into())
            .short("copies"),
        Column::new(Kind::Id, "process", "process", |row| row.place.process.into()),
        Column::new(Kind::Id, "device", "GPU", |row| row.place.device.into()),
        Column::new(Kind::Bytes, "bytes", "bytes", |row| row.bytes.into()),
        Column::new(Kind::Rate, "bytes_per_second", "bandwidth", |row| row.bytes_per_second.into()),
        Column::new(Kind::Count, "calls", "calls", |row| row.statistics.calls.into()),
        Column::new(Kind::Time, "total_ns", "total", |row| row.statistics.total_ns.into()),
        Column::new(Kind::Time, "mean_ns", "mean", |row| Cell::Nanoseconds(row.statistics.mean_ns)),
        Column::new(Kind::Time, "median_ns", "median", |row| Cell::Nanoseconds(row.statistics.median_ns)),
        Column::new(Kind::Time, "min_ns", "min", |row| row.statistics.min_ns.into()),
        Column::new(Kind::Time, "max_ns", "max", |row| row.statistics.max_ns.into()),
        Column::new(Kind::Time, "std_ns", "std", |row| Cell::Nanoseconds(row.statistics.std_ns)),
        Column::new(Kind::Share, "share", "share", |row| row.statistics.share.into())
            .help("of total copy and fill time"),
        Column::new(Kind::Id, "rank", "rank", |row| row.place.origin.rank.into()),
        Column::new(Kind::Id, "recording", "recording", |row| row.place.origin.recording.into()),
        Column::new(Kind::Id, "process_called", "process", |row| {
            process_called(row.place.process, row.place.origin).into()
        })
        .for_people(),
    ]
}
