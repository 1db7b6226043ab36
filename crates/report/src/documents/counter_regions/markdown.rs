//! `report.md`: one screen of all regions, then each with its kernels.

use std::collections::BTreeSet;

use analysis::{AggregateRule, Counted, CounterRegion, CounterRegions, Headline, MetricRow, WholeRange};
use nvtx::{Kind, RegionPath};

use crate::form::markdown::{cell, sentence};
use crate::units::{count, duration, percent};

/// Kernels of each region.
const TOP: usize = 5;

pub fn counter_regions_markdown(regions: &CounterRegions) -> String {
    let mut text = "# Counters by region\n\n".to_owned();
    text.push_str(&summary(regions));
    overview(&mut text, regions);
    whole_ranges(&mut text, &all_ranges(regions), &regions.headlines);
    if !is_empty(regions) {
        footnotes(&mut text, regions);
    }
    for region in &regions.regions {
        text.push_str(&format!("\n## {}\n\n", title(region)));
        text.push_str(&format!("{} More: [{1}/region.md]({1}/region.md).\n", said(region), region.label));
        kernels(&mut text, &region.counted, TOP);
    }
    if regions.outside.launches_inclusive > 0 {
        text.push_str(&format!("\n## In no region\n\n{}.\n", launches(&regions.outside, None)));
        kernels(&mut text, &regions.outside, TOP);
    }
    text
}

/// With the names of their regions.
fn all_ranges(regions: &CounterRegions) -> Vec<(String, &WholeRange)> {
    let of_regions = regions.regions.iter().flat_map(|region| {
        region.measured_on_the_whole_range.iter().map(move |range| (title(region), range))
    });
    let of_none = regions.measured_on_the_whole_range.iter().map(|range| ("in no region".to_owned(), range));
    of_regions.chain(of_none).collect()
}

fn summary(regions: &CounterRegions) -> String {
    let mut text = format!("{} counted", plural(regions.launches, "launch", "launches"));
    let in_none = regions.outside.launches_inclusive;
    if in_none > 0 && in_none < regions.launches {
        text.push_str(&format!(", {} of them in no region", count(in_none)));
    }
    let ranges: BTreeSet<usize> = all_ranges(regions).iter().map(|(_, range)| range.result).collect();
    let ranges = ranges.len() as u64;
    if ranges > 0 {
        text.push_str(&format!(", {} measured as a whole", plural(ranges, "range", "ranges")));
    }
    text.push_str(". Values are of what was counted alone, as ncu ran it: compare them with each other, and take the time of the program from a timeline.\n\n");
    if regions.left_out > 0 {
        let patterns = |word: &str, patterns: &[String]| {
            let quoted: Vec<String> = patterns.iter().map(|pattern| code(pattern)).collect();
            if quoted.is_empty() { String::new() } else { format!("; {word} {}", quoted.join(", ")) }
        };
        text.push_str(&format!(
            "{} left out by the patterns{}{}.\n\n",
            plural(regions.left_out, "launch is", "launches are"),
            patterns("include", &regions.include),
            patterns("exclude", &regions.exclude),
        ));
    }
    for note in &regions.notes {
        text.push_str(&format!("Note: {}\n\n", sentence(note)));
    }
    text
}

fn is_empty(regions: &CounterRegions) -> bool {
    regions.regions.is_empty() && regions.outside.launches_inclusive == 0
}

fn overview(text: &mut String, regions: &CounterRegions) {
    if is_empty(regions) {
        text.push_str("There is no region and no launch in it.\n");
        return;
    }
    let headlines = of_launches(regions);
    let titles = headlines.iter().map(|headline| headline.title);
    heading(text, ["region", "launches", "own", "GPU time"].into_iter().chain(titles), 1);
    for region in &regions.regions {
        let name = format!("{}{}", "· ".repeat(region.path.depth()), title(region));
        let of = region.known.and_then(|known| known.launches);
        overview_row(text, &name, &region.counted, of, &headlines);
    }
    if regions.outside.launches_inclusive > 0 {
        overview_row(text, "in no region", &regions.outside, None, &headlines);
    }
}

/// Those that a launch has, not only a range.
fn of_launches(regions: &CounterRegions) -> Vec<Headline> {
    let rules = |headline: &&Headline| !rules(regions, headline).is_empty();
    regions.headlines.iter().filter(rules).copied().collect()
}

fn rules(regions: &CounterRegions, headline: &Headline) -> BTreeSet<AggregateRule> {
    let all = regions.regions.iter().map(|region| &region.counted).chain([&regions.outside]);
    let rows = all.filter_map(|counted| metric(counted, headline));
    rows.filter(|row| row.inclusive.launches > 0).map(|row| row.rule).collect()
}

fn metric<'a>(counted: &'a Counted, headline: &Headline) -> Option<&'a MetricRow> {
    let at = counted.metrics.binary_search_by_key(&headline.metric, |row| row.name.as_str()).ok()?;
    Some(&counted.metrics[at])
}

fn overview_row(text: &mut String, name: &str, counted: &Counted, of: Option<u64>, headlines: &[Headline]) {
    let values =
        headlines.iter().map(|headline| metric(counted, headline)?.inclusive.value.as_ref()?.as_f64());
    let mut cells = vec![
        name.to_owned(),
        covered(counted, of),
        count(counted.launches_exclusive),
        time(counted.time_inclusive_ns),
    ];
    cells.extend(values.map(share));
    row(text, &cells);
}

/// `12 of 3,400`
fn covered(counted: &Counted, of: Option<u64>) -> String {
    let of = of.map(|of| format!(" of {}", count(of))).unwrap_or_default();
    format!("{}{of}", count(counted.launches_inclusive))
}

/// How each number came to be.
fn footnotes(text: &mut String, regions: &CounterRegions) {
    text.push_str("\n- launches: counted, of those the program made where that is known; own: not in a region inside it.\n");
    for headline in &regions.headlines {
        let rules: Vec<&str> = rules(regions, headline).into_iter().map(explained).collect();
        let rules = if rules.is_empty() { "of whole ranges only".to_owned() } else { rules.join("; ") };
        text.push_str(&format!("- {}: {}, {rules}.\n", headline.title, code(headline.metric)));
    }
}

fn explained(rule: AggregateRule) -> &'static str {
    match rule {
        AggregateRule::TimeWeightedMean => "mean of the launches, weighted by their GPU time",
        AggregateRule::Mean => "plain mean where a launch has no GPU time",
        rule => rule.as_str(),
    }
}

pub(super) fn title(region: &CounterRegion) -> String {
    let kind = if region.kind == Kind::StartEnd { " (start/end)" } else { "" };
    format!("{}{kind}", path(&region.path))
}

pub(super) fn path(path: &RegionPath) -> String {
    code(&path.to_string())
}

pub(super) fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

/// What was counted of a region, and of how much.
pub(super) fn said(region: &CounterRegion) -> String {
    let (counted, known) = (&region.counted, region.known.and_then(|known| known.launches));
    let mut text =
        region.parent.as_ref().map(|parent| format!("Inside {}. ", path(parent))).unwrap_or_default();
    match (counted.launches_inclusive, known) {
        (0, None) => text.push_str("No launch of it was counted"),
        (0, Some(0)) => text.push_str("No launch of it was counted; the program made none"),
        (0, Some(known)) => {
            text.push_str(&format!("No launch of it was counted; the program made {}", count(known)));
        }
        _ => text.push_str(&launches(counted, known)),
    }
    if counted.left_out > 0 {
        text.push_str(&format!("; the patterns leave {} out", count(counted.left_out)));
    }
    text.push('.');
    let ranges = region.measured_on_the_whole_range.len() as u64;
    if ranges > 0 {
        text.push_str(&format!(" Measured as a whole: {}.", plural(ranges, "range", "ranges")));
    }
    match region.known.map(|known| known.instances) {
        Some(1) => text.push_str(" The program opened it once."),
        Some(instances) => text.push_str(&format!(" The program opened it {} times.", count(instances))),
        None => {}
    }
    text
}

fn launches(counted: &Counted, of: Option<u64>) -> String {
    let all_own = counted.launches_exclusive == counted.launches_inclusive;
    let own = |part: String| if all_own { String::new() } else { format!(", {part} own") };
    let mut text = format!(
        "{} {} counted{}; {} on the GPU{}; {}",
        covered(counted, of),
        if of.unwrap_or(counted.launches_inclusive) == 1 { "launch" } else { "launches" },
        own(count(counted.launches_exclusive)),
        time(counted.time_inclusive_ns),
        own(time(counted.time_exclusive_ns)),
        plural(counted.distinct_kernels, "kernel", "kernels"),
    );
    if counted.untimed > 0 {
        text.push_str(&format!("; {} without a time", count(counted.untimed)));
    }
    text
}

pub(super) fn kernels(text: &mut String, counted: &Counted, top: usize) {
    if counted.kernels.is_empty() {
        return;
    }
    text.push_str(
        "\n| share | GPU time | launches | grid | block | kernel |\n|---:|---:|---:|---:|---:|---|\n",
    );
    for kernel in counted.kernels.iter().take(top) {
        let shape = |at: usize| {
            kernel.shape.map(|shape| shape[at].map(|size| size.to_string()).join("x")).unwrap_or_default()
        };
        let cells = [
            kernel.share.map(percent).unwrap_or_default(),
            time(kernel.time_ns),
            count(kernel.launches),
            shape(0),
            shape(1),
            code(&kernel.name),
        ];
        row(text, &cells);
    }
    let more = counted.kernels.len().saturating_sub(top);
    if more > 0 {
        text.push_str(&format!("\nand {} more\n", count(more as u64)));
    }
}

/// Each with the name it goes by.
pub(super) fn whole_ranges(text: &mut String, ranges: &[(String, &WholeRange)], headlines: &[Headline]) {
    if ranges.is_empty() {
        return;
    }
    text.push_str("\n## Measured on the whole range\n\n");
    text.push_str("Each row is one range, measured as one piece; it is in no sum and no mean.\n\n");
    let ambiguous = ranges.iter().any(|(_, range)| !range.also_open.is_empty());
    let titles = headlines.iter().map(|headline| headline.title);
    let last = ambiguous.then_some("or measured on");
    heading(text, ["region", "ID", "GPU time"].into_iter().chain(titles).chain(last), 1);
    for (name, range) in ranges {
        let mut cells = vec![name.clone(), range.result.to_string(), time(range.time_ns)];
        cells.extend(range.headlines.iter().map(|value| share(*value)));
        if ambiguous {
            cells.push(range.also_open.iter().map(path).collect::<Vec<_>>().join(", "));
        }
        row(text, &cells);
    }
}

/// The first columns are text, the others numbers.
pub(super) fn heading<'a>(text: &mut String, columns: impl IntoIterator<Item = &'a str>, left: usize) {
    let columns: Vec<String> = columns.into_iter().map(str::to_owned).collect();
    row(text, &columns);
    let rule: Vec<&str> = (0..columns.len()).map(|at| if at < left { "---" } else { "---:" }).collect();
    text.push_str(&format!("|{}|\n", rule.join("|")));
}

pub(super) fn row(text: &mut String, cells: &[String]) {
    text.push_str(&format!("| {} |\n", cells.join(" | ")));
}

pub(super) fn time(ns: Option<f64>) -> String {
    ns.map_or_else(|| "–".to_owned(), duration)
}

pub(super) fn share(percentage: Option<f64>) -> String {
    percentage.map_or_else(|| "–".to_owned(), |value| percent(value / 100.0))
}

pub(super) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}
