//! What ncu measured, region by region.

use analysis::{Counted, CounterRegions, Headline, WholeRange};
use serde_json::Value;

use super::table::{Kind, Table};
use crate::form::texts::Texts;

/// Regions with what lies inside them, then what is in none.
pub(super) fn counters(all: &CounterRegions, texts: &mut Texts) -> (String, Value) {
    let counted = all.regions.iter().filter(|region| region.counted.launches_inclusive > 0);
    let mut rows: Vec<(String, &Counted)> =
        counted.map(|region| (region.path.to_string(), &region.counted)).collect();
    if all.outside.launches_inclusive > 0 {
        rows.push(("in no region".to_owned(), &all.outside));
    }
    let mut table = Table::of("counters", "Launches that ncu measured, by region", &rows)
        .absent("not measured")
        .name("region", true, texts, |(path, _)| (path.clone(), path.clone()))
        .number("launches", Kind::Count, "", |(_, counted)| Some(counted.launches_inclusive as f64))
        .number("kernels", Kind::Count, "different ones", |(_, counted)| {
            Some(counted.distinct_kernels as f64)
        })
        .number("time", Kind::Time, "replayed, as ncu measured it", |(_, counted)| counted.time_inclusive_ns);
    for Headline { title, metric } in &all.headlines {
        table = table.number(title, Kind::Percent, metric, |(_, counted)| {
            let row = counted.metrics.iter().find(|row| row.name == *metric)?;
            row.inclusive.value.as_ref()?.as_f64()
        });
    }
    table.into_json()
}

/// Results of range replay.
pub(super) fn whole_ranges(all: &CounterRegions, texts: &mut Texts) -> (String, Value) {
    let of = |path: &str, ranges: &'_ [WholeRange]| {
        ranges.iter().map(|range| (path.to_owned(), range.clone())).collect::<Vec<_>>()
    };
    let mut rows: Vec<(String, WholeRange)> = all
        .regions
        .iter()
        .flat_map(|region| of(&region.path.to_string(), &region.measured_on_the_whole_range))
        .collect();
    rows.extend(of("no region can be named", &all.measured_on_the_whole_range));
    let mut table = Table::of("ranges", "Ranges that ncu measured as a whole", &rows)
        .absent("not measured")
        .name("region", true, texts, |(path, _)| (path.clone(), path.clone()))
        .number("ID", Kind::Number, "its number in the report", |(_, range)| Some(range.result as f64))
        .number("time", Kind::Time, "replayed, as ncu measured it", |(_, range)| range.time_ns);
    for (at, Headline { title, metric }) in all.headlines.iter().enumerate() {
        table = table
            .number(title, Kind::Percent, metric, |(_, range)| range.headlines.get(at).copied().flatten());
    }
    table.into_json()
}
