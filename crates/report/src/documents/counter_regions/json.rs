//! `report.json` and `<label>/region.json`, for other programs.
//!
//! Times are nanoseconds, shares are of one, a value that there is not is `null`. Each
//! metric says by which rule it was put together and how many launches have it: where some
//! have it and it is `null` all the same, their values make none together.

use analysis::{
    Aggregated, Counted, CountedKernel, CountedLaunch, CounterRegion, CounterRegions, Headline, MetricRow,
    WholeRange,
};
use serde_json::{Value, json};

/// Raised when a reader of an older document would misunderstand a newer one.
const SCHEMA: u32 = 1;

/// All regions, with what was measured on their launches; settings, and single launches,
/// are in the folder of each region.
pub fn counter_regions_json(regions: &CounterRegions) -> Value {
    let domains = regions.domains.iter().map(
        |row| json!({ "domain": row.domain, "launches_inside": row.inside, "launches_outside": row.outside }),
    );
    json!({
        "schema": SCHEMA,
        "launches": regions.launches,
        "left_out": regions.left_out,
        "include": regions.include,
        "exclude": regions.exclude,
        "notes": regions.notes,
        "headlines": headlines(&regions.headlines),
        "domains": domains.collect::<Value>(),
        "regions": regions.regions.iter().map(|region| row(region, Depth::Measured)).collect::<Value>(),
        "outside": counted(&regions.outside, Depth::Measured),
        "measured_on_the_whole_range": whole_ranges(&regions.measured_on_the_whole_range),
    })
}

/// Everything about one region.
pub fn counter_region_json(region: &CounterRegion, headlines: &[Headline]) -> Value {
    let mut document = json!({ "schema": SCHEMA, "headlines": self::headlines(headlines) });
    add(&mut document, row(region, Depth::All));
    let launches: Value = region.counted.launches.iter().map(|launch| single(launch, headlines)).collect();
    add(&mut document, json!({ "single_launches": launches }));
    document
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Measured,
    All,
}

fn add(document: &mut Value, more: Value) {
    if let (Value::Object(document), Value::Object(more)) = (document, more) {
        document.extend(more);
    }
}

fn headlines(headlines: &[Headline]) -> Value {
    headlines.iter().map(|headline| json!({ "title": headline.title, "metric": headline.metric })).collect()
}

fn row(region: &CounterRegion, depth: Depth) -> Value {
    let mut row = json!({
        "label": region.label,
        "path": region.path.to_string(),
        "name": region.path.name(),
        "domain": region.path.domain,
        "kind": region.kind.as_str(),
        "parent": region.parent.as_ref().map(ToString::to_string),
        "depth": region.path.depth(),
        "instances_known": region.known.map(|known| known.instances),
        "launches_known": region.known.and_then(|known| known.launches),
    });
    add(&mut row, counted(&region.counted, depth));
    let ranges = whole_ranges(&region.measured_on_the_whole_range);
    add(&mut row, json!({ "measured_on_the_whole_range": ranges }));
    row
}

fn counted(counted: &Counted, depth: Depth) -> Value {
    let shown = |row: &&MetricRow| depth == Depth::All || row.rule.is_measured();
    json!({
        "launches_inclusive": counted.launches_inclusive,
        "launches_exclusive": counted.launches_exclusive,
        "launches_left_out": counted.left_out,
        "launches_untimed": counted.untimed,
        "time_inclusive_ns": counted.time_inclusive_ns,
        "time_exclusive_ns": counted.time_exclusive_ns,
        "distinct_kernels": counted.distinct_kernels,
        "kernels": counted.kernels.iter().map(kernel).collect::<Value>(),
        "metrics": counted.metrics.iter().filter(shown).map(metric).collect::<Value>(),
    })
}

fn kernel(kernel: &CountedKernel) -> Value {
    json!({
        "name": kernel.name,
        "short_name": kernel.short_name,
        "grid": kernel.shape.map(|[grid, _]| grid),
        "block": kernel.shape.map(|[_, block]| block),
        "launches": kernel.launches,
        "time_ns": kernel.time_ns,
        "share": kernel.share,
    })
}

fn metric(row: &MetricRow) -> Value {
    let part = |part: &Aggregated| part.value.as_ref().map(value);
    json!({
        "name": row.name,
        "unit": row.unit,
        "rule": row.rule.as_str(),
        "inclusive": part(&row.inclusive),
        "exclusive": part(&row.exclusive),
        "launches": row.inclusive.launches,
        "launches_exclusive": row.exclusive.launches,
    })
}

fn single(launch: &CountedLaunch, headlines: &[Headline]) -> Value {
    json!({
        "id": launch.result,
        "own": launch.own,
        "short_name": launch.short_name,
        "time_ns": launch.time_ns,
        "metrics": by_name(headlines, &launch.headlines),
    })
}

fn by_name(headlines: &[Headline], values: &[Option<f64>]) -> Value {
    headlines.iter().zip(values).map(|(headline, value)| (headline.metric, *value)).collect()
}

fn whole_ranges(ranges: &[WholeRange]) -> Value {
    let row = |range: &WholeRange| {
        let metrics = range.metrics.iter();
        json!({
            "id": range.result,
            "also_open": range.also_open.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "time_ns": range.time_ns,
            "metrics": metrics
                .map(|(name, unit, number)| json!({ "name": name, "unit": unit, "value": value(number) }))
                .collect::<Value>(),
        })
    };
    ranges.iter().map(row).collect()
}

fn value(value: &counters::Value) -> Value {
    match value {
        counters::Value::Text(text) => json!(text),
        counters::Value::Float(number) => json!(number),
        counters::Value::Integer(number) => json!(number),
    }
}
