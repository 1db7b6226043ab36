//! Operations and bytes as counted by ncu, for when the model is unknown.

use super::efficiency::{Efficiency, seconds};
use crate::kernels::join::{Joined, JoinedKernel};
use crate::kernels::peaks::MemoryLevel;
use crate::kernels::roofline::RooflinePoint;
use crate::time::{GpuRegion, Stage};

/// If less of a stage's GPU time was measured, it says nothing about the whole.
const LEAST_COVERED: f64 = 0.5;

/// For every stage whose kernels were measured.
pub fn counted_efficiency(
    stages: &[Stage],
    regions: &[GpuRegion],
    joined: &Joined,
    roofline: &[RooflinePoint],
) -> Vec<Efficiency> {
    let efficiency = |stage| counted(stage, seconds(stage, regions)?, joined, roofline);
    stages.iter().filter_map(efficiency).collect()
}

/// What the launches of a stage did, each kernel as its measured ones do on average.
#[derive(Default)]
struct Sums {
    flops: f64,
    /// Seconds that they would take if each precision ran at its peak.
    at_peak: f64,
    bytes: f64,
    /// The same for DRAM.
    bytes_at_peak: f64,
    measured_ns: i64,
    all_ns: i64,
}

fn counted(
    stage: &Stage,
    (seconds, how): (f64, String),
    joined: &Joined,
    roofline: &[RooflinePoint],
) -> Option<Efficiency> {
    let mut sums = Sums::default();
    let inside = |kernel: &&JoinedKernel| {
        let rest = |of: &String| kernel.region.as_deref()?.strip_prefix(of.as_str());
        stage.regions.iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for kernel in joined.kernels.iter().filter(inside) {
        sums.all_ns += kernel.gpu_ns;
        let points: Vec<&RooflinePoint> =
            roofline.iter().filter(|point| kernel.results.contains(&point.result)).collect();
        // One without a roofline was measured for something else.
        if points.iter().any(|point| point.traffic.iter().any(|traffic| traffic.level == MemoryLevel::Dram)) {
            sums.measured_ns += kernel.gpu_ns;
            points.iter().for_each(|point| sums.add(point, kernel.launches as f64 / points.len() as f64));
        }
    }
    let covered = sums.measured_ns as f64 / sums.all_ns.max(1) as f64;
    if covered < LEAST_COVERED || sums.at_peak <= 0.0 {
        return None;
    }
    // Kernels are known for all instances together.
    let instances = stage.times?.count.max(1) as f64;
    let wall = seconds * instances;
    let has_bytes = sums.bytes_at_peak > 0.0;
    Some(Efficiency {
        stage: stage.name.clone(),
        region: stage.region.clone(),
        seconds,
        tokens: None,
        flops: Some(sums.flops / instances),
        bytes: has_bytes.then_some(sums.bytes / instances),
        peak_flops: Some(sums.flops / sums.at_peak),
        peak_bytes: has_bytes.then(|| sums.bytes / sums.bytes_at_peak),
        peak_source: "ncu counters".to_owned(),
        mfu: Some(sums.at_peak / wall),
        mfu_at_most: None,
        mbu: has_bytes.then_some(sums.bytes_at_peak / wall),
        assumptions: vec![
            format!(
                "operations and DRAM bytes: counted by ncu on kernels that make up {:.0} % of the stage's GPU time; \
                 an unmeasured launch counts like a measured one of the same kernel and shape, or as zero",
                covered * 100.0
            ),
            executed(stage),
            how,
            "peaks are those ncu reports for each precision and for DRAM".to_owned(),
        ],
    })
}

fn executed(stage: &Stage) -> String {
    let mut text = "operations are those executed, including the padding of partly filled tiles".to_owned();
    if stage.is_usual() {
        text.push_str(
            "; when decoding, that may be many times what the model needs (which `model.config` tells)",
        );
    }
    text
}

impl Sums {
    fn add(&mut self, point: &RooflinePoint, launches: f64) {
        let seconds = point.time_ns / 1e9 * launches;
        for achieved in &point.precisions {
            if let Some(peak) = achieved.peak_flops_per_second.filter(|peak| *peak > 0.0) {
                self.flops += achieved.flops_per_second * seconds;
                self.at_peak += achieved.flops_per_second * seconds / peak;
            }
        }
        for traffic in point.traffic.iter().filter(|traffic| traffic.level == MemoryLevel::Dram) {
            if let Some(peak) = traffic.peak_bytes_per_second.filter(|peak| *peak > 0.0) {
                self.bytes += traffic.bytes_per_second * seconds;
                self.bytes_at_peak += traffic.bytes_per_second * seconds / peak;
            }
        }
    }
}
