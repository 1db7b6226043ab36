//! Profiling overhead: how long ranges took under the profiler, and with only the tracer.

use std::collections::HashMap;

use serde::Serialize;

use crate::attribute::{Region, Times};

/// A ratio below this means that the machine was not equally fast in both passes.
const FASTER: f64 = 0.9;
/// The median of fewer instances may be any of them.
const FEWEST: u64 = 8;
/// A region with a smaller share of the longest region's time says nothing about the machine.
const LONG_ENOUGH: f64 = 0.1;

/// One region, recorded twice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overhead {
    pub region: String,
    /// That ended, in the recording that has fewer.
    pub instances: u64,
    /// The middle one of the instances after the first: in the rehearsal, and under the profiler.
    pub rehearsed_ns: i64,
    pub profiled_ns: i64,
    pub ratio: f64,
}

/// Regions that both recordings have, those first that took the most time.
pub fn overhead(rehearsed: &[Region], profiled: &[Region]) -> Vec<Overhead> {
    let middle = |region: &Region| {
        let times: Option<Times> = region.steady.or(region.times);
        times.map(|times| times.p50_ns).filter(|ns| *ns > 0)
    };
    let ended = |region: &Region| region.times.map_or(0, |times| times.count);
    let again: HashMap<_, &Region> =
        profiled.iter().map(|region| ((&region.path, region.kind), region)).collect();
    let total = |region: &&Region| std::cmp::Reverse(region.times.map_or(0, |times| times.total_ns));
    let mut rehearsed: Vec<&Region> = rehearsed.iter().collect();
    rehearsed.sort_by_key(total);
    rehearsed
        .into_iter()
        .filter_map(|region| {
            let again = again.get(&(&region.path, region.kind))?;
            let (rehearsed_ns, profiled_ns) = (middle(region)?, middle(again)?);
            Some(Overhead {
                region: region.path.to_string(),
                instances: ended(region).min(ended(again)),
                rehearsed_ns,
                profiled_ns,
                ratio: profiled_ns as f64 / rehearsed_ns as f64,
            })
        })
        .collect()
}

/// nsys costs at least as much as the tracer. If a region seems faster under nsys, the machine was not equally fast
/// in both passes, and the other ratios are just as uncertain. A region of a few microseconds says nothing about the
/// machine.
pub fn unsteady(rows: &[Overhead]) -> Option<String> {
    let total = |row: &Overhead| row.rehearsed_ns as f64 * row.instances as f64;
    let longest = rows.iter().map(total).fold(0.0, f64::max);
    let telling = |row: &&Overhead| row.instances >= FEWEST && total(row) >= longest * LONG_ENOUGH;
    let faster = rows.iter().filter(telling).filter(|row| row.ratio < FASTER);
    let row = faster.min_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    Some(format!(
        "`{}` took {:.2} times as long as in the rehearsal, which ran without the profiler: the machine was not \
         equally fast in both passes, so host times are just as uncertain",
        row.region, row.ratio
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_not_steady() {
        let row = |region: &str, instances, ratio| Overhead {
            region: region.to_owned(),
            instances,
            rehearsed_ns: 1000,
            profiled_ns: (ratio * 1000.0) as i64,
            ratio,
        };
        let doubt = unsteady(&[row(":a", 9, 1.3), row(":b", 9, 0.74), row(":c", 9, 0.8)]).unwrap_or_default();
        assert!(doubt.starts_with("`:b` took 0.74 times as long"), "{doubt}");
        assert_eq!(unsteady(&[row(":few", 4, 0.7), row(":a", 9, 0.97)]), None);
        let mut rows = vec![row(":outer", 1, 1.0), row(":outer/op", 9, 0.7)];
        rows[0].rehearsed_ns = 100_000;
        assert_eq!(unsteady(&rows), None, "too short to tell");
    }
}
