//! `<label>/region.md`: everything about one region.

use analysis::{AggregateRule, Aggregated, CounterRegion, Headline, MetricRow, WholeRange, aggregate_rule};
use counters::Value;

use super::markdown::{FORM, kernels, said, whole_ranges};
use crate::form::markdown::{Markdown, cell, code, sentence};
use crate::tables::{launches_of, ranges_of, titled};
use crate::units::{count, counted, quantity};

/// Single launches, and single ranges beside each other; `region.json` has them all.
const MOST_LAUNCHES: usize = 100;
const MOST_RANGES: usize = 8;

pub fn counter_region_markdown(region: &CounterRegion, headlines: &[Headline]) -> String {
    let mut text = format!("# {}\n\n{}\n", sentence(&titled(region)), said(region));
    kernels(&mut text, &region.counted, usize::MAX);
    launches(&mut text, region, headlines);
    let ranges = &region.measured_on_the_whole_range;
    whole_ranges(&mut text, &ranges_of(region, headlines));
    range_metrics(&mut text, ranges);
    let (measured, settings): (Vec<&MetricRow>, Vec<&MetricRow>) =
        region.counted.metrics.iter().partition(|row| row.rule.is_measured());
    metrics(&mut text, "Metrics of the launches", &measured);
    let (settings, lists): (Vec<&MetricRow>, Vec<&MetricRow>) =
        settings.iter().partition(|row| row.rule == AggregateRule::Same);
    metrics(&mut text, "Settings", &settings);
    if !lists.is_empty() {
        let number = counted(lists.len() as u64, "metric");
        text.push_str(&format!("\nLeft out because they are lists, curves or timestamps: {number}.\n"));
    }
    text
}

fn launches(text: &mut String, region: &CounterRegion, headlines: &[Headline]) {
    if !region.counted.launches.is_empty() {
        let form = Markdown { rows: MOST_LAUNCHES, ..FORM };
        text.push_str(&format!("\n## Launches\n\n{}", form.counted(&launches_of(region, headlines))));
    }
}

fn metrics(text: &mut String, title: &str, rows: &[&MetricRow]) {
    if rows.is_empty() {
        return;
    }
    text.push_str(&format!("\n## {title}\n\n"));
    heading(text, ["metric", "combined as", "inclusive", "exclusive", "launches with it"], 2);
    for metric in rows {
        let cells = [
            code(&metric.name),
            metric.rule.as_str().to_owned(),
            aggregated(metric, &metric.inclusive),
            aggregated(metric, &metric.exclusive),
            count(metric.inclusive.launches),
        ];
        row(text, &cells);
    }
}

fn aggregated(metric: &MetricRow, part: &Aggregated) -> String {
    match &part.value {
        Some(value) => shown(value, &metric.unit),
        None if part.varies() => "varies".to_owned(),
        None => "–".to_owned(),
    }
}

fn shown(value: &Value, unit: &str) -> String {
    match (value, value.as_f64()) {
        (_, Some(number)) => cell(&quantity(number, unit)),
        (Value::Text(text), _) if !text.is_empty() => code(text),
        _ => String::new(),
    }
}

/// The metrics of ranges, a column for each. Lists and curves have no value to show.
fn range_metrics(text: &mut String, ranges: &[WholeRange]) {
    let shown_ranges = &ranges[..ranges.len().min(MOST_RANGES)];
    let mut names: Vec<(&str, &str)> = shown_ranges
        .iter()
        .flat_map(|range| range.metrics.iter().map(|(name, unit, _)| (name.as_str(), unit.as_str())))
        .filter(|(name, unit)| aggregate_rule(name, unit) != AggregateRule::None)
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    text.push('\n');
    let ids: Vec<String> = shown_ranges.iter().map(|range| format!("ID {}", range.result)).collect();
    heading(text, std::iter::once("metric").chain(ids.iter().map(String::as_str)), 1);
    for (name, unit) in names {
        let value = |range: &WholeRange| {
            let at = range.metrics.binary_search_by_key(&name, |(name, _, _)| name.as_str()).ok();
            at.map_or_else(|| "–".to_owned(), |at| shown(&range.metrics[at].2, unit))
        };
        let mut cells = vec![code(name)];
        cells.extend(shown_ranges.iter().map(value));
        row(text, &cells);
    }
    let more = ranges.len() - shown_ranges.len();
    if more > 0 {
        text.push_str(&format!("\nand {}\n", counted(more as u64, "more range")));
    }
}

/// The first columns are text, the others numbers.
fn heading<'a>(text: &mut String, columns: impl IntoIterator<Item = &'a str>, left: usize) {
    let columns: Vec<String> = columns.into_iter().map(str::to_owned).collect();
    row(text, &columns);
    let rule: Vec<&str> = (0..columns.len()).map(|at| if at < left { "---" } else { "---:" }).collect();
    text.push_str(&format!("|{}|\n", rule.join("|")));
}

fn row(text: &mut String, cells: &[String]) {
    text.push_str(&format!("| {} |\n", cells.join(" | ")));
}
