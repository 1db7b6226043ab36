//! Host time of each region in the rehearsal, with the first instance separate.

use std::cmp::Reverse;

use analysis::{Region, Times};

use super::cell::Cell;
use super::column::{self, Kind};
use super::table::{Keys, More, Table, View};

/// Nobody reads more rows.
const MOST: usize = 500;

type Row<'p> = &'p Region;
type Column<'p> = column::Column<'p, Row<'p>>;

/// Those with the most time, in the order of the program.
pub(crate) fn rehearsed(regions: &[Region]) -> Table<'_, Row<'_>> {
    let total = |at: &usize| regions[*at].times.map_or(0, |times| times.total_ns);
    let mut by_time: Vec<usize> = (0..regions.len()).collect();
    by_time.sort_by_key(|at| Reverse(total(at)));
    let left_out = by_time.split_off(by_time.len().min(MOST));
    by_time.sort_unstable();
    let instances: u64 = left_out.iter().map(|at| regions[*at].instances).sum();
    let more = (!left_out.is_empty()).then(|| More {
        rows: left_out.len() as u64,
        of: "possibly overlapping region",
        named: "region",
        sums: vec![
            ("instances", instances.into()),
            ("total_ns", left_out.iter().map(total).fold(0, i64::saturating_add).into()),
        ],
        told: String::new(),
    });
    let rows: Vec<Row<'_>> = by_time.iter().map(|at| &regions[*at]).collect();
    let open = rows.iter().any(|region| region.open > 0);
    Table::new("rehearsed", "Regions in the rehearsal, host time", rows, columns()).more(more).view(
        View::Sheet,
        Keys::of(["region", "kind", "instances"]).when(open, ["open"]).and([
            "total_ns",
            "first_ns",
            "steady.mean_ns",
            "steady.std_ns",
            "steady.p50_ns",
            "steady.p95_ns",
        ]),
    )
}

fn columns<'p>() -> Vec<Column<'p>> {
    let steady = |key, title, of: fn(&Times) -> i64| {
        Column::new(Kind::Time, key, title, move |row: &Row<'p>| -> Cell<'_> {
            row.steady.as_ref().map(of).into()
        })
    };
    vec![
        Column::new(Kind::Name, "region", "region", |row| row.path.to_string().into()),
        Column::new(Kind::Text, "kind", "kind", |row| row.kind.as_str().into()),
        Column::new(Kind::Count, "instances", "instances", |row| row.instances.into()),
        Column::new(Kind::Count, "open", "never ended", |row| row.open.into()),
        Column::new(Kind::Time, "total_ns", "total", |row| row.times.map(|times| times.total_ns).into()),
        Column::new(Kind::Time, "first_ns", "first", |row| row.first_ns.into()),
        steady("steady.mean_ns", "steady mean", |times| times.mean_ns),
        steady("steady.std_ns", "std", |times| times.std_ns),
        steady("steady.p50_ns", "p50", |times| times.p50_ns),
        steady("steady.p95_ns", "p95", |times| times.p95_ns),
    ]
}
