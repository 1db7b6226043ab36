//! Regions: what the hardware did while the work that they started ran.

use nvtx::Kind;
use serde::Serialize;
use trace::{Measure, NONE, Quantity, Series, Trace};

use super::limit::limit;
use super::overlap::each_sample;
use super::values::{Estimate, Values, in_all, of_work};
use crate::attribute::Attribution;
use crate::kernels::bounds::BoundKind;

/// Work of less than so many samples says nothing.
const FEWEST_SAMPLES: f64 = 4.0;
/// A region that shares more of its samples with other work cannot be told from it.
const MOST_SHARED: f64 = 0.5;

/// A region, while the GPU work that it started runs.
#[derive(Debug, Clone, Serialize)]
pub struct SampledRegion {
    pub path: String,
    pub device: u32,
    /// How long that work ran while it was sampled.
    pub gpu_ns: i64,
    /// As many as that time has.
    pub samples: u64,
    /// The part of that time that is in samples with other work.
    pub shared: f64,
    /// What is near its peak meanwhile, if that was sampled.
    pub limit: Option<BoundKind>,
    pub values: Values,
}

/// What was measured while the work of a region ran.
#[derive(Debug, Clone, Default)]
struct Sum {
    /// How long its work ran in samples, and of that in samples with work of others.
    time: f64,
    shared: f64,
    samples: f64,
    /// By quantity.
    measured: Vec<f64>,
}

/// Every region with work on the device, with what lies inside it.
pub(super) fn regions(trace: &Trace, attribution: &Attribution, series: &Series) -> Vec<SampledRegion> {
    let quantities = of_work(series);
    let tree = &attribution.tree;
    let mut sums = vec![Sum::default(); tree.nodes.len()];
    let node_of = |activity: u32| {
        attribution.planes.iter().filter_map(move |plane| {
            let range = plane.range[activity as usize];
            (range != NONE).then(|| tree.node_of[range as usize])
        })
    };
    let mut own: Vec<(u32, i64)> = Vec::new();
    each_sample(trace, series, |shared| {
        let all: i64 = shared.work.iter().map(|(_, time)| time).sum();
        own.clear();
        for (activity, time) in shared.work {
            for node in node_of(*activity) {
                // A region has what lies in it.
                for node in std::iter::successors(Some(node), |node| tree.nodes[*node as usize].parent) {
                    match own.iter_mut().find(|(known, _)| *known == node) {
                        Some((_, sum)) => *sum += time,
                        None => own.push((node, *time)),
                    }
                }
            }
        }
        for (node, time) in &own {
            let part = *time as f64 / all as f64;
            // Of work that overlaps, each has its part of the time.
            let busy = shared.busy as f64 * part;
            let sum = &mut sums[*node as usize];
            sum.measured.resize(quantities.len(), 0.0);
            sum.time += busy;
            sum.samples += busy / shared.length as f64;
            sum.shared += if part < 0.95 { busy } else { 0.0 };
            for (total, (quantity, values)) in sum.measured.iter_mut().zip(&quantities) {
                let value = f64::from(values[shared.sample]);
                let value = if value.is_finite() { value } else { 0.0 };
                *total += in_all(*quantity, value, shared.length) * part;
            }
        }
    });
    let row = |(node, sum): (usize, &Sum)| {
        let told = sum.samples >= FEWEST_SAMPLES && sum.shared <= MOST_SHARED * sum.time;
        let is_region = told && tree.nodes[node].kind == Kind::PushPop;
        let values = || {
            let all = quantities.iter().zip(&sum.measured);
            Values(
                all.map(|((quantity, _), total)| (*quantity, estimate(*quantity, *total, sum.time)))
                    .collect(),
            )
        };
        is_region.then(values).map(|values| SampledRegion {
            path: tree.path(trace, node as u32).to_string(),
            device: trace.devices[usize::from(series.device)].id,
            gpu_ns: sum.time as i64,
            samples: sum.samples as u64,
            shared: sum.shared / sum.time,
            limit: limit(&values),
            values,
        })
    };
    let mut rows: Vec<SampledRegion> = sums.iter().enumerate().filter_map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.gpu_ns));
    rows
}

fn estimate(quantity: Quantity, total: f64, time: f64) -> Estimate {
    let mean = match quantity.measure() {
        Measure::Share => (total / time).clamp(0.0, 100.0),
        _ => total,
    };
    Estimate { mean, plus_minus: None }
}
