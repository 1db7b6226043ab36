//! What is written about the regions of counters.

use std::io::Read as _;
use std::path::Path;

use analysis::{
    AggregateRule, Aggregated, Counted, CountedKernel, CountedLaunch, CounterRegion, CounterRegions,
    DomainLaunches, Headline, Known, MetricRow, WholeRange, region_labels,
};
use counters::Value;
use nvtx::{Kind, RegionPath};

const SM: &str = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
const TIME: &str = "gpu__time_duration.sum";
const HEADLINES: [Headline; 1] = [Headline { title: "SM", metric: SM }];

fn metric(name: &str, unit: &str, rule: AggregateRule, values: [Option<Value>; 2]) -> MetricRow {
    let [inclusive, exclusive] = values.map(|value| Aggregated { value, launches: 3 });
    MetricRow { name: name.to_owned(), unit: unit.to_owned(), rule, inclusive, exclusive }
}

/// Three launches of one kernel, two of them own.
fn counted(name: &str, rule: AggregateRule) -> Counted {
    let launch = |result| CountedLaunch {
        result,
        own: result > 0,
        short_name: name.to_owned(),
        time_ns: Some(1_000.0),
        headlines: vec![Some(40.0)],
    };
    let kernel = CountedKernel {
        name: format!("{name}(float *)"),
        short_name: name.to_owned(),
        shape: Some([[128, 1, 1], [256, 1, 1]]),
        launches: 3,
        time_ns: Some(3_000.0),
        share: Some(1.0),
    };
    let float = |number| Some(Value::Float(number));
    let text = |text: &str| Some(Value::Text(text.into()));
    Counted {
        launches_inclusive: 3,
        launches_exclusive: 2,
        time_inclusive_ns: Some(3_000.0),
        time_exclusive_ns: Some(2_000.0),
        distinct_kernels: 1,
        kernels: vec![kernel],
        metrics: vec![
            metric("breakdown:x", "", AggregateRule::None, [None, None]),
            metric("dram__bytes.sum", "byte", AggregateRule::Sum, [float(3e9), float(2e9)]),
            metric(TIME, "ns", AggregateRule::Sum, [float(3_000.0), float(2_000.0)]),
            metric("launch__block_size", "", AggregateRule::Same, [None, Some(Value::Integer(256))]),
            metric("launch__func_cache_config", "", AggregateRule::Same, [text("a|b"), text("")]),
            metric(SM, "%", rule, [float(40.0), float(45.5)]),
        ],
        launches: (0..3).map(launch).collect(),
        ..Counted::default()
    }
}

fn range(result: usize, also_open: &[&str]) -> WholeRange {
    WholeRange {
        result,
        also_open: also_open.iter().map(|path| path.parse().unwrap()).collect(),
        time_ns: Some(9_000.0),
        headlines: vec![Some(12.5)],
        metrics: vec![
            ("breakdown:x".to_owned(), String::new(), Value::Text("y,z".into())),
            (TIME.to_owned(), "ns".to_owned(), Value::Integer(9_000)),
            (SM.to_owned(), "%".to_owned(), Value::Float(12.5)),
        ],
    }
}

/// Everything that can be said of regions, once.
fn example() -> CounterRegions {
    let region = |path: &str, kind, known: Option<(u64, Option<u64>)>, counted| {
        let path: RegionPath = path.parse().unwrap();
        let above = &path.names[..path.names.len() - 1];
        CounterRegion {
            label: String::new(),
            parent: (!above.is_empty()).then(|| RegionPath::new(path.domain.as_str(), above)),
            path,
            kind,
            known: known.map(|(instances, launches)| Known { instances, launches }),
            counted,
            measured_on_the_whole_range: Vec::new(),
        }
    };
    let (push, weighted) = (Kind::PushPop, AggregateRule::TimeWeightedMean);
    let mut regions = vec![
        region(":A", push, Some((3, Some(3_400))), counted("gemm", weighted)),
        region(":A/A1", push, None, Counted { left_out: 4, ..Counted::default() }),
        region(r":A\:\:A1", push, Some((1, Some(0))), Counted::default()),
        region(":A A1", push, Some((1, Some(7))), Counted::default()),
        region("LLM:|`<b>\u{1b}[2J", push, None, counted("<script>`|", AggregateRule::Mean)),
        region(":se", Kind::StartEnd, Some((2, None)), Counted { untimed: 1, ..counted("copy", weighted) }),
    ];
    regions[0].measured_on_the_whole_range = vec![range(7, &[]), range(8, &[":se"])];
    regions[5].measured_on_the_whole_range = vec![range(8, &[":A"])];
    let named: Vec<(&RegionPath, Kind)> = regions.iter().map(|region| (&region.path, region.kind)).collect();
    for (region, label) in region_labels(&named).into_iter().enumerate() {
        regions[region].label = label;
    }
    CounterRegions {
        regions,
        outside: Counted { launches_exclusive: 3, ..counted("memset", weighted) },
        domains: vec![DomainLaunches { domain: String::new(), inside: 3, outside: 9 }],
        launches: 12,
        left_out: 4,
        include: Vec::new(),
        exclude: vec!["splitk|`x".to_owned()],
        headlines: HEADLINES.to_vec(),
        measured_on_the_whole_range: vec![range(9, &[])],
        notes: vec!["broken at byte 12: a string ends\nbefore it should".to_owned()],
    }
}

#[test]
fn the_report() {
    insta::assert_snapshot!(report::counter_regions_markdown(&example()));
}

/// Kernel replay of `toy.cu` on an H200.
#[test]
fn a_real_report() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../counters/tests/data/toy-kernel.ncu-rep.gz");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
    let counters = counters::read_ncu_report_bytes(&bytes, &path).unwrap();
    let regions = analysis::counter_regions(&counters, &[], &analysis::KernelPatterns::default());
    insta::assert_snapshot!(report::counter_regions_markdown(&regions));
}

#[test]
fn one_region() {
    let regions = example();
    insta::assert_snapshot!(report::counter_region_markdown(&regions.regions[0], &regions.headlines));
}

#[test]
fn for_programs() {
    let regions = example();
    let document = report::counter_regions_json(&regions);
    assert_eq!(document["schema"], 1);
    let rows = document["regions"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["A", "A1", "A::A1", "A A1", "|`<b>\u{1b}[2J", "se"]);
    let listed = |row: &serde_json::Value| row["metrics"].as_array().unwrap().len();
    assert_eq!(listed(&rows[0]), 3, "without settings");
    let whole = report::counter_region_json(&regions.regions[0], &regions.headlines);
    assert_eq!((listed(&whole), whole["single_launches"].as_array().unwrap().len()), (6, 3));
    insta::assert_snapshot!(serde_json::to_string_pretty(&whole).unwrap());
}

#[test]
fn nothing_at_all() {
    let nothing = CounterRegions {
        regions: Vec::new(),
        outside: Counted::default(),
        domains: Vec::new(),
        launches: 0,
        left_out: 0,
        headlines: Vec::new(),
        measured_on_the_whole_range: Vec::new(),
        notes: Vec::new(),
        ..example()
    };
    insta::assert_snapshot!(report::counter_regions_markdown(&nothing));
}

#[test]
fn a_folder_for_each_region() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("ncu/regions");
    let mut regions = example();
    report::write_counter_regions(&folder, &regions, |path, bytes| std::fs::write(path, bytes)).unwrap();
    let listed = || {
        let mut names: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let mut expected: Vec<String> = regions.regions.iter().map(|region| region.label.clone()).collect();
    expected.extend(["report.json", "report.md"].map(str::to_owned));
    expected.sort();
    assert_eq!(listed(), expected);
    for region in &regions.regions {
        let text = std::fs::read_to_string(folder.join(&region.label).join("region.json")).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["path"], region.path.to_string());
    }
    // What somebody put there stays, what we wrote for a region that is no more goes.
    let (with_notes, plain) = (regions.regions[0].label.clone(), regions.regions[1].label.clone());
    std::fs::write(folder.join(&with_notes).join("notes.txt"), "mine").unwrap();
    std::fs::create_dir(folder.join("other")).unwrap();
    regions.regions.drain(..2);
    report::write_counter_regions(&folder, &regions, |path, bytes| std::fs::write(path, bytes)).unwrap();
    expected.retain(|name| *name != plain);
    expected.push("other".to_owned());
    expected.sort();
    assert_eq!(listed(), expected);
    let kept: Vec<_> = std::fs::read_dir(folder.join(&with_notes)).unwrap().collect();
    assert_eq!(kept.len(), 1);
}
