//! Launches that ncu measured, one by one.

use std::collections::BTreeMap;

use analysis::{CountedLaunch, CounterRegion, CounterRegions, Headline};

use super::cell::Cell;
use super::column::{self, Kind};
use super::table::{Keys, Table, View};

type Column<'p> = column::Column<'p, Row<'p>>;

/// A launch and the regions it lies in.
#[derive(Debug)]
pub(crate) struct Row<'p> {
    launch: &'p CountedLaunch,
    regions: Vec<String>,
}

/// Every launch once, the longest first: it lies in one region of each domain.
pub(crate) fn counter_launches(all: &CounterRegions) -> Table<'_, Row<'_>> {
    let mut launches: BTreeMap<usize, Row<'_>> = BTreeMap::new();
    let counted = all.regions.iter().map(|region| (Some(region), &region.counted));
    for (region, counted) in counted.chain([(None, &all.outside)]) {
        for launch in counted.launches.iter().filter(|launch| launch.own) {
            let row = launches.entry(launch.result).or_insert_with(|| Row { launch, regions: Vec::new() });
            row.regions.extend(region.map(|region| region.path.to_string()));
        }
    }
    let mut rows: Vec<Row<'_>> = launches.into_values().collect();
    let time = |row: &Row<'_>| row.launch.time_ns.unwrap_or(0.0);
    rows.sort_by(|a, b| time(b).total_cmp(&time(a)));
    of(rows, &all.headlines)
}

/// Those of one region, in the order they were measured.
pub(crate) fn launches_of<'p>(region: &'p CounterRegion, headlines: &'p [Headline]) -> Table<'p, Row<'p>> {
    let row = |launch| Row { launch, regions: vec![region.path.to_string()] };
    of(region.counted.launches.iter().map(row).collect(), headlines)
}

fn of<'p>(rows: Vec<Row<'p>>, headlines: &'p [Headline]) -> Table<'p, Row<'p>> {
    let metrics = || headlines.iter().map(|headline| headline.metric);
    Table::new("counter_launches", "Launches measured by ncu", rows, columns(headlines))
        .view(View::Screen, Keys::of(["id", "kernel", "places", "time_ns"]).and(metrics()))
        .view(View::Sheet, Keys::of(["kernel", "own", "id", "time_ns"]).and(metrics()))
}

fn columns<'p>(headlines: &'p [Headline]) -> Vec<Column<'p>> {
    let mut columns = vec![
        Column::new(Kind::Id, "id", "ID", |row| row.launch.result.into()).help("number in the report"),
        Column::new(Kind::Name, "kernel", "kernel", |row| (&row.launch.short_name).into()),
        Column::new(Kind::List, "regions", "regions", |row| Cell::list(&row.regions)),
        Column::new(Kind::Time, "time_ns", "GPU time", |row| row.launch.time_ns.into()).short("time"),
    ];
    columns.extend(headlines.iter().enumerate().map(|(at, headline)| {
        Column::new(Kind::Percent, headline.metric, headline.title, move |row| {
            row.launch.headlines.get(at).copied().flatten().into()
        })
        .help(headline.metric)
    }));
    columns.extend(
        [
            Column::new(Kind::Name, "places", "region", |row| {
                Some(row.regions.join(" ")).filter(|places| !places.is_empty()).into()
            }),
            Column::new(Kind::Text, "own", "own", |row| row.launch.own.then_some("yes").into()).absent(""),
        ]
        .map(Column::for_people),
    );
    columns
}
