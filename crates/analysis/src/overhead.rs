//! What a profiler cost: how long ranges took with it, and with only the tracer.

use std::collections::HashMap;

use serde::Serialize;

use crate::regions::{Region, Times};

/// A region that takes less of its time than this under a profiler was not slowed down by it alone.
const FASTER: f64 = 0.95;

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

/// Regions that both recordings have, those first that took the most time.
pub fn overhead(rehearsed: &[Region], profiled: &[Region]) -> Vec<Overhead> {
    let middle = |region: &Region| {
        let times: Option<Times> = region.steady.or(region.times);
        times.map(|times| times.p50_ns).filter(|ns| *ns > 0)
    };
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
                instances: again.instances,
                rehearsed_ns,
                profiled_ns,
                ratio: profiled_ns as f64 / rehearsed_ns as f64,
            })
        })
        .collect()
}

/// No profiler makes a program faster: where it seems so, the machine was not equally fast in both
/// passes, and the other ratios are no better known. A region that came once may have been cold.
pub fn unsteady(rows: &[Overhead]) -> Option<String> {
    let again = rows.iter().filter(|row| row.instances > 2 && row.ratio < FASTER);
    let row = again.min_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    Some(format!(
        "`{}` took {:.2} times as long as in the rehearsal, and no profiler makes a program faster: the machine was \
         not equally fast in both passes, and times on the host are as uncertain",
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
        let doubt = unsteady(&[row(":a", 4, 1.3), row(":b", 4, 0.74), row(":c", 4, 0.9)]).unwrap_or_default();
        assert!(doubt.starts_with("`:b` took 0.74 times as long"), "{doubt}");
        assert_eq!(unsteady(&[row("the whole pass under nsys", 1, 0.8), row(":a", 4, 0.97)]), None);
    }
}
