//! Points and roofs for the plot.

use analysis::{Roof, RooflinePoint, ceilings};
use serde_json::{Value, json};

use crate::form::texts::Texts;
use crate::tables::{flops, worked};

/// What the plot draws.
pub(super) fn plot(points: &[RooflinePoint], texts: &mut Texts) -> Value {
    let round = |value: f64| if value.abs() >= 1e6 { value.round() } else { value };
    let roofs: Vec<Value> = ceilings(points)
        .iter()
        .map(|roof| {
            let memory = matches!(roof.roof, Roof::Memory(_));
            json!({ "name": roof.roof, "memory": memory, "peak": round(roof.per_second) })
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
