//! Ranges measured by ncu as a whole.

use analysis::{CounterRegion, CounterRegions, Headline, WholeRange};

use super::column::{self, Kind};
use super::counter_regions::titled;
use super::known::NOT_MEASURED;
use super::table::{Keys, Table, View};

/// A range and its region, if known.
pub(crate) type Row<'p> = (Option<&'p CounterRegion>, &'p WholeRange);
type Column<'p> = column::Column<'p, Row<'p>>;

/// Those of all regions, then those whose region is unknown.
pub(crate) fn counter_ranges(all: &CounterRegions) -> Table<'_, Row<'_>> {
    let mut rows: Vec<Row<'_>> = of_regions(all).collect();
    rows.extend(all.measured_on_the_whole_range.iter().map(|range| (None, range)));
    of(rows, &all.headlines)
}

/// Of all regions alone.
pub(crate) fn ranges_of_regions(all: &CounterRegions) -> Table<'_, Row<'_>> {
    of(of_regions(all).collect(), &all.headlines)
}

/// Of one region.
pub(crate) fn ranges_of<'p>(region: &'p CounterRegion, headlines: &'p [Headline]) -> Table<'p, Row<'p>> {
    of(region.measured_on_the_whole_range.iter().map(|range| (Some(region), range)).collect(), headlines)
}

fn of_regions(all: &CounterRegions) -> impl Iterator<Item = Row<'_>> {
    all.regions
        .iter()
        .flat_map(|region| region.measured_on_the_whole_range.iter().map(move |range| (Some(region), range)))
}

fn of<'p>(rows: Vec<Row<'p>>, headlines: &'p [Headline]) -> Table<'p, Row<'p>> {
    let ambiguous = rows.iter().any(|(_, range)| !range.also_open.is_empty());
    let metrics = || headlines.iter().map(|headline| headline.metric);
    Table::new("counter_ranges", "Ranges measured by ncu as a whole", rows, columns(headlines))
        .absent(NOT_MEASURED)
        .view(View::Page, Keys::of(["region", "id", "time_ns"]).and(metrics()))
        .view(View::Screen, Keys::of(["id", "region", "time_ns"]).and(metrics()))
        .view(
            View::Sheet,
            Keys::of(["titled", "id", "time_ns"]).and(metrics()).when(ambiguous, ["or_measured_on"]),
        )
}

fn columns<'p>(headlines: &'p [Headline]) -> Vec<Column<'p>> {
    let mut columns = vec![
        Column::new(Kind::Id, "id", "ID", |(_, range)| range.result.into()).help("number in the report"),
        Column::new(Kind::Name, "region", "region", |(region, _)| {
            region.map(|region| region.path.to_string()).into()
        })
        .absent("region unknown")
        .found(),
        Column::new(Kind::Time, "time_ns", "GPU time", |(_, range)| range.time_ns.into())
            .short("time")
            .help("measured by ncu during replay"),
    ];
    columns.extend(headlines.iter().enumerate().map(|(at, headline)| {
        Column::new(Kind::Percent, headline.metric, headline.title, move |(_, range)| {
            range.headlines.get(at).copied().flatten().into()
        })
        .help(headline.metric)
    }));
    columns.extend(
        [
            Column::new(Kind::Prose, "titled", "region", |(region, _)| region.map(titled).into())
                .absent("region unknown"),
            Column::new(Kind::Prose, "or_measured_on", "or measured on", |(_, range)| {
                let path = |path: &nvtx::RegionPath| format!("`{}`", path.to_string().replace('`', "'"));
                range.also_open.iter().map(path).collect::<Vec<_>>().join(", ").into()
            }),
        ]
        .map(Column::for_people),
    );
    columns
}
