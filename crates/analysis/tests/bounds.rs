//! What limits the kernels of toy.cu, as ncu 2025.3 measured them on an H200.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::Read;
use std::path::Path;

use analysis::{BoundKind, bound, ceilings, roofline};
use counters::{Report, Subject};

fn toy() -> Report {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../counters/tests/data/toy-kernel.ncu-rep.gz");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    counters::read_ncu_report_bytes(&bytes, Path::new("toy.ncu-rep")).unwrap()
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
    assert_eq!(
        (found.kind, found.why.as_str()),
        (BoundKind::Unknown, "no throughput of compute was measured")
    );
}

/// Against what ncu itself says of these launches.
#[test]
fn the_roofline() {
    let report = toy();
    let points = roofline(&report);
    assert_eq!(points.len(), 36);
    let of = |wanted: &str| points.iter().find(|point| point.kernel == wanted).unwrap();
    let copy = of("copy_kernel");
    let dram = copy.traffic.iter().find(|traffic| traffic.level == "DRAM").unwrap();
    // 16,777,216 x 16 bytes read and as many written in 123.36 us, less what stays in L2.
    assert!((dram.bytes_per_second / 4.153_76e12 - 1.0).abs() < 0.01, "{dram:?}");
    assert!((dram.peak_bytes_per_second.unwrap() / (1504.0 * 3.198_72e9) - 1.0).abs() < 0.01, "{dram:?}");
    assert!((dram.share.unwrap() - 0.8634).abs() < 0.0087, "as gpu__dram_throughput says: {dram:?}");
    let fma = of("fma_kernel");
    let single = fma.precisions.iter().find(|achieved| achieved.precision == "FP32").unwrap();
    // 1056 x 256 threads, each 20,000 rounds of two fused operations and a multiplication.
    let by_hand = 1056.0 * 256.0 * 20_000.0 * (2.0 * 2.0 + 1.0) / (fma.time_ns / 1e9);
    assert!((single.flops_per_second / by_hand - 1.0).abs() < 0.01, "{single:?} {by_hand:e}");
    let double = fma.precisions.iter().find(|achieved| achieved.precision == "FP64").unwrap();
    assert!(double.flops_per_second == 0.0 && double.peak_flops_per_second > Some(3e13), "{double:?}");
    // 2 x 16896 x 1.98 GHz.
    let peaks = ceilings(&points);
    let peak = |name: &str| peaks.iter().find(|ceiling| ceiling.name == name).unwrap().per_second;
    assert!((peak("FP32") / 66.9e12 - 1.0).abs() < 0.01, "{peaks:?}");
    assert!((peak("DRAM") / 4.81e12 - 1.0).abs() < 0.01, "{peaks:?}");
}
