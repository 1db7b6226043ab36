//! `report.md`: one screen of all regions, then each with its kernels.

use std::collections::BTreeSet;

use analysis::{AggregateRule, Counted, CounterRegion, CounterRegions};
use nvtx::RegionPath;

use crate::form::markdown::{Markdown, code, sentence};
use crate::form::shown::Digits;
use crate::form::terminal::Names;
use crate::tables::{self, Tabular, View, counter_kernels, counter_ranges, covered, rules, titled};
use crate::units::{self, count, counted, duration};

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
        text.push_str(&format!("\n## Outside all regions\n\n{}.\n", launches(&regions.outside, None)));
        kernels(&mut text, &regions.outside, TOP);
    }
    text
}

fn summary(regions: &CounterRegions) -> String {
    let mut text = format!("{} measured", counted(regions.launches, "launch"));
    let in_none = regions.outside.launches_inclusive;
    if in_none > 0 && in_none < regions.launches {
        text.push_str(&format!(", {} of them outside all regions", count(in_none)));
    }
    let of_regions = regions.regions.iter().flat_map(|region| &region.measured_on_the_whole_range);
    let ranges = of_regions.chain(&regions.measured_on_the_whole_range).map(|range| range.result);
    let ranges: BTreeSet<usize> = ranges.collect();
    let ranges = ranges.len() as u64;
    if ranges > 0 {
        text.push_str(&format!(", {} measured as a whole", counted(ranges, "range")));
    }
    text.push_str(". Values cover only what ncu measured, as ncu ran it: compare them with each other, but take times from a timeline.\n\n");
    if regions.left_out > 0 {
        let patterns = |word: &str, patterns: &[String]| {
            let quoted: Vec<String> = patterns.iter().map(|pattern| code(pattern)).collect();
            if quoted.is_empty() { String::new() } else { format!("; {word} {}", quoted.join(", ")) }
        };
        text.push_str(&format!(
            "Left out by the patterns: {}{}{}.\n\n",
            counted(regions.left_out, "launch"),
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
        true => text.push_str("There are no regions and no launches.\n"),
        false => text.push_str(&FORM.table(&tables::counter_regions(regions))),
    }
}

/// How each number was computed.
fn footnotes(text: &mut String, regions: &CounterRegions) {
    text.push_str(
        "\n- launches: those measured, of those the program made if known; own: not in an inner region.\n",
    );
    for headline in &regions.headlines {
        let rules: Vec<&str> = rules(regions, headline).into_iter().map(explained).collect();
        let rules = if rules.is_empty() { "for whole ranges only".to_owned() } else { rules.join("; ") };
        text.push_str(&format!("- {}: {}, {rules}.\n", headline.title, code(headline.metric)));
    }
}

fn explained(rule: AggregateRule) -> &'static str {
    match rule {
        AggregateRule::TimeWeightedMean => "mean of the launches, weighted by their GPU time",
        AggregateRule::Mean => "plain mean if a launch has no GPU time",
        rule => rule.as_str(),
    }
}

fn path(path: &RegionPath) -> String {
    code(&path.to_string())
}

/// How much of a region was measured.
pub(super) fn said(region: &CounterRegion) -> String {
    let (counted, known) = (&region.counted, region.known.and_then(|known| known.launches));
    let mut text =
        region.parent.as_ref().map(|parent| format!("Inside {}. ", path(parent))).unwrap_or_default();
    match (counted.launches_inclusive, known) {
        (0, None) => text.push_str("None of its launches was measured"),
        (0, Some(0)) => text.push_str("None of its launches was measured; the program made none"),
        (0, Some(known)) => {
            text.push_str(&format!("None of its launches was measured; the program made {}", count(known)));
        }
        _ => text.push_str(&launches(counted, known)),
    }
    if counted.left_out > 0 {
        text.push_str(&format!("; the patterns leave {} out", count(counted.left_out)));
    }
    text.push('.');
    let ranges = region.measured_on_the_whole_range.len() as u64;
    if ranges > 0 {
        text.push_str(&format!(" Measured as a whole: {}.", units::counted(ranges, "range")));
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
        "{} {} measured{}; {} on the GPU{}; {}",
        covered(counted, of),
        if of.unwrap_or(counted.launches_inclusive) == 1 { "launch" } else { "launches" },
        own(count(counted.launches_exclusive)),
        time(counted.time_inclusive_ns),
        own(time(counted.time_exclusive_ns)),
        units::counted(counted.distinct_kernels, "kernel"),
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
        text.push_str("Each row is one range, measured as a whole; it is not part of any sum or mean.\n\n");
        text.push_str(&FORM.table(ranges));
    }
}

fn time(ns: Option<f64>) -> String {
    ns.map_or_else(|| "–".to_owned(), duration)
}
