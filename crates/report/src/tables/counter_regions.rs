//! Launches measured by ncu, by region.

use std::collections::BTreeSet;

use analysis::{AggregateRule, Counted, CounterRegion, CounterRegions, Headline, MetricRow};
use nvtx::Kind as RangeKind;

use super::column::{self, Kind};
use super::known::NOT_MEASURED;
use super::table::{Keys, Table, View};
use crate::units::count;

type Column<'p> = column::Column<'p, Row<'p>>;

/// What is counted for a region, or outside all regions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'p> {
    region: Option<&'p CounterRegion>,
    counted: &'p Counted,
}

const NOWHERE: &str = "outside all regions";

/// Every region, and what is outside them.
pub(crate) fn counter_regions(all: &CounterRegions) -> Table<'_, Row<'_>> {
    of(all, |_| true, true)
}

/// Regions with measured launches; `outside` adds launches outside all regions.
pub(crate) fn counted_regions(all: &CounterRegions, outside: bool) -> Table<'_, Row<'_>> {
    of(all, |region| region.counted.launches_inclusive > 0, outside)
}

fn of(all: &CounterRegions, wanted: fn(&CounterRegion) -> bool, outside: bool) -> Table<'_, Row<'_>> {
    let row = |region| Row { region: Some(region), counted: &region.counted };
    let mut rows: Vec<Row<'_>> = all.regions.iter().filter(|region| wanted(region)).map(row).collect();
    if outside && all.outside.launches_inclusive > 0 {
        rows.push(Row { region: None, counted: &all.outside });
    }
    let metrics = || all.headlines.iter().map(|headline| headline.metric);
    let of_launches = all.headlines.iter().filter(|headline| !rules(all, headline).is_empty());
    Table::new("counter_regions", "Launches measured by ncu, by region", rows, columns(&all.headlines))
        .absent(NOT_MEASURED)
        .view(View::Page, Keys::of(["region", "launches", "kernels", "time_ns"]).and(metrics()))
        .view(View::Screen, Keys::of(["region", "launches", "kernels", "time_ns"]).and(metrics()))
        .view(
            View::Sheet,
            Keys::of(["indented", "covered", "launches_exclusive", "time_ns"])
                .and(of_launches.map(|headline| headline.metric)),
        )
}

fn columns<'p>(headlines: &'p [Headline]) -> Vec<Column<'p>> {
    let mut columns = vec![
        Column::new(Kind::Name, "region", "region", |row| {
            row.region.map(|region| region.path.to_string()).into()
        })
        .absent(NOWHERE)
        .found(),
        Column::new(Kind::Text, "kind", "kind", |row| row.region.map(|region| region.kind.as_str()).into()),
        Column::new(Kind::Count, "launches", "launches", |row| row.counted.launches_inclusive.into()),
        Column::new(Kind::Count, "launches_exclusive", "own", |row| row.counted.launches_exclusive.into()),
        Column::new(Kind::Count, "launches_known", "launches in the program", |row| known(row).into()),
        Column::new(Kind::Count, "kernels", "kernels", |row| row.counted.distinct_kernels.into())
            .help("distinct"),
        Column::new(Kind::Time, "time_ns", "GPU time", |row| row.counted.time_inclusive_ns.into())
            .short("time")
            .help("measured by ncu during replay"),
    ];
    columns.extend(headlines.iter().map(|headline| {
        let value = |row: &Row<'p>| metric(row.counted, headline)?.inclusive.value.as_ref()?.as_f64();
        Column::new(Kind::Percent, headline.metric, headline.title, move |row| value(row).into())
            .help(headline.metric)
    }));
    columns.extend(
        [
            Column::new(Kind::Prose, "indented", "region", |row| {
                row.region
                    .map(|region| format!("{}{}", "· ".repeat(region.path.depth()), titled(region)))
                    .into()
            })
            .absent(NOWHERE),
            Column::new(Kind::Id, "covered", "launches", |row| covered(row.counted, known(row)).into()),
        ]
        .map(Column::for_people),
    );
    columns
}

fn known(row: &Row<'_>) -> Option<u64> {
    row.region?.known?.launches
}

/// `12 of 3,400`
pub(crate) fn covered(counted: &Counted, of: Option<u64>) -> String {
    let of = of.map(|of| format!(" of {}", count(of))).unwrap_or_default();
    format!("{}{of}", count(counted.launches_inclusive))
}

/// The path as code, with its kind if it is not push/pop.
pub(crate) fn titled(region: &CounterRegion) -> String {
    let kind = if region.kind == RangeKind::StartEnd { " (start/end)" } else { "" };
    format!("`{}`{kind}", region.path.to_string().replace('`', "'"))
}

pub(crate) fn metric<'a>(counted: &'a Counted, headline: &Headline) -> Option<&'a MetricRow> {
    let at = counted.metrics.binary_search_by_key(&headline.metric, |row| row.name.as_str()).ok()?;
    Some(&counted.metrics[at])
}

/// How a headline was aggregated; empty if only whole ranges have it.
pub(crate) fn rules(regions: &CounterRegions, headline: &Headline) -> BTreeSet<AggregateRule> {
    let all = regions.regions.iter().map(|region| &region.counted).chain([&regions.outside]);
    let rows = all.filter_map(|counted| metric(counted, headline));
    rows.filter(|row| row.inclusive.launches > 0).map(|row| row.rule).collect()
}
