//! What limits the kernels of toy.cu, as ncu 2025.3 measured them on an H200.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use analysis::{Bound, BoundKind, MemoryLevel, Precision, bound, ceilings, roofline};
use counters::{Report, Subject};

const ELAPSED: &str = ".avg.pct_of_peak_sustained_elapsed";

fn data(name: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../counters/tests/data").join(name);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

fn toy() -> Report {
    counters::read_ncu_report_bytes(&data("toy-kernel.ncu-rep.gz"), Path::new("toy.ncu-rep")).unwrap()
}

/// What the preset `ncu.quick` asks for.
fn quick_metrics() -> Vec<&'static str> {
    let lines = include_str!("../../../presets/ncu.quick.yaml").lines();
    lines.filter_map(|line| line.trim().strip_prefix("- ")?.split_whitespace().next()).collect()
}

/// The toy as `ncu.quick` would have measured it. The sections know three of its metrics by other names.
fn quick() -> Report {
    let mut text = String::from_utf8(data("toy-kernel.raw.csv.gz")).unwrap();
    for (section, quick) in [
        ("gpu__dram_throughput", "dram__throughput"),
        ("sm__pipe_fma_cycles_active", "sm__inst_executed_pipe_fma"),
        ("sm__pipe_alu_cycles_active", "sm__inst_executed_pipe_alu"),
    ] {
        text = text.replace(&format!("\"{section}{ELAPSED}\""), &format!("\"{quick}{ELAPSED}\""));
    }
    let mut report = counters::read_ncu_csv_bytes(text.as_bytes(), Path::new("toy.csv")).unwrap();
    let wanted = quick_metrics();
    for name in &wanted {
        assert!(report.value(&report.results[0], name).is_some(), "{name}");
    }
    retain(&mut report, |name| wanted.contains(&name) || name.starts_with("launch__"));
    report
}

fn retain(report: &mut Report, keep: impl Fn(&str) -> bool) {
    let names = &report.metric_names;
    for result in &mut report.results {
        result.metrics.retain(|metric| keep(names.name(metric.name)));
    }
}

/// One result with these shares of peaks.
fn shares(percents: &[(&str, f64)]) -> Report {
    let names: String = percents.iter().map(|(name, _)| format!(",\"{name}{ELAPSED}\"")).collect();
    let values: String = percents.iter().map(|(_, value)| format!(",\"{value}\"")).collect();
    let text = format!("\"ID\",\"Kernel Name\"{names}\n\"0\",\"kernel\"{values}\n");
    counters::read_ncu_csv_bytes(text.as_bytes(), Path::new("shares.csv")).unwrap()
}

/// The first launch of each, as all of them are.
fn bounds_by_kernel(report: &Report) -> BTreeMap<String, Bound> {
    let mut found: BTreeMap<String, Bound> = BTreeMap::new();
    for at in 0..report.results.len() {
        let here = bound(report, &report.results[at]);
        let kind = here.kind;
        assert_eq!(found.entry(name(report, at)).or_insert(here).kind, kind);
    }
    found
}

fn name(report: &Report, at: usize) -> String {
    match &report.results[at].subject {
        Subject::Kernel(kernel) => kernel.short_name.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_kernel_of_the_toy() {
    let report = toy();
    for at in 0..report.results.len() {
        let found = bound(&report, &report.results[at]);
        let expected = match name(&report, at).as_str() {
            // L2 is at 92 %, and all that passes it comes from DRAM.
            "copy_kernel" => BoundKind::Dram,
            // Issue slots are at 95 %, and what is issued are multiplications.
            "fma_kernel" => BoundKind::Fp32,
            // L1 is at 99 % of its peak on the one SM that works.
            "tiny_kernel" | "templ_kernel" => BoundKind::Latency,
            other => panic!("{other}"),
        };
        assert_eq!(found.kind, expected, "{}: {found:?}", name(&report, at));
        if expected == BoundKind::Latency {
            assert!(found.why.contains("of a wave"), "{}", found.why);
        }
    }
}

/// Names are for people: nothing is told from them.
#[test]
fn names_do_not_matter() {
    let mut report = toy();
    let before: Vec<_> = report.results.iter().map(|result| bound(&report, result).kind).collect();
    for result in &mut report.results {
        if let Subject::Kernel(kernel) = &mut result.subject {
            kernel.short_name = "gemm".to_owned();
            kernel.name = "gemm()".to_owned();
            kernel.mangled = String::new();
        }
    }
    let after: Vec<_> = report.results.iter().map(|result| bound(&report, result).kind).collect();
    assert_eq!(before, after);
}

#[test]
fn without_metrics_it_is_unknown() {
    let mut report = toy();
    report.results[0].metrics.clear();
    assert_eq!(bound(&report, &report.results[0]).kind, BoundKind::Unknown);
    // Half of it is not enough to say.
    let dram = report.metric_names.id("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed").unwrap();
    let copy = (1..report.results.len()).find(|at| name(&report, *at) == "copy_kernel").unwrap();
    report.results[copy].metrics.retain(|metric| metric.name == dram);
    let found = bound(&report, &report.results[copy]);
    assert_eq!((found.kind, found.why.as_str()), (BoundKind::Unknown, "no compute throughput was measured"));
}

/// Without the throughput of an SM, and with a part of that of L2.
#[test]
fn every_kernel_by_the_quick_preset() {
    let found = bounds_by_kernel(&quick());
    assert_eq!(found["copy_kernel"].kind, BoundKind::Dram);
    assert_eq!(found["fma_kernel"].kind, BoundKind::Fp32);
    assert_eq!(found["fma_kernel"].why, "FP32 pipe is at 89.1 % of its peak (`sm__inst_executed_pipe_fma`)");
    for kernel in ["tiny_kernel", "templ_kernel"] {
        let Bound { kind, why, .. } = &found[kernel];
        assert_eq!(*kind, BoundKind::Latency, "{why}");
        assert!(why.contains("of a wave") && why.contains("; based only on `"), "{why}");
    }
}

#[test]
fn what_the_quick_preset_did_not_measure_is_not_claimed() {
    let mut report = quick();
    retain(&mut report, |name| {
        !name.contains("pipe_fma") && !name.contains("pipe_alu") && !name.contains("tensor")
    });
    let found = bounds_by_kernel(&report);
    assert_eq!(found["copy_kernel"].kind, BoundKind::Dram);
    assert_eq!(found["fma_kernel"].kind, BoundKind::Issue, "no pipe was measured, the issue slots were");
    assert_eq!(found["tiny_kernel"].kind, BoundKind::Unknown);
    assert_eq!(
        found["tiny_kernel"].why,
        "nothing that was measured is near its peak; not measured: tensor pipe, FP32 pipe, another pipe"
    );
    retain(&mut report, |name| !name.starts_with("sm__inst_executed"));
    for (kernel, found) in bounds_by_kernel(&report) {
        assert_eq!(found.kind, BoundKind::Unknown, "{kernel}");
        assert_eq!(found.why, "no compute throughput was measured", "{kernel}");
    }
    // An integrated GPU has no counters of DRAM.
    let mut report = quick();
    retain(&mut report, |name| !name.starts_with("dram__"));
    let found = bounds_by_kernel(&report);
    assert_eq!(found["fma_kernel"].kind, BoundKind::Fp32);
    assert_eq!(
        (found["copy_kernel"].kind, found["tiny_kernel"].kind),
        (BoundKind::Unknown, BoundKind::Unknown)
    );
}

/// As ncu 2025.3 measured them on an H200 with the metrics of the preset.
#[test]
fn other_kernels_by_the_quick_preset() {
    use BoundKind::{Issue, L1, L2, OtherPipe, Unknown};
    const NAMES: [&str; 8] = [
        "dram__throughput",
        "lts__lts2xbar_cycles_active",
        "lts__xbar2lts_cycles_active",
        "l1tex__data_pipe_lsu_wavefronts",
        "sm__inst_executed",
        "sm__inst_executed_pipe_fma",
        "sm__inst_executed_pipe_alu",
        "sm__pipe_tensor_cycles_active",
    ];
    for (kernel, expected, values) in [
        // lts__throughput says 71.1 and 91.8.
        ("reads 8 MB again and again", L2, [0.74, 71.07, 33.07, 22.00, 63.97, 23.37, 43.31, 2.76]),
        ("writes them", L2, [0.08, 0.01, 88.00, 13.57, 27.18, 10.39, 19.10, 1.70]),
        ("reads shared memory", L1, [0.0, 0.01, 0.09, 98.99, 51.69, 18.97, 39.67, 0.01]),
        ("integers", OtherPipe, [0.0, 0.0, 0.01, 0.0, 60.05, 9.81, 99.26, 0.0]),
        // It waits; that no other pipe is at its limit takes a device that it cannot fill.
        ("one load after another", Unknown, [0.0, 0.03, 0.08, 4.77, 2.70, 1.19, 0.32, 0.0]),
        // At 95 and 99 % of pipes that are not among them.
        ("sines", Unknown, [0.0, 0.01, 0.09, 0.02, 24.05, 11.90, 0.30, 0.01]),
        ("FP64", Unknown, [0.0, 0.01, 0.18, 0.04, 50.13, 0.01, 1.24, 0.0]),
        // Not measured: a single pipe stands for itself, and before the issue slots.
        ("ALU before FP32", OtherPipe, [0.0, 0.0, 0.0, 0.0, 75.0, 66.0, 80.0, 0.0]),
        ("ALU before issue", OtherPipe, [0.0, 0.0, 0.0, 0.0, 85.0, 10.0, 80.0, 0.0]),
        ("issue", Issue, [0.0, 0.0, 0.0, 0.0, 90.0, 40.0, 40.0, 0.0]),
    ] {
        let measured: Vec<(&str, f64)> = NAMES.into_iter().zip(values).collect();
        let report = shares(&measured);
        let found = bound(&report, &report.results[0]);
        assert_eq!(found.kind, expected, "{kernel}: {found:?}");
    }
}

/// A product of matrices on an H200: the tensor pipe takes its operands from shared memory.
#[test]
fn a_product_of_matrices() {
    let report = shares(&[
        ("dram__throughput", 18.99),
        ("lts__t_sectors", 37.88),
        ("l1tex__data_pipe_lsu_wavefronts", 94.45),
        ("sm__issue_active", 15.67),
        ("sm__pipe_fma_cycles_active", 0.01),
        ("sm__pipe_alu_cycles_active", 1.95),
        ("sm__pipe_tensor_cycles_active", 93.28),
    ]);
    assert_eq!(bound(&report, &report.results[0]).kind, BoundKind::Tensor);
}

/// Against what ncu itself says of these launches.
#[test]
fn the_roofline() {
    let report = toy();
    let points = roofline(&report);
    assert_eq!(points.len(), 36);
    let of = |wanted: &str| points.iter().find(|point| point.kernel == wanted).unwrap();
    let copy = of("copy_kernel");
    let dram = copy.traffic.iter().find(|traffic| traffic.level == MemoryLevel::Dram).unwrap();
    // 16,777,216 x 16 bytes read and as many written in 123.36 us, less what stays in L2.
    assert!((dram.bytes_per_second / 4.153_76e12 - 1.0).abs() < 0.01, "{dram:?}");
    assert!((dram.peak_bytes_per_second.unwrap() / (1504.0 * 3.198_72e9) - 1.0).abs() < 0.01, "{dram:?}");
    assert!((dram.share.unwrap() - 0.8634).abs() < 0.0087, "as gpu__dram_throughput says: {dram:?}");
    let fma = of("fma_kernel");
    let single = fma.precisions.iter().find(|achieved| achieved.precision == Precision::Fp32).unwrap();
    // 1056 x 256 threads, each 20,000 rounds of two fused operations and a multiplication.
    let by_hand = 1056.0 * 256.0 * 20_000.0 * (2.0 * 2.0 + 1.0) / (fma.time_ns / 1e9);
    assert!((single.flops_per_second / by_hand - 1.0).abs() < 0.01, "{single:?} {by_hand:e}");
    let double = fma.precisions.iter().find(|achieved| achieved.precision == Precision::Fp64).unwrap();
    assert!(double.flops_per_second == 0.0 && double.peak_flops_per_second > Some(3e13), "{double:?}");
    // 2 x 16896 x 1.98 GHz.
    let peaks = ceilings(&points);
    let peak = |name: &str| peaks.iter().find(|ceiling| ceiling.roof.to_string() == name).unwrap().per_second;
    assert!((peak("FP32") / 66.9e12 - 1.0).abs() < 0.01, "{peaks:?}");
    assert!((peak("DRAM") / 4.81e12 - 1.0).abs() < 0.01, "{peaks:?}");
}

/// A product of matrices in BF16, as ncu 2025.3 measured it on an H200: 72.9 % of what the tensor pipe does without
/// sparsity, which is half of what the plain counter has for its peak.
#[test]
fn the_tensor_peak_is_that_without_sparsity() {
    let measured = |sparse: f64| {
        let values = [
            ("sm__cycles_elapsed.avg.per_second", 1.96e9),
            ("sm__ops_path_tensor_src_bf16_dst_fp32.sum.per_cycle_elapsed", 394_337.233_498_818_4),
            ("sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained", 1_081_344.0),
            ("sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained", 540_672.0),
            ("sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_on.sum.peak_sustained", 1_081_344.0),
            ("sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_on.sum.per_cycle_elapsed", sparse),
            ("sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained", 360_448.0),
            // Told apart only; and apart and together, which counts once.
            ("sm__ops_path_tensor_src_fp8_sparsity_off.sum.per_cycle_elapsed", 1000.0),
            ("sm__ops_path_tensor_src_fp8_sparsity_off.sum.peak_sustained", 1_081_344.0),
            ("sm__ops_path_tensor_src_int8.sum.per_cycle_elapsed", 7.0),
            ("sm__ops_path_tensor_src_int8_sparsity_off.sum.per_cycle_elapsed", 7.0),
            ("sm__ops_path_tensor_src_int8_sparsity_off.sum.peak_sustained", 14.0),
        ];
        let names: String = values.iter().map(|(name, _)| format!(",\"{name}\"")).collect();
        let numbers: String = values.iter().map(|(_, value)| format!(",\"{value}\"")).collect();
        let text = format!("\"ID\",\"Kernel Name\"{names}\n\"0\",\"kernel\"{numbers}\n");
        let report = counters::read_ncu_csv_bytes(text.as_bytes(), Path::new("tensor.csv")).unwrap();
        let shares = roofline(&report)[0].precisions.clone();
        shares
            .into_iter()
            .map(|achieved| (achieved.precision.to_string(), achieved.share.unwrap()))
            .collect::<Vec<_>>()
    };
    let dense = measured(0.0);
    let names: Vec<&str> = dense.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tensor BF16", "tensor FP8", "tensor INT8"]);
    assert!((dense[0].1 - 0.729_346_5).abs() < 1e-6, "{dense:?}");
    assert_eq!(dense[2].1, 0.5);
    let sparse = measured(10.0);
    assert_eq!(sparse[0].0, "tensor BF16 sparse");
    assert!((sparse[0].1 - 0.364_673_25).abs() < 1e-6, "{sparse:?}");
}
