//! Our tables against `nsys stats` on the same reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use analysis::{
    Families, GpuRegion, Grouping, Scope, attribute, attribute_as_gates_do, gpu_regions, kernels,
};
use trace::{Trace, read_nsys};

const REPORTS: [&str; 5] =
    ["toy-2025.3.1", "toy-graphnode-2025.3.1", "demo-2025.3.1", "torch-nodes-2025.3.1", "two-2025.3.1"];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn report(name: &str) -> Trace {
    read_nsys(&data(&format!("{name}.sqlite"))).unwrap()
}

/// Rows of a CSV by column name.
fn csv(name: &str) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(data(name)).unwrap();
    let mut rows = text.lines().map(fields);
    let names = rows.next().unwrap();
    rows.map(|row| names.iter().cloned().zip(row).collect()).collect()
}

fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                fields.last_mut().unwrap().push('"');
                characters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(row: &BTreeMap<String, String>, column: &str) -> T {
    row[column].parse().unwrap()
}

fn regions_of(trace: &Trace) -> Vec<GpuRegion> {
    gpu_regions(trace, &attribute(trace), Scope::default()).0
}

#[test]
fn kernels_are_those_of_nsys() {
    for name in REPORTS {
        let trace = report(name);
        let rows = kernels(&trace, Scope::default(), Grouping::Name, &Families::default());
        let expected = csv(&format!("{name}_cuda_gpu_kern_sum.csv"));
        assert_eq!(rows.len(), expected.len(), "{name}");
        let ours: BTreeMap<&str, _> = rows.iter().map(|row| (row.name.as_str(), row)).collect();
        for row in &expected {
            let kernel = row["Name"].as_str();
            let found = ours[kernel].statistics;
            let exact = (found.calls, found.total_ns, found.min_ns, found.max_ns);
            let wanted = (
                number(row, "Instances"),
                number(row, "Total Time (ns)"),
                number(row, "Min (ns)"),
                number(row, "Max (ns)"),
            );
            assert_eq!(exact, wanted, "{name}: {kernel}");
            for (ours, column) in [
                (found.mean_ns, "Avg (ns)"),
                (found.median_ns, "Med (ns)"),
                (found.std_ns, "StdDev (ns)"),
                (found.share * 100.0, "Time (%)"),
            ] {
                let theirs: f64 = number(row, column);
                assert!((ours - theirs).abs() <= 0.0501, "{name}: {kernel}: {column} {ours} {theirs}");
            }
        }
    }
}

/// nsys names a range without its parents and tells threads apart; we add up paths. It goes by the launching thread
/// alone.
#[test]
fn kernels_of_regions_are_those_of_nsys() {
    for name in REPORTS {
        let trace = report(name);
        let (rows, outside) = gpu_regions(&trace, &attribute_as_gates_do(&trace), Scope::default());
        let mut theirs: BTreeMap<String, (u64, i64)> = BTreeMap::new();
        for row in csv(&format!("{name}_nvtx_kern_sum.csv")) {
            let sum = theirs.entry(row["NVTX Range"].clone()).or_default();
            sum.0 += number::<u64>(&row, "Kern Inst");
            sum.1 += number::<i64>(&row, "Total Time (ns)");
        }
        let mut ours: BTreeMap<String, (u64, i64)> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.kernels_inclusive > 0) {
            let sum = ours.entry(format!("{}:{}", row.domain, row.name)).or_default();
            sum.0 += row.kernels_inclusive;
            sum.1 += row.gpu_inclusive_ns;
        }
        if outside.kernels > 0 {
            ours.insert(String::new(), (outside.kernels, outside.gpu_ns));
        }
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn spans_are_those_of_nsys() {
    for name in REPORTS {
        let trace = report(name);
        let (rows, _) = gpu_regions(&trace, &attribute_as_gates_do(&trace), Scope::default());
        for row in csv(&format!("{name}_nvtx_gpu_proj_sum.csv")) {
            if row["Style"] != "PushPop" {
                continue;
            }
            let named =
                rows.iter().filter(|region| format!("{}:{}", region.domain, region.name) == row["Range"]);
            let (mut span, mut wall, mut instances) = (0, 0, 0);
            for region in named {
                span += region.gpu_span_ns.unwrap_or(0);
                wall += region.wall_ns;
                instances += region.instances;
            }
            assert_eq!(span, number::<i64>(&row, "Total Proj Time (ns)"), "{name}: {}", row["Range"]);
            // nsys leaves out instances that started nothing.
            if instances == number::<u64>(&row, "Range Instances") {
                assert_eq!(wall, number::<i64>(&row, "Total Range Time (ns)"), "{name}: {}", row["Range"]);
            }
        }
    }
}

/// What nsys leaves to no range, and we to the range of the only thread that has one, is marked as such.
#[test]
fn what_nsys_does_not_say_is_marked() {
    for name in REPORTS {
        let trace = report(name);
        let (strict, outside) = gpu_regions(&trace, &attribute_as_gates_do(&trace), Scope::default());
        let (rows, less) = gpu_regions(&trace, &attribute(&trace), Scope::default());
        assert_eq!(rows.len(), strict.len());
        for (row, strict) in rows.iter().zip(&strict) {
            assert_eq!(row.path, strict.path);
            let told =
                (row.gpu_inclusive_ns - row.other_thread_gpu_ns, row.launches - row.other_thread_launches);
            assert_eq!(told, (strict.gpu_inclusive_ns, strict.launches), "{name}: {}", row.path);
        }
        let roots = rows.iter().filter(|row| row.parent.is_none() && row.domain.is_empty());
        let of_others: i64 = roots.map(|row| row.other_thread_gpu_ns).sum();
        assert_eq!(outside.gpu_ns - less.gpu_ns, of_others, "{name}");
    }
    // Autograd's thread has the whole backward pass but for what starts it; fills are launches, too.
    let trace = report("torch-nodes-2025.3.1");
    let rows = regions_of(&trace);
    let backward = rows.iter().filter(|row| row.name == "backward");
    let counts: Vec<(u64, u64)> =
        backward.map(|row| (row.kernels_inclusive, row.other_thread_launches)).collect();
    assert_eq!(counts, [(22, 22), (66, 66)]);
}

/// What `toy.cu` is known to do, three times, and its graph once.
#[test]
fn the_known_truth() {
    for (name, nodes) in [("toy-2023.4.4", false), ("toy-2025.3.1", false), ("toy-graphnode-2025.3.1", true)]
    {
        let trace = report(name);
        let (rows, outside) = gpu_regions(&trace, &attribute(&trace), Scope::default());
        let found: Vec<(&str, u64, u64, u64)> = rows
            .iter()
            .map(|row| (row.path.as_str(), row.instances, row.kernels_inclusive, row.kernels_exclusive))
            .collect();
        let graph = if nodes { 15 } else { 0 };
        let expected = [
            (":A", 3, 21, 6),
            (":A/A1", 3, 15, 15),
            (":B", 3, 3, 3),
            (":empty", 3, 0, 0),
            ("LLM:decode_all", 3, 9, 9),
            (":se", 3, 3, 3),
            (":graph", 1, graph, graph),
        ];
        assert_eq!(found, expected, "{name}");
        assert_eq!((outside.kernels, outside.without_call), (4, 0), "{name}");
        let copies: Vec<u64> = rows.iter().map(|row| row.copies).collect();
        assert_eq!(copies, [0, 0, 3, 0, 0, 0, 0], "{name}");
        if name == "toy-2025.3.1" {
            assert_eq!(rows[6].graphs, 3, "whole graphs are not lost");
        }
    }
}

/// Every process counts correlations for itself.
#[test]
fn two_processes_share_nothing() {
    let trace = report("two-2025.3.1");
    let attribution = attribute(&trace);
    assert!(trace.processes.len() >= 2);
    for activity in 0..trace.activities.len() {
        let call = attribution.call[activity] as usize;
        let thread = trace.calls.thread[call] as usize;
        assert_eq!(trace.threads[thread].process, trace.activities.process[activity]);
    }
    let apart = Scope { by_process: true, by_device: false };
    let (rows, _) = gpu_regions(&trace, &attribution, apart);
    let together = regions_of(&trace);
    for row in &together {
        let parts = rows.iter().filter(|part| part.path == row.path && part.kind == row.kind);
        assert_eq!(
            parts.map(|part| part.kernels_inclusive).sum::<u64>(),
            row.kernels_inclusive,
            "{}",
            row.path
        );
    }
    assert!(rows.len() > together.len());
}
