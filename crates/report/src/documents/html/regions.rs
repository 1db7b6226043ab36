//! The tree of regions, which the page draws.

use analysis::{Analysis, MoreRegions};
use serde_json::{Value, json};

use crate::form::texts::Texts;
use crate::tables::RegionRow;
use crate::units::{count, duration};

/// What the findings leave out, added up.
pub(super) fn left_out(analysis: &Analysis) -> Option<String> {
    let more = &analysis.more_regions;
    let sum = |of: fn(&MoreRegions) -> i64| more.iter().map(of).fold(0, i64::saturating_add) as f64;
    (!more.is_empty()).then(|| {
        format!(
            "The {} regions with the most time are shown; {} more, with {} on the host and {} of kernels, are in `regions.csv`.",
            count(analysis.regions.len() as u64),
            count(more.iter().map(|more| more.regions).sum()),
            duration(sum(|more| more.wall_ns)),
            duration(sum(|more| more.gpu_ns))
        )
    })
}

pub(super) fn tree(rows: &[RegionRow<'_>], note: Option<&str>, texts: &mut Texts) -> Value {
    let column = |of: &dyn Fn(&RegionRow<'_>) -> Value| rows.iter().map(of).collect::<Vec<Value>>();
    let name = |row: &RegionRow<'_>| match (row.parent, row.region.domain.is_empty()) {
        (None, false) => row.region.path.clone(),
        _ => row.region.name.clone(),
    };
    let names: Vec<u32> = rows.iter().map(|row| texts.id(&name(row))).collect();
    let paths: Vec<u32> = rows.iter().map(|row| texts.id(&row.region.path)).collect();
    let kinds: Vec<bool> = rows.iter().map(|row| row.region.kind != nvtx::Kind::PushPop).collect();
    json!({
        "name": names,
        "path": paths,
        "started": kinds,
        "parent": column(&|row| row.parent.map_or(Value::from(-1), Value::from)),
        "instances": column(&|row| row.region.instances.into()),
        "open": column(&|row| row.region.open.into()),
        "wall": column(&|row| row.region.wall_ns.into()),
        "ownWall": column(&|row| row.own_wall_ns.into()),
        "gpu": column(&|row| row.region.gpu_inclusive_ns.into()),
        "ownGpu": column(&|row| row.region.gpu_exclusive_ns.into()),
        "stack": column(&|row| json!(row.stack)),
        "note": note,
    })
}
