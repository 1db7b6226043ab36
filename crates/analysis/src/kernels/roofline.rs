//! Achieved arithmetic and traffic against what the device could do, as ncu counted both.
//!
//! Operations: additions and multiplications once, fused ones twice, as executed by threads;
//! tensor operations as their own counters count them. Peaks are the counters' own sustained
//! peaks at the clock of the measurement, so a kernel is held against the device as it ran.

use counters::{Measured, Report, Subject, Value};
use serde::Serialize;

use super::bounds::{BoundKind, bound};
use super::peaks::{MemoryLevel, Precision, Roof};

/// What a device can do at most, at the clocks of one result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ceiling {
    #[serde(rename = "name")]
    pub roof: Roof,
    /// FLOP/s or bytes/s.
    pub per_second: f64,
}

/// One result in the plane of intensity and speed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RooflinePoint {
    /// Its number in the report, ncu's `ID`.
    pub result: usize,
    pub kernel: String,
    pub region: Option<String>,
    pub time_ns: f64,
    pub bound: BoundKind,
    pub precisions: Vec<Achieved>,
    pub traffic: Vec<Traffic>,
}

/// Operations of one precision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Achieved {
    pub precision: Precision,
    pub flops_per_second: f64,
    pub peak_flops_per_second: Option<f64>,
    /// Of the peak.
    pub share: Option<f64>,
}

/// Bytes at one level of memory, and what all operations make of each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traffic {
    pub level: MemoryLevel,
    pub bytes_per_second: f64,
    pub peak_bytes_per_second: Option<f64>,
    pub share: Option<f64>,
    /// Operations of all precisions for each byte.
    pub intensity: Option<f64>,
    /// Where this level's roof meets that of the precision that works hardest.
    pub ridge: Option<f64>,
    /// How many times as fast it could be under this roof and that.
    pub headroom: Option<f64>,
}

/// Plain precisions and the letter of their instructions.
const PLAIN: [(Precision, char); 3] =
    [(Precision::Fp32, 'f'), (Precision::Fp64, 'd'), (Precision::Fp16, 'h')];
/// Levels: bytes each second, the peak for each cycle, and the cycles.
const MEMORY: [(MemoryLevel, &str, &str); 3] = [
    (MemoryLevel::Dram, "dram__bytes", "dram__cycles_elapsed"),
    (MemoryLevel::L2, "lts__t_bytes", "lts__cycles_elapsed"),
    (MemoryLevel::L1, "l1tex__t_bytes", "l1tex__cycles_elapsed"),
];
const TENSOR: &str = "sm__ops_path_tensor_src_";
const SPARSE: &str = "_sparsity_on";
const DENSE: &str = "_sparsity_off";
const EACH_CYCLE: &str = ".sum.per_cycle_elapsed";
const PEAK: &str = ".sum.peak_sustained";

/// Every kernel of which operations or traffic were counted.
pub fn roofline(report: &Report) -> Vec<RooflinePoint> {
    let results = report.results.iter().enumerate();
    results.filter_map(|(at, result)| point(report, at, result)).collect()
}

fn point(report: &Report, at: usize, result: &Measured) -> Option<RooflinePoint> {
    let Subject::Kernel(kernel) = &result.subject else { return None };
    let number =
        |name: &str| report.value(result, name).and_then(Value::as_f64).filter(|value| value.is_finite());
    let precisions = precisions(report, result, &number);
    let traffic = traffic(&precisions, &number);
    if precisions.is_empty() && traffic.is_empty() {
        return None;
    }
    Some(RooflinePoint {
        result: at,
        kernel: kernel.short_name.clone(),
        region: result.region_paths().first().map(ToString::to_string),
        time_ns: number("gpu__time_duration.sum").unwrap_or(0.0),
        bound: bound(report, result).kind,
        precisions,
        traffic,
    })
}

fn precisions(report: &Report, result: &Measured, number: &dyn Fn(&str) -> Option<f64>) -> Vec<Achieved> {
    let mut all = Vec::new();
    for (precision, letter) in PLAIN {
        let executed = |operation: &str| {
            number(&format!(
                "smsp__sass_thread_inst_executed_op_{letter}{operation}_pred_on.sum.per_cycle_elapsed"
            ))
        };
        let (Some(fused), Some(clock)) = (executed("fma"), number("smsp__cycles_elapsed.avg.per_second"))
        else {
            continue;
        };
        let plain = executed("add").unwrap_or(0.0) + executed("mul").unwrap_or(0.0);
        let peak =
            number(&format!("sm__sass_thread_inst_executed_op_{letter}fma_pred_on.sum.peak_sustained"))
                .zip(number("sm__cycles_elapsed.avg.per_second"))
                .map(|(each_cycle, clock)| 2.0 * each_cycle * clock);
        all.push(achieved(precision, (plain + 2.0 * fused) * clock, peak));
    }
    all.extend(tensor(report, result, number));
    all
}

/// `sm__ops_path_tensor_src_bf16_dst_fp32.sum.per_cycle_elapsed` and its peak. Some are counted with
/// and without sparsity apart, `…_sparsity_on` and `…_sparsity_off`, and some both ways and together.
fn tensor(report: &Report, result: &Measured, number: &dyn Fn(&str) -> Option<f64>) -> Vec<Achieved> {
    let Some(clock) = number("sm__cycles_elapsed.avg.per_second") else { return Vec::new() };
    let names: Vec<&str> =
        result.metrics.iter().map(|metric| report.metric_names.name(metric.name)).collect();
    // Each kind of instruction has its own: `sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off`.
    let highest_of = |path: &str, ending: &str| {
        let ending = format!("src_{path}{ending}");
        let fits = |name: &&&str| name.starts_with("sm__ops_path_tensor_") && name.ends_with(&ending);
        names.iter().filter(fits).filter_map(|name| number(name)).max_by(f64::total_cmp)
    };
    let achieved_on = |name: &&str| {
        let path = name.strip_prefix(TENSOR)?.strip_suffix(EACH_CYCLE)?;
        let together = path.trim_end_matches(SPARSE).trim_end_matches(DENSE);
        let is_a_part = together != path && number(&format!("{TENSOR}{together}{EACH_CYCLE}")).is_some();
        let each_cycle = number(name).filter(|each_cycle| *each_cycle > 0.0 && !is_a_part)?;
        let sparse = path.ends_with(SPARSE)
            || highest_of(path, &format!("{SPARSE}{EACH_CYCLE}")).is_some_and(|each_cycle| each_cycle > 0.0);
        // Without sparsity the device can do half of what the counter of both together has for its peak.
        let dense = highest_of(path, &format!("{DENSE}{PEAK}")).filter(|_| !sparse);
        let peak = dense.or_else(|| number(&format!("{TENSOR}{path}{PEAK}")));
        let source = together.split("_dst").next().unwrap_or(together).to_uppercase();
        Some(achieved(
            Precision::Tensor { source, sparse },
            each_cycle * clock,
            peak.map(|peak| peak * clock),
        ))
    };
    names.iter().filter_map(achieved_on).collect()
}

fn achieved(precision: Precision, flops_per_second: f64, peak: Option<f64>) -> Achieved {
    let peak = peak.filter(|peak| *peak > 0.0);
    Achieved {
        precision,
        flops_per_second,
        peak_flops_per_second: peak,
        share: peak.map(|peak| flops_per_second / peak),
    }
}

fn traffic(precisions: &[Achieved], number: &dyn Fn(&str) -> Option<f64>) -> Vec<Traffic> {
    let flops: f64 = precisions.iter().map(|achieved| achieved.flops_per_second).sum();
    let hardest = hardest(precisions);
    let roof = hardest.and_then(|achieved| achieved.peak_flops_per_second);
    MEMORY
        .iter()
        .filter_map(|(level, bytes, cycles)| {
            let bytes_per_second = number(&format!("{bytes}.sum.per_second"))?;
            let peak = number(&format!("{bytes}.sum.peak_sustained"))
                .zip(number(&format!("{cycles}.avg.per_second")))
                .map(|(each_cycle, clock)| each_cycle * clock)
                .filter(|peak| *peak > 0.0);
            let intensity =
                (!precisions.is_empty() && bytes_per_second > 0.0).then(|| flops / bytes_per_second);
            let attainable =
                intensity.zip(peak).zip(roof).map(|((intensity, peak), roof)| roof.min(intensity * peak));
            Some(Traffic {
                level: *level,
                bytes_per_second,
                peak_bytes_per_second: peak,
                share: peak.map(|peak| bytes_per_second / peak),
                intensity,
                ridge: peak.zip(roof).map(|(peak, roof)| roof / peak),
                headroom: attainable.filter(|_| flops > 0.0).map(|attainable| attainable / flops),
            })
        })
        .collect()
}

/// The precision with the most operations; the first if none has any.
pub fn hardest(precisions: &[Achieved]) -> Option<&Achieved> {
    precisions.iter().rev().max_by(|a, b| a.flops_per_second.total_cmp(&b.flops_per_second))
}

/// What the devices of a report could do, each once: the highest that any result shows.
pub fn ceilings(points: &[RooflinePoint]) -> Vec<Ceiling> {
    let mut all: Vec<Ceiling> = Vec::new();
    let mut add = |roof: Roof, per_second: Option<f64>| {
        let Some(per_second) = per_second else { return };
        match all.iter_mut().find(|ceiling| ceiling.roof == roof) {
            Some(ceiling) => ceiling.per_second = ceiling.per_second.max(per_second),
            None => all.push(Ceiling { roof, per_second }),
        }
    };
    for point in points {
        for achieved in &point.precisions {
            add(Roof::Compute(achieved.precision.clone()), achieved.peak_flops_per_second);
        }
        for traffic in &point.traffic {
            add(Roof::Memory(traffic.level), traffic.peak_bytes_per_second);
        }
    }
    all
}
