//! Every combination of kernel, launch shape and region, and what limits it.

use analysis::{Confidence, Joined, JoinedKernel};

use super::cell::Cell;
use super::column::{self, Kind};
use super::known::{NOT_MEASURED, own_counter_columns};
use super::place::three;
use super::table::{Keys, Table, View};

type Row<'p> = &'p JoinedKernel;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn bounds(joined: &Joined) -> Table<'_, Row<'_>> {
    let percents = ["sm_percent", "dram_percent", "occupancy_percent"];
    Table::new("bounds", "Kernels by region and launch shape", joined.kernels.iter().collect(), columns())
        .absent(NOT_MEASURED)
        .sorted("gpu_ns")
        .view(
            View::Page,
            Keys::of(["name", "region", "shape", "share", "gpu_ns", "launches", "limited_by"])
                .and(percents)
                .and(["counters_from", "why"]),
        )
        .view(
            View::Screen,
            Keys::of(["name", "region", "launches", "gpu_ns", "share", "limited_by_marked"]).and(percents),
        )
}

fn columns<'p>() -> Vec<Column<'p>> {
    let mut columns = vec![
        Column::new(Kind::Name, "name", "kernel", |row| Cell::name(&row.short_name, &row.name)).found(),
        Column::new(Kind::Name, "short_name", "short name", |row| (&row.short_name).into()),
        Column::new(Kind::List, "grid", "grid", |row| Cell::list(&row.grid)),
        Column::new(Kind::List, "block", "block", |row| Cell::list(&row.block)),
        Column::new(Kind::Name, "region", "region", |row| row.region.as_deref().into())
            .absent("in no push/pop range")
            .found(),
        Column::new(Kind::Text, "other_thread", "of other threads", |row| row.other_thread.into())
            .help("launched by threads without a range, while only the region's thread had one open"),
        Column::new(Kind::Count, "launches", "launches", |row| row.launches.into()),
        Column::new(Kind::Time, "gpu_ns", "time", |row| row.gpu_ns.into())
            .help("from the timeline, not from replay"),
        Column::new(Kind::Share, "share", "share", |row| row.share.into()).help("of GPU time"),
        Column::new(Kind::Text, "confidence", "confidence", |row| Cell::code(&row.confidence)),
        Column::new(Kind::List, "results", "results", |row| Cell::list(&row.results)),
        Column::new(Kind::Text, "bound", "bound", |row| Cell::code(&row.bound)),
        Column::new(Kind::Name, "why", "why", |row| (&row.why).into()),
    ];
    columns.extend(own_counter_columns());
    columns.extend(
        [
            Column::new(Kind::Text, "shape", "grid / block", |row| {
                format!("{} / {}", three(row.grid), three(row.block)).into()
            }),
            Column::new(Kind::Text, "limited_by", "limited by", |row| limited_by(row).into()),
            Column::new(Kind::Text, "limited_by_marked", "limited by", |row| match row.confidence {
                Confidence::OtherRegion => format!("{} *", limited_by(row)).into(),
                _ => limited_by(row).into(),
            }),
            Column::new(Kind::Text, "counters_from", "counters from", |row| match row.confidence {
                Confidence::Measured => "this region".into(),
                Confidence::OtherRegion => "another region".into(),
                Confidence::None => NOT_MEASURED.into(),
            }),
        ]
        .map(Column::for_people),
    );
    columns
}

fn limited_by(row: &JoinedKernel) -> &'static str {
    match row.confidence {
        Confidence::None => NOT_MEASURED,
        _ => row.bound.as_str(),
    }
}
