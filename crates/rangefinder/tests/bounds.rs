//! What a program that names every range anew comes to: memory, sizes, and sums that still add up.
//!
//! The only test of its file: memory is measured over all children of the process.

use serde_json::Value;

use crate::support::{Sandbox, kineto};

const KERNELS: u64 = 80_000;
const REGIONS: u64 = 20_000;

#[test]
fn many_regions_take_little() {
    let sandbox = Sandbox::new();
    let trace = sandbox.path("many.json");
    kineto::write(
        &trace,
        KERNELS,
        |number| format!("step {}", number % REGIONS),
        |number| format!("k{}", number % 9),
    )
    .unwrap();
    // Their names differ in a number only: together they are one region.
    let ran = sandbox.output(&["analyze", "--json", "many.json"]);
    let folded: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(folded["regions"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&folded["regions"][0]["path"], &folded["regions"][0]["instances"]),
        (&":step *".into(), &KERNELS.into())
    );
    assert_eq!(folded["regions"][0]["kernels_exclusive"], KERNELS);

    let ran = sandbox.output(&["analyze", "--out", "out", "many.json", "regions.fold=false"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("15,000 push/pop regions are left out"), "{}", ran.stdout);
    let peak =
        nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).unwrap().max_rss()
            / 1024;
    assert!(peak < 160, "{peak} MiB");

    let size = |name: &str| std::fs::metadata(sandbox.path("out").join(name)).unwrap().len();
    assert!(size("report.html") < 16_000_000, "{}", size("report.html"));
    assert!(size("analysis.json") < 16_000_000, "{}", size("analysis.json"));

    let document: Value =
        serde_json::from_slice(&std::fs::read(sandbox.path("out/analysis.json")).unwrap()).unwrap();
    let sum = |rows: &Value, field: &str| -> i64 {
        rows.as_array().unwrap().iter().map(|row| row[field].as_i64().unwrap()).sum()
    };
    let more = &document["more_regions"];
    let kernels = (sum(&document["kernels"], "calls"), sum(&document["kernels"], "total_ns"));
    assert_eq!(kernels.0, KERNELS as i64);
    let regions = &document["regions"];
    assert_eq!(sum(regions, "kernels_exclusive") + sum(more, "kernels"), kernels.0);
    assert_eq!(sum(regions, "gpu_exclusive_ns") + sum(more, "gpu_ns"), kernels.1);
    assert_eq!(regions.as_array().unwrap().len() as i64 + sum(more, "regions"), REGIONS as i64);
    assert_eq!(sum(regions, "instances") + sum(more, "instances"), KERNELS as i64);

    // The tables for programs have every region.
    let all = std::fs::read_to_string(sandbox.path("out/csv/regions.csv")).unwrap();
    let mut lines = all.lines();
    let at = lines.next().unwrap().split(',').position(|name| name == "gpu_exclusive_ns").unwrap();
    let times: Vec<i64> = lines.map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect();
    assert_eq!((times.len() as u64, times.iter().sum::<i64>()), (REGIONS, kernels.1));
    let idle = std::fs::read_to_string(sandbox.path("out/csv/idle.csv")).unwrap();
    assert_eq!(idle.lines().count() as u64, 1 + 1 + REGIONS, "a heading, a device, every region");
}
