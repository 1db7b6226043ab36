//! Units that we derive from names, against those that NVIDIA's own reader gives.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use counters::read_ncu_report_bytes;

use crate::support::writer::{Block, Stored, kernel, metric, report, source};
use crate::support::{ncu_report, tool};

/// Chips with the number their reports have for them.
const CHIPS: [(&str, u64); 4] = [("gv100", 0x140), ("tu102", 0x162), ("ga100", 0x170), ("gh100", 0x180)];

/// What may be asked of a counter.
const OF_COUNTERS: [&str; 11] = [
    "avg",
    "sum.per_second",
    "max.peak_sustained",
    "min.peak_sustained_active",
    "avg.peak_sustained_active.per_second",
    "avg.peak_sustained_elapsed",
    "avg.peak_sustained_elapsed.per_second",
    "sum.per_cycle_active",
    "avg.per_cycle_elapsed",
    "avg.pct_of_peak_sustained_active",
    "sum.pct_of_peak_sustained_elapsed",
];
const OF_RATIOS: [&str; 3] = ["ratio", "max_rate", "pct"];
const OF_THROUGHPUTS: [&str; 2] = ["avg.pct_of_peak_sustained_active", "avg.pct_of_peak_sustained_elapsed"];

/// Where we differ: nanoseconds that it calls seconds, cycles that are instructions on one
/// chip, and what it does not know on the oldest chip and guesses from words.
const DIFFERENT: [&str; 5] = [
    "gpu__time_",
    "op_dmma_cycles_active",
    "sass_average_branch_targets",
    "sass_average_data_bytes",
    "l1tex__throughput_internal_activity",
];

/// All that a chip can count: names without what is asked of them, and their kinds.
fn base_metrics(ncu: &Path, chip: &str) -> Vec<(String, String)> {
    let output = Command::new(ncu).args(["--query-metrics", "--csv", "--chip", chip]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().filter(|line| line.starts_with('"')).skip(1);
    rows.map(|row| {
        let mut cells = row.trim_matches('"').split("\",\"");
        (cells.next().unwrap().to_owned(), cells.next().unwrap().to_owned())
    })
    .collect()
}

#[test]
fn units_of_everything_a_chip_can_count() {
    const TEST: &str = "units_of_everything_a_chip_can_count";
    let Some(ncu) = tool(TEST, "ncu-2022.3.0/usr/bin/ncu") else { return };
    let (mut asked, mut agreed) = (0u64, 0u64);
    let mut different: BTreeMap<String, (String, String)> = BTreeMap::new();
    for (chip, number) in CHIPS {
        let bases = base_metrics(&ncu, chip);
        assert!(bases.len() > 1_000, "{chip}: {}", bases.len());
        let names: Vec<(&str, String)> = bases
            .iter()
            .flat_map(|(base, kind)| {
                let suffixes = match kind.as_str() {
                    "Counter" => OF_COUNTERS.as_slice(),
                    "Ratio" => &OF_RATIOS,
                    _ => &OF_THROUGHPUTS,
                };
                suffixes.iter().map(move |suffix| (base.as_str(), format!("{base}.{suffix}")))
            })
            .collect();
        let bytes = report(&[written(number, &names)]);
        let ours = read_ncu_report_bytes(&bytes, Path::new(chip)).unwrap();
        let Some(theirs) = ncu_report(TEST, &bytes) else { return };
        let theirs = &theirs[0]["metrics"];
        // What this version does not know on this chip, it guesses.
        let known: BTreeSet<&str> = bases
            .iter()
            .filter(|(base, kind)| {
                let rate = theirs[format!("{base}.sum.per_second")]["unit"].as_str().unwrap_or_default();
                kind != "Counter" || rate.contains('/') || rate == "hz"
            })
            .map(|(base, _)| base.as_str())
            .collect();
        for (_, name) in names.iter().filter(|(base, _)| known.contains(base)) {
            let (ours, theirs) = (ours.unit(name), theirs[name]["unit"].as_str().unwrap());
            asked += 1;
            if ours == theirs {
                agreed += 1;
            } else {
                different.insert(name.clone(), (ours.to_owned(), theirs.to_owned()));
            }
        }
    }
    let share = agreed as f64 / asked as f64;
    different.retain(|name, _| !DIFFERENT.iter().any(|part| name.contains(part)));
    assert!(different.is_empty(), "{agreed} of {asked}: {different:#?}");
    assert!(share > 0.999 && asked > 95_000, "{agreed} of {asked}: {share}");
}

/// One result with all of these metrics, of a chip.
fn written(chip: u64, names: &[(&str, String)]) -> Block {
    let mut block = Block::of(1, &["device__attribute_implementation"]);
    block.strings.extend(names.iter().map(|(_, name)| name.as_bytes().to_vec()));
    let mut metrics = vec![metric(0, Some(Stored::Large(chip)), &[])];
    metrics.extend((1..=names.len()).map(|at| metric(at as u32, Some(Stored::Double(1.5)), &[])));
    block.sources.push(source(&[]));
    block.kernels.push(kernel("k", 7, [1; 3], &metrics));
    block
}
