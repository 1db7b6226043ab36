//! Counters on the terminal: the regions, then the launches, the longest first.

use std::collections::BTreeMap;

use analysis::{Counted, CountedLaunch, CounterRegions, Headline, MetricRow};

use crate::form::terminal::Align::{Left, Right};
use crate::form::terminal::{shortened, table};
use crate::printable::printable;
use crate::units::{count, duration, percentage};

const WIDEST_NAME: usize = 56;

/// One screen, `top` rows of each table.
pub fn counters_terminal(source: &str, regions: &CounterRegions, top: usize) -> String {
    let ranges = regions.regions.iter().map(|region| region.measured_on_the_whole_range.len()).sum::<usize>()
        + regions.measured_on_the_whole_range.len();
    let mut text = printable(source);
    text.push_str(&match (regions.launches, ranges) {
        (0, 0) => ": nothing was measured".to_owned(),
        (launches, 0) => format!(": {} launches", count(launches)),
        (0, ranges) => format!(": {ranges} ranges, each measured as a whole"),
        (launches, ranges) => format!(": {} launches, {ranges} ranges measured as a whole", count(launches)),
    });
    text.push('\n');
    for note in &regions.notes {
        text.push_str(&format!("note: {}\n", printable(note)));
    }
    region_table(&mut text, regions, top);
    range_table(&mut text, regions, top);
    kernel_table(&mut text, regions, top);
    text
}

fn region_table(text: &mut String, regions: &CounterRegions, top: usize) {
    let rows: Vec<Vec<String>> = regions
        .regions
        .iter()
        .filter(|region| region.counted.launches_inclusive > 0)
        .map(|region| row(region.path.to_string(), &region.counted, &regions.headlines))
        .collect();
    if !rows.is_empty() {
        section(
            text,
            "regions, with what lies inside them",
            &columns("region", &regions.headlines),
            &rows,
            top,
        );
    }
}

/// Every launch once, with its regions: it lies in one of each domain.
fn kernel_table(text: &mut String, regions: &CounterRegions, top: usize) {
    let mut launches: BTreeMap<usize, (&CountedLaunch, Vec<String>)> = BTreeMap::new();
    let counted = regions.regions.iter().map(|region| (region.path.to_string(), &region.counted));
    for (place, counted) in counted.chain([("-".to_owned(), &regions.outside)]) {
        for launch in counted.launches.iter().filter(|launch| launch.own) {
            launches.entry(launch.result).or_insert_with(|| (launch, Vec::new())).1.push(place.clone());
        }
    }
    let mut launches: Vec<_> = launches.into_values().collect();
    launches.sort_by(|(a, _), (b, _)| b.time_ns.unwrap_or(0.0).total_cmp(&a.time_ns.unwrap_or(0.0)));
    let rows: Vec<Vec<String>> = launches
        .into_iter()
        .map(|(launch, places)| {
            let mut row = vec![
                launch.result.to_string(),
                shortened(&launch.short_name, WIDEST_NAME),
                shortened(&places.join(" "), WIDEST_NAME),
                launch.time_ns.map(duration).unwrap_or_default(),
            ];
            row.extend(launch.headlines.iter().map(|value| shown(*value)));
            row
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let mut columns = vec![("ID", Right), ("kernel", Left), ("region", Left), ("time", Right)];
    columns.extend(regions.headlines.iter().map(|headline| (headline.title, Right)));
    section(text, "launches", &columns, &rows, top);
}

fn range_table(text: &mut String, regions: &CounterRegions, top: usize) {
    let mut rows = Vec::new();
    for region in &regions.regions {
        for range in &region.measured_on_the_whole_range {
            let mut row = vec![
                range.result.to_string(),
                shortened(&region.path.to_string(), WIDEST_NAME),
                range.time_ns.map(duration).unwrap_or_default(),
            ];
            row.extend(range.headlines.iter().map(|value| shown(*value)));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return;
    }
    let mut columns = vec![("ID", Right), ("region", Left), ("time", Right)];
    columns.extend(regions.headlines.iter().map(|headline| (headline.title, Right)));
    section(text, "ranges, each measured as a whole", &columns, &rows, top);
}

fn columns<'a>(first: &'a str, headlines: &'a [Headline]) -> Vec<(&'a str, crate::form::terminal::Align)> {
    let mut columns = vec![(first, Left), ("launches", Right), ("kernels", Right), ("time", Right)];
    columns.extend(headlines.iter().map(|headline| (headline.title, Right)));
    columns
}

fn row(name: String, counted: &Counted, headlines: &[Headline]) -> Vec<String> {
    let mut row = vec![
        shortened(&name, WIDEST_NAME),
        count(counted.launches_inclusive),
        counted.distinct_kernels.to_string(),
        counted.time_inclusive_ns.map(duration).unwrap_or_default(),
    ];
    row.extend(headlines.iter().map(|headline| {
        let metric = counted.metrics.iter().find(|metric: &&MetricRow| metric.name == headline.metric);
        shown(metric.and_then(|metric| metric.inclusive.value.as_ref()?.as_f64()))
    }));
    row
}

/// A percentage; a dash where it was not measured.
fn shown(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), percentage)
}

fn section(
    text: &mut String,
    title: &str,
    columns: &[(&str, crate::form::terminal::Align)],
    rows: &[Vec<String>],
    top: usize,
) {
    text.push_str(&format!("\n{title}\n{}", table(columns, &rows[..rows.len().min(top)])));
    if rows.len() > top {
        text.push_str(&format!("and {} more\n", rows.len() - top));
    }
}
