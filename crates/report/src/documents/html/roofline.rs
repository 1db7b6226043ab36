//! Points and roofs for the plot, and the table below it.

use analysis::{Achieved, RooflinePoint, Traffic, ceilings};
use serde_json::{Value, json};

use super::table::{Kind, Table};
use crate::form::texts::Texts;

const LEVELS: [&str; 3] = ["DRAM", "L2", "L1"];

/// What the plot draws.
pub(super) fn plot(points: &[RooflinePoint], texts: &mut Texts) -> Value {
    let round = |value: f64| if value.abs() >= 1e6 { value.round() } else { value };
    let roofs: Vec<Value> = ceilings(points)
        .iter()
        .map(|roof| {
            let memory = LEVELS.contains(&roof.name.as_str());
            json!({ "name": roof.name, "memory": memory, "peak": round(roof.per_second) })
        })
        .collect();
    let points: Vec<Value> = points
        .iter()
        .map(|point| {
            let traffic: Vec<Value> = point
                .traffic
                .iter()
                .map(|level| json!([level.level, round(level.bytes_per_second), level.share, level.headroom]))
                .collect();
            let speeds: Vec<Value> = worked(point)
                .map(|speed| json!([speed.precision, round(speed.flops_per_second), speed.share]))
                .collect();
            json!({
                "id": point.result,
                "kernel": texts.id(&point.kernel),
                "region": texts.id(point.region.as_deref().unwrap_or_default()),
                "time": point.time_ns.round(),
                "bound": point.bound.as_str(),
                "flops": round(flops(point)),
                "speeds": speeds,
                "traffic": traffic,
            })
        })
        .collect();
    json!({ "roofs": roofs, "points": points })
}

fn flops(point: &RooflinePoint) -> f64 {
    point.precisions.iter().map(|achieved| achieved.flops_per_second).sum()
}

/// Precisions that did anything.
fn worked(point: &RooflinePoint) -> impl Iterator<Item = &Achieved> {
    point.precisions.iter().filter(|achieved| achieved.flops_per_second > 0.0)
}

/// The same as text.
pub(super) fn table(points: &[RooflinePoint], texts: &mut Texts) -> (String, Value) {
    let mut rows: Vec<&RooflinePoint> = points.iter().collect();
    rows.sort_by(|a, b| b.time_ns.total_cmp(&a.time_ns));
    let level = |row: &RooflinePoint, name: &str| -> Option<Traffic> {
        row.traffic.iter().find(|traffic| traffic.level == name).cloned()
    };
    let hardest = |row: &RooflinePoint| {
        worked(row).max_by(|a, b| a.flops_per_second.total_cmp(&b.flops_per_second)).cloned()
    };
    let mut table = Table::of("roofline", "Measured launches against the device's peaks", &rows)
        .absent("–")
        .name("kernel", true, texts, |row| (row.kernel.clone(), row.kernel.clone()))
        .name("region", true, texts, |row| {
            let path = row.region.clone().unwrap_or_default();
            (path.clone(), path)
        })
        .number("ID", Kind::Number, "its number in the report", |row| Some(row.result as f64))
        .number("time", Kind::Time, "replayed, as ncu measured it", |row| Some(row.time_ns))
        .sorted()
        .text("bound", texts, |row| row.bound.as_str().to_owned())
        .number("FLOP/s", Kind::Speed, "of all precisions", |row| {
            Some(flops(row)).filter(|flops| *flops > 0.0)
        })
        .text("mostly", texts, |row| hardest(row).map(|hardest| hardest.precision).unwrap_or_default())
        .number("of peak", Kind::Part, "of that precision", |row| hardest(row)?.share);
    for name in LEVELS.iter().filter(|name| rows.iter().any(|row| level(row, name).is_some())) {
        table = table
            .number(&format!("{name} B/s"), Kind::Rate, "", |row| Some(level(row, name)?.bytes_per_second))
            .number(&format!("{name} of peak"), Kind::Part, "", |row| level(row, name)?.share)
            .number(&format!("{name} FLOP/B"), Kind::Number, "operations for each byte", |row| {
                level(row, name)?.intensity
            })
            .number(
                &format!("{name} headroom"),
                Kind::Times,
                "how many times as fast under this roof",
                |row| level(row, name)?.headroom,
            );
    }
    table.into_json()
}
