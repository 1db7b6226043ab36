//! Kernels that ncu measured in a region.

use analysis::{Counted, CountedKernel};

use super::cell::Cell;
use super::column::{self, Kind};
use super::table::{Keys, Table, View};

type Row<'p> = &'p CountedKernel;
type Column<'p> = column::Column<'p, Row<'p>>;

pub(crate) fn counter_kernels(counted: &Counted) -> Table<'_, Row<'_>> {
    Table::new("counter_kernels", "Kernels measured by ncu", counted.kernels.iter().collect(), columns())
        .view(View::Sheet, Keys::of(["share", "time_ns", "launches", "grid", "block", "name"]))
}

fn columns<'p>() -> Vec<Column<'p>> {
    let shape = |row: &Row<'p>, at: usize| -> Cell<'static> {
        row.shape.map(|shape| shape[at].map(|size| size.to_string()).join("x")).into()
    };
    vec![
        Column::new(Kind::Name, "name", "kernel", |row| (&row.name).into()),
        Column::new(Kind::Name, "short_name", "short name", |row| (&row.short_name).into()),
        Column::new(Kind::Id, "grid", "grid", move |row| shape(row, 0)).absent(""),
        Column::new(Kind::Id, "block", "block", move |row| shape(row, 1)).absent(""),
        Column::new(Kind::Count, "launches", "launches", |row| row.launches.into()),
        Column::new(Kind::Time, "time_ns", "GPU time", |row| row.time_ns.into()),
        Column::new(Kind::Share, "share", "share", |row| row.share.into()).absent(""),
    ]
}
