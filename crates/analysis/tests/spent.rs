//! Device time as a tree: its parts add up to what `nsys stats` and our tables have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use analysis::{Options, Scope, Spent, SpentOn, analyze, attribute, gpu_regions, kernels, spent, transfers};
use trace::{Trace, read_kineto, read_nsys};

const REPORTS: [&str; 5] =
    ["toy-2025.3.1", "toy-graphnode-2025.3.1", "demo-2025.3.1", "torch-nodes-2025.3.1", "two-2025.3.1"];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Every recording of several kinds.
fn traces() -> Vec<(&'static str, Trace)> {
    let nsys = REPORTS.map(|name| (name, read_nsys(&data(&format!("{name}.sqlite"))).unwrap()));
    let kineto = read_kineto(&data("torch.kineto.json.gz")).unwrap();
    nsys.into_iter().chain([("torch.kineto", kineto)]).collect()
}

/// Time and number of activities, by what they are.
fn by<'t, Key: Ord>(spent: &Spent, key: impl Fn(&SpentOn) -> Option<Key> + 't) -> BTreeMap<Key, (i64, u64)> {
    let mut sums = BTreeMap::new();
    for node in &spent.nodes {
        if let Some(key) = key(&node.on) {
            let sum: &mut (i64, u64) = sums.entry(key).or_default();
            *sum = (sum.0 + node.ns, sum.1 + node.activities);
        }
    }
    sums
}

/// Of kernels, by name.
fn kernel_sums(trace: &Trace, spent: &Spent) -> BTreeMap<String, (i64, u64)> {
    by(spent, |on| match on {
        SpentOn::Kernel(name) => Some(trace.strings.text(*name).to_owned()),
        _ => None,
    })
}

#[test]
fn every_kernel_and_copy_is_in_one_place() {
    for (name, trace) in traces() {
        let spent = spent(&trace, None);
        let rows = kernels(&trace, Scope::default(), Default::default(), &Default::default());
        let table: BTreeMap<String, (i64, u64)> =
            rows.into_iter().map(|row| (row.name, (row.statistics.total_ns, row.statistics.calls))).collect();
        assert!(!table.is_empty(), "{name}");
        assert_eq!(kernel_sums(&trace, &spent), table, "{name}");
        let copies: BTreeMap<_, _> = transfers(&trace, Scope::default())
            .into_iter()
            .map(|row| (row.direction.as_str(), (row.statistics.total_ns, row.statistics.calls)))
            .collect();
        let ours = by(&spent, |on| match on {
            SpentOn::Transfer(direction) => Some(direction.as_str()),
            _ => None,
        });
        assert_eq!(ours, copies, "{name}");
        // What is inside a node is what it has, except for the last ones.
        for (at, node) in spent.nodes.iter().enumerate() {
            let inside = spent.nodes.iter().filter(|inner| inner.around == Some(at as u32));
            let sum = inside.fold((0, 0), |sum, inner| (sum.0 + inner.ns, sum.1 + inner.activities));
            let is_last = matches!(node.on, SpentOn::Kernel(_) | SpentOn::Transfer(_) | SpentOn::Graphs);
            assert_eq!(sum, if is_last { (0, 0) } else { (node.ns, node.activities) }, "{name}");
        }
    }
}

/// The kernels of each region, as its table has them.
#[test]
fn regions_have_their_kernels() {
    for (name, trace) in traces() {
        let spent = spent(&trace, None);
        let mut ours: BTreeMap<String, i64> = BTreeMap::new();
        for node in spent.nodes.iter().filter(|node| matches!(node.on, SpentOn::Kernel(_))) {
            let mut names = Vec::new();
            let mut domain_of = None;
            let mut next = node.around;
            while let Some(at) = next {
                let around = &spent.nodes[at as usize];
                if let SpentOn::Region { domain, name } = around.on {
                    names.insert(0, trace.strings.text(name).to_owned());
                    domain_of = Some(domain);
                }
                next = around.around;
            }
            for depth in 1..=names.len() {
                let path = nvtx::RegionPath {
                    domain: trace.strings.text(domain_of.unwrap()).to_owned(),
                    names: names[..depth].to_vec(),
                };
                *ours.entry(path.to_string()).or_default() += node.ns;
            }
        }
        let meant = |domain: &str| spent.domain.is_none_or(|of| trace.strings.text(of) == domain);
        let table: BTreeMap<String, i64> = gpu_regions(&trace, &attribute(&trace), Scope::default())
            .0
            .into_iter()
            .filter(|row| row.gpu_inclusive_ns > 0 && row.kind == nvtx::Kind::PushPop && meant(&row.domain))
            .map(|row| (row.path, row.gpu_inclusive_ns))
            .collect();
        assert!(!table.is_empty(), "{name}");
        for (path, ns) in table {
            assert_eq!(ours.get(&path), Some(&ns), "{name}: {path}");
        }
    }
}

/// The table of operators equals the profiler's own.
#[test]
fn operators_have_what_they_started() {
    let trace = read_kineto(&data("torch.kineto.json.gz")).unwrap();
    let spent = spent(&trace, None);
    let mut ours: BTreeMap<String, i64> = BTreeMap::new();
    for node in &spent.nodes {
        let Some(around) = node.around.map(|at| &spent.nodes[at as usize]) else { continue };
        if let (SpentOn::Kernel(_) | SpentOn::Transfer(_), SpentOn::Operator(name)) = (node.on, around.on) {
            *ours.entry(trace.strings.text(name).to_owned()).or_default() += node.ns;
        }
    }
    let table: BTreeMap<String, i64> = analyze(&trace, &Options::default())
        .operators
        .into_iter()
        .filter(|row| row.device_self_ns > 0)
        .map(|row| (row.name, row.device_self_ns))
        .collect();
    assert!(table.len() > 3, "{table:?}");
    assert_eq!(ours, table);
}

#[test]
fn steady_iterations_have_the_kernels_of_their_table() {
    let mut with_a_loop = 0;
    for (name, trace) in traces() {
        let analysis = analyze(&trace, &Options::default());
        let Some(steady) = &analysis.steady else { continue };
        with_a_loop += 1;
        let table: BTreeMap<String, (i64, u64)> = steady
            .kernels
            .iter()
            .map(|row| (row.name.clone(), (row.statistics.total_ns, row.statistics.calls)))
            .collect();
        assert_eq!(kernel_sums(&trace, &spent(&trace, Some(steady))), table, "{name}");
    }
    assert!(with_a_loop > 1);
}
