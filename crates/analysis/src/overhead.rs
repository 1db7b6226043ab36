//! What a profiler cost: how long ranges took with it, and with only the tracer.

use serde::Serialize;

use crate::regions::{Region, Times};

/// One region, recorded twice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overhead {
    pub region: String,
    pub instances: u64,
    /// The middle one of the instances after the first: in the rehearsal, and under the profiler.
    pub rehearsed_ns: i64,
    pub profiled_ns: i64,
    pub ratio: f64,
}

/// Regions that both recordings have, in the rehearsal's order.
pub fn overhead(rehearsed: &[Region], profiled: &[Region]) -> Vec<Overhead> {
    let middle = |region: &Region| {
        let times: Option<Times> = region.steady.or(region.times);
        times.map(|times| times.p50_ns).filter(|ns| *ns > 0)
    };
    rehearsed
        .iter()
        .filter_map(|region| {
            let again =
                profiled.iter().find(|other| other.path == region.path && other.kind == region.kind)?;
            let (rehearsed_ns, profiled_ns) = (middle(region)?, middle(again)?);
            Some(Overhead {
                region: region.path.to_string(),
                instances: again.instances,
                rehearsed_ns,
                profiled_ns,
                ratio: profiled_ns as f64 / rehearsed_ns as f64,
            })
        })
        .collect()
}
