//! A timeline and counters of the same program: toy.cu under nsys and under ncu.

use std::io::Read;
use std::path::{Path, PathBuf};

use analysis::{
    BoundKind, Confidence, Options, analyze, counted_efficiency, insight, join, launch_groups, roofline,
};
use counters::{Report, Subject};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn counted() -> Report {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../counters/tests/data/toy-kernel.ncu-rep.gz");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    counters::read_ncu_report_bytes(&bytes, Path::new("toy.ncu-rep")).unwrap()
}

#[test]
fn launches_meet_their_counters() {
    let trace = trace::read_nsys(&data("toy-2025.3.1.sqlite")).unwrap();
    let launches = launch_groups(&trace);
    assert_eq!(
        launches.sequence.len() as u64,
        launches.groups.iter().map(|group| group.launches).sum::<u64>()
    );
    let joined = join(&trace, &counted());
    let of = |name: &str, region: Option<&str>| {
        let fits = |kernel: &&analysis::JoinedKernel| {
            kernel.short_name == name && kernel.region.as_deref() == region
        };
        joined.kernels.iter().find(fits).unwrap_or_else(|| panic!("{name} {region:?}: {joined:#?}"))
    };
    let copy = of("copy_kernel", Some(":A"));
    assert_eq!((copy.launches, copy.confidence, copy.bound), (3, Confidence::Measured, BoundKind::Dram));
    let fma = of("fma_kernel", Some(":B"));
    assert_eq!((fma.launches, fma.confidence, fma.bound), (3, Confidence::Measured, BoundKind::Fp32));
    // The warm-up is in no region, and was not counted; the same kernel and shape was, elsewhere.
    let warm = of("copy_kernel", None);
    assert_eq!((warm.launches, warm.confidence), (1, Confidence::OtherRegion));
    let shares: f64 = joined.kernels.iter().map(|kernel| kernel.share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    assert!(joined.measured_share > 0.9 && joined.measured_share + joined.other_region_share <= 1.0 + 1e-9);
    for region in &joined.regions {
        let parts: f64 = region.bounds.iter().map(|(_, part)| part).sum();
        assert!((parts - 1.0).abs() < 1e-9, "{region:?}");
    }
    let b = joined.regions.iter().find(|region| region.region.as_deref() == Some(":B")).unwrap();
    assert_eq!(b.bounds[0].0, BoundKind::Fp32);
}

/// Functions of C are called the same with and without their arguments.
#[test]
fn a_result_is_listed_once() {
    let trace = trace::read_nsys(&data("toy-2025.3.1.sqlite")).unwrap();
    let mut report = counted();
    for result in &mut report.results {
        if let Subject::Kernel(kernel) = &mut result.subject {
            kernel.mangled.clone_from(&kernel.short_name);
        }
    }
    let joined = join(&trace, &report);
    assert!(joined.kernels.iter().any(|kernel| !kernel.results.is_empty()));
    for kernel in joined.kernels {
        let mut once = kernel.results.clone();
        once.dedup();
        assert_eq!(once, kernel.results, "{}", kernel.name);
    }
}

/// What ncu counted, added up by hand for a region of one kernel.
#[test]
fn efficiency_from_counters() {
    let trace = trace::read_nsys(&data("toy-2025.3.1.sqlite")).unwrap();
    let stages = ["B", "A", "empty"].map(str::to_owned).to_vec();
    let findings = analyze(&trace, &Options { stages, ..Options::default() });
    let report = counted();
    let joined = join(&trace, &report);
    let points = roofline(&report);
    let found = counted_efficiency(&findings.stages, &findings.regions, &joined, &points);
    let of = |name: &str| found.iter().find(|row| row.stage == name).unwrap_or_else(|| panic!("{found:#?}"));
    assert!(found.iter().all(|row| row.stage != "empty"), "nothing runs there");
    // Three launches of fma_kernel, 40,000 rounds of 4 FMA and a product for each of 270,336 threads.
    let b = of("B");
    let by_hand = 132.0 * 8.0 * 256.0 * 40_000.0 * 5.0;
    let (flops, peak) = (b.flops.unwrap(), b.peak_flops.unwrap());
    assert!((flops / by_hand - 1.0).abs() < 0.02, "{flops:e} {by_hand:e}");
    assert!((b.mfu.unwrap() - flops / b.seconds / peak).abs() < 1e-9, "{b:#?}");
    // The host does not wait for it; the kernel has most of the FP32 pipe, and of the time.
    assert!(
        b.assumptions.iter().any(|line| line.contains("because the range closes before its work is done")),
        "{b:#?}"
    );
    assert!((0.3..=1.0).contains(&b.mfu.unwrap()), "{b:#?}");
    // A holds A1: its kernels are the stage's as well.
    assert!(of("A").flops > Some(0.0), "{:#?}", of("A"));
    // A copy of 256 MiB.
    assert!((of("A").bytes.unwrap() / (2.0 * 256.0 * 1024.0 * 1024.0) - 1.0).abs() < 0.1, "{:#?}", of("A"));
}

#[test]
fn every_finding_has_its_numbers() {
    let trace = trace::read_nsys(&data("toy-2025.3.1.sqlite")).unwrap();
    let findings = analyze(&trace, &Options::default());
    let report = counted();
    let all = insight(Some((&trace, &findings)), Some(&report)).findings;
    assert!(!all.is_empty());
    for finding in &all {
        assert!(finding.title.contains(char::is_numeric), "{finding:?}");
        assert!(!finding.evidence.is_empty(), "{finding:?}");
        if let Some(gain) = finding.gain {
            assert!(gain.low <= gain.factor && gain.factor <= gain.high, "{finding:?}");
            assert!(
                (gain.now_ns as f64 / gain.then_ns as f64 / gain.factor - 1.0).abs() < 1e-3,
                "{finding:?}"
            );
        }
    }
}

/// A training step of PyTorch, bound by its launches.
#[test]
fn what_waits_for_the_host_is_said() {
    let trace = trace::read_nsys(&data("torch-nodes-2025.3.1.sqlite")).unwrap();
    let findings = analyze(&trace, &Options::default());
    let all = insight(Some((&trace, &findings)), None).findings;
    insta::assert_snapshot!(
        all.iter().map(|found| format!("{}: {}\n", found.cause, found.title)).collect::<String>()
    );
}
