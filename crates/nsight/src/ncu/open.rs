//! What ncu sees of a region.

use analysis::{Region, Registered};
use nvtx::{Kind, NcuGate, OpenRanges};

/// Measured on 2025.3.1: a wide string opens nothing for ncu, unless it is registered.
pub(crate) fn is_unseen(region: &Region) -> bool {
    region.wide && region.registered == Registered::No
}

/// What is open in a region, or, with fewer of its names, around it.
pub(crate) fn open(region: &Region, names: &[String]) -> OpenRanges {
    let ranges: Vec<(String, String)> =
        names.iter().map(|name| (region.path.domain.clone(), name.clone())).collect();
    match region.kind {
        Kind::PushPop => OpenRanges { stack: ranges, started: Vec::new() },
        Kind::StartEnd => OpenRanges { stack: Vec::new(), started: ranges },
    }
}

/// Whether a gate lets in what is launched in a region.
pub(crate) fn lets_in(gate: &NcuGate, region: &Region) -> bool {
    !is_unseen(region) && gate.includes(&open(region, &region.path.names))
}
