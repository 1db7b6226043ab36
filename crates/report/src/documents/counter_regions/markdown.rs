//! `report.md`: one screen of all regions, then each with its kernels.

use std::collections::BTreeSet;

use analysis::{AggregateRule, Counted, CounterRegion, CounterRegions};
use nvtx::RegionPath;

use crate::form::markdown::{Markdown, code, sentence};
use crate::form::shown::Digits;
use crate::form::terminal::Names;
use crate::tables::{self, Tabular, View, counter_kernels, counter_ranges, covered, rules, titled};
use crate::units::{count, duration};

pub(super) const FORM: Markdown = Markdown {
    view: View::Sheet,
    rows: usize::MAX,
    names: Names::Whole,
    digits: Digits::Grouped,
    absent: "–",
};

/// Kernels of each region.
const TOP: usize = 5;

pub fn counter_regions_markdown(regions: &CounterRegions) -> String {
    let mut text = "# Counters by region\n\n".to_owned();
    text.push_str(&summary(regions));
    overview(&mut text, regions);
    whole_ranges(&mut text, &counter_ranges(regions));
    if !is_empty(regions) {
        footnotes(&mut text, regions);
    }
    for region in &regions.regions {
        text.push_str(&format!("\n## {}\n\n", sentence(&titled(region))));
        text.push_str(&format!("{} More: [{1}/region.md]({1}/region.md).\n", said(region), region.label));
        kernels(&mut text, &region.counted, TOP);
    }
    if regions.outside.launches_inclusive > 0 {
        text.push_str(&format!("\n## In no region\n\n{}.\n", launches(&regions.outside, None)));
        kernels(&mut text, &regions.outside, TOP);
    }
    text
}

fn summary(regions: &CounterRegions) -> String {
    let mut text = format!("{} counted", plural(regions.launches, "launch", "launches"));
    let in_none = regions.outside.launches_inclusive;
    if in_none > 0 && in_none < regions.launches {
        text.push_str(&format!(", {} of them in no region", count(in_none)));
    }
    let of_regions = regions.regions.iter().flat_map(|region| &region.measured_on_the_whole_range);
    let ranges = of_regions.chain(&regions.measured_on_the_whole_range).map(|range| range.result);
    let ranges: BTreeSet<usize> = ranges.collect();
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
    match is_empty(regions) {
        true => text.push_str("There is no region and no launch in it.\n"),
        false => text.push_str(&FORM.table(&tables::counter_regions(regions))),
    }
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

fn path(path: &RegionPath) -> String {
    code(&path.to_string())
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

pub(super) fn kernels(text: &mut String, counted: &Counted, rows: usize) {
    if !counted.kernels.is_empty() {
        text.push_str(&format!("\n{}", Markdown { rows, ..FORM }.counted(&counter_kernels(counted))));
    }
}

pub(super) fn whole_ranges(text: &mut String, ranges: &dyn Tabular) {
    if ranges.len() > 0 {
        text.push_str("\n## Measured on the whole range\n\n");
        text.push_str("Each row is one range, measured as one piece; it is in no sum and no mean.\n\n");
        text.push_str(&FORM.table(ranges));
    }
}

fn time(ns: Option<f64>) -> String {
    ns.map_or_else(|| "–".to_owned(), duration)
}

pub(super) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}
