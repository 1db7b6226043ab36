//! Counters by region: small reports, and a real one.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use analysis::{
    AggregateRule, CounterRegion, CounterRegions, KernelPatterns, KnownRegion, MetricRow, counter_regions,
};
use counters::{Kernel, Measured, Metric, NvtxRange, NvtxState, NvtxThread, Process, Report, Subject, Value};
use nvtx::{Kind, RegionPath};
use proptest::prelude::*;

const TIME: &str = "gpu__time_duration.sum";
const SM: &str = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
const CYCLES: &str = "sm__cycles_active.sum";

/// What ncu measured of `toy.cu` on an H200.
fn toy(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../counters/tests/data");
    let file = std::fs::File::open(folder.join(name)).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Kernel replay of the ranges `A`, `B`, `LLM@decode_all` and `se`.
static TOY: LazyLock<Report> = LazyLock::new(|| {
    counters::read_ncu_report_bytes(&toy("toy-kernel.ncu-rep.gz"), Path::new("toy")).unwrap()
});

/// A report without results that knows the metrics of the real one.
fn report() -> Report {
    Report { metric_names: TOY.metric_names.clone(), ..Report::default() }
}

fn path(text: &str) -> RegionPath {
    text.parse().unwrap()
}

/// `open` are paths of push/pop regions, `started` of start/end ones.
fn measure(
    report: &mut Report,
    subject: Subject,
    open: &[RegionPath],
    started: &[RegionPath],
    metrics: &[(&str, Value)],
) {
    let range = |name: &String| NvtxRange { name: name.clone(), ..NvtxRange::default() };
    let stacks =
        open.iter().map(|path| (path.domain.clone(), path.names.iter().map(range).collect())).collect();
    let started = started.iter().map(|path| (path.domain.clone(), range(&path.names[0]))).collect();
    let metric = |(name, value): &(&str, Value)| Metric {
        name: report.metric_names.id(name).unwrap(),
        value: Some(value.clone()),
        instances: 0,
    };
    let mut metrics: Vec<Metric> = metrics.iter().map(metric).collect();
    metrics.sort_by_key(|metric| metric.name);
    report.results.push(Measured {
        subject,
        process: Arc::new(Process::default()),
        thread: Some(7),
        device: Some(0),
        context: Some(1),
        compute_capability: Some((9, 0)),
        nvtx: NvtxState { threads: vec![NvtxThread { id: 7, stacks }], started },
        metrics,
        sections: Vec::new(),
        rules: Vec::new(),
    });
}

fn kernel(name: &str) -> Subject {
    let short_name = name.to_owned();
    let name = format!("{name}(float *)");
    Subject::Kernel(Kernel { name, short_name, grid: [4, 1, 1], block: [32, 1, 1], ..Kernel::default() })
}

fn launch(report: &mut Report, name: &str, open: &[&str], metrics: &[(&str, Value)]) {
    let open: Vec<RegionPath> = open.iter().map(|open| path(open)).collect();
    measure(report, kernel(name), &open, &[], metrics);
}

fn all(report: &Report) -> CounterRegions {
    counter_regions(report, &[], &KernelPatterns::default())
}

fn region<'a>(regions: &'a CounterRegions, path: &str) -> &'a CounterRegion {
    regions.regions.iter().find(|region| region.path.to_string() == path).unwrap()
}

fn metric<'a>(region: &'a CounterRegion, name: &str) -> &'a MetricRow {
    region.counted.metrics.iter().find(|row| row.name == name).unwrap()
}

/// `path inclusive/exclusive < parent`
fn tree(regions: &CounterRegions) -> Vec<String> {
    let row = |region: &CounterRegion| {
        let counted = &region.counted;
        let parent = region.parent.as_ref().map(|parent| format!(" < {parent}")).unwrap_or_default();
        let kind = if region.kind == Kind::StartEnd { " se" } else { "" };
        let (inclusive, exclusive) = (counted.launches_inclusive, counted.launches_exclusive);
        format!("{}{kind} {inclusive}/{exclusive}{parent}", region.path)
    };
    regions.regions.iter().map(row).collect()
}

#[test]
fn a_launch_counts_for_its_region_and_those_around_it() {
    let mut report = report();
    launch(&mut report, "k", &[":step/layer/mlp", "LLM:decode"], &[]);
    launch(&mut report, "k", &[":step"], &[]);
    launch(&mut report, "k", &["LLM:decode"], &[]);
    launch(&mut report, "k", &[], &[]);
    // Two instances of one start/end region are open, and one of another.
    let se = [path(":se"), path(":se"), path(":other")];
    measure(&mut report, kernel("k"), &[path(":step/step")], &se, &[]);
    measure(&mut report, Subject::Graph { stream: None }, &[path(":step")], &[], &[]);
    let regions = all(&report);
    assert_eq!(
        tree(&regions),
        [
            ":step 4/2",
            ":step/layer 1/0 < :step",
            ":step/layer/mlp 1/1 < :step/layer",
            ":step/step 1/1 < :step",
            "LLM:decode 2/2",
            ":other se 1/1",
            ":se se 1/1",
        ]
    );
    assert_eq!((regions.launches, regions.outside.launches_inclusive), (6, 1));
    let domains: Vec<_> =
        regions.domains.iter().map(|row| (row.domain.as_str(), row.inside, row.outside)).collect();
    assert_eq!(domains, [("", 4, 2), ("LLM", 2, 4)]);
    let kernels: Vec<_> = region(&regions, ":step").counted.kernels.iter().map(|row| &row.name).collect();
    assert_eq!(kernels, ["CUDA graph", "k(float *)"]);
}

#[test]
fn what_was_not_counted_is_shown_as_empty() {
    let mut report = report();
    launch(&mut report, "k", &[":b/x"], &[]);
    let known = |path: &str, kind, instances, launches| KnownRegion {
        path: self::path(path),
        kind,
        instances,
        launches,
    };
    let known = [
        known(":a/inner", Kind::PushPop, 3, Some(3_400)),
        known(":b", Kind::PushPop, 1, Some(12)),
        known(":b", Kind::PushPop, 2, Some(8)),
        known(":se", Kind::StartEnd, 1, None),
    ];
    let regions = counter_regions(&report, &known, &KernelPatterns::default());
    assert_eq!(tree(&regions), [":a 0/0", ":a/inner 0/0 < :a", ":b 1/0", ":b/x 1/1 < :b", ":se se 0/0"]);
    let known = |path| region(&regions, path).known.map(|known| (known.instances, known.launches));
    assert_eq!(known(":a"), None, "nobody said how often it was opened");
    assert_eq!(known(":a/inner"), Some((3, Some(3_400))));
    assert_eq!(known(":b"), Some((3, Some(20))));
    assert_eq!(known(":se"), Some((1, None)));
    assert!(region(&regions, ":a/inner").counted.metrics.is_empty());
    assert_eq!(region(&regions, ":a").counted.time_inclusive_ns, None);
}

#[test]
fn metrics_say_how_they_were_put_together() {
    let mut report = report();
    let values = |time: u64, sm: f64, cycles: u64, waves: f64, cache: &str| {
        [
            (TIME, Value::Integer(time)),
            (SM, Value::Float(sm)),
            (CYCLES, Value::Integer(cycles)),
            ("sm__cycles_active.avg", Value::Float(cycles as f64 / 4.0)),
            ("sm__cycles_active.max", Value::Integer(cycles)),
            ("dram__bytes.sum.peak_sustained", Value::Float(1_504.0)),
            ("launch__waves_per_multiprocessor", Value::Float(waves)),
            ("launch__func_cache_config", Value::Text(cache.into())),
            ("launch__occupancy_per_block_size", Value::Integer(3_670)),
        ]
    };
    launch(&mut report, "a", &[":r"], &values(100, 90.0, 1_000, 2.0, "none"));
    launch(&mut report, "b", &[":r/s"], &values(300, 10.0, 3_000, 4.0, "none"));
    launch(&mut report, "c", &[":r/s"], &[(TIME, Value::Integer(50))]);
    let regions = all(&report);
    let outer = region(&regions, ":r");
    let row = |name: &str| {
        let row = metric(outer, name);
        let number = |value: &Option<Value>| value.as_ref().and_then(Value::as_f64);
        (row.rule, number(&row.inclusive.value), number(&row.exclusive.value), row.inclusive.launches)
    };
    assert_eq!(row(TIME), (AggregateRule::Sum, Some(450.0), Some(100.0), 3));
    assert_eq!(row(SM), (AggregateRule::TimeWeightedMean, Some(30.0), Some(90.0), 2));
    assert_eq!(row(CYCLES), (AggregateRule::Sum, Some(4_000.0), Some(1_000.0), 2));
    assert_eq!(row("sm__cycles_active.avg"), (AggregateRule::Sum, Some(1_000.0), Some(250.0), 2));
    assert_eq!(row("sm__cycles_active.max"), (AggregateRule::Max, Some(3_000.0), Some(1_000.0), 2));
    let same = AggregateRule::Same;
    assert_eq!(row("dram__bytes.sum.peak_sustained"), (same, Some(1_504.0), Some(1_504.0), 2));
    assert_eq!(row("launch__waves_per_multiprocessor"), (same, None, Some(2.0), 2));
    assert_eq!(row("launch__occupancy_per_block_size"), (AggregateRule::None, None, None, 2));
    let text = metric(outer, "launch__func_cache_config");
    assert_eq!((text.rule, &text.inclusive.value), (same, &Some(Value::Text("none".into()))));
    assert_eq!(
        (outer.counted.time_inclusive_ns, outer.counted.time_exclusive_ns),
        (Some(450.0), Some(100.0))
    );
    let kernels: Vec<_> =
        outer.counted.kernels.iter().map(|row| (row.short_name.as_str(), row.share)).collect();
    let share = |time: f64| Some(time / 450.0);
    assert_eq!(kernels, [("b", share(300.0)), ("a", share(100.0)), ("c", share(50.0))]);
    let own: Vec<_> =
        outer.counted.launches.iter().map(|row| (row.result, row.own, row.headlines[0])).collect();
    assert_eq!(own, [(0, true, Some(90.0)), (1, false, Some(10.0)), (2, false, None)]);
}

#[test]
fn a_mean_is_plain_where_a_time_is_missing() {
    let mut report = report();
    launch(&mut report, "a", &[":r/s"], &[(TIME, Value::Integer(100)), (SM, Value::Float(90.0))]);
    launch(&mut report, "b", &[":r"], &[(SM, Value::Float(10.0))]);
    let regions = all(&report);
    let row = metric(region(&regions, ":r"), SM);
    assert_eq!((row.rule, &row.inclusive.value), (AggregateRule::Mean, &Some(Value::Float(50.0))));
    assert_eq!(region(&regions, ":r").counted.untimed, 1);
    assert_eq!(metric(region(&regions, ":r/s"), SM).rule, AggregateRule::TimeWeightedMean);
}

#[test]
fn patterns_leave_out_and_say_so() {
    let mut report = report();
    launch(&mut report, "gemm", &[":r"], &[]);
    launch(&mut report, "gemm_splitk", &[":r"], &[]);
    launch(&mut report, "copy", &[":r/s"], &[]);
    launch(&mut report, "copy", &[], &[]);
    let patterns = KernelPatterns::new(&["^gemm".to_owned()], &["splitk".to_owned()]).unwrap();
    let regions = counter_regions(&report, &[], &patterns);
    assert_eq!(tree(&regions), [":r 1/1", ":r/s 0/0 < :r"]);
    assert_eq!((regions.launches, regions.left_out, regions.outside.left_out), (1, 3, 1));
    assert_eq!((region(&regions, ":r").counted.left_out, region(&regions, ":r/s").counted.left_out), (2, 1));
    assert_eq!((regions.include, regions.exclude), (vec!["^gemm".to_owned()], vec!["splitk".to_owned()]));
    assert!(KernelPatterns::new(&["(".to_owned()], &[]).is_err());
}

#[test]
fn what_was_measured_on_a_whole_range_stays_apart() {
    let mut report = report();
    let time = |ns| [(TIME, Value::Integer(ns))];
    launch(&mut report, "k", &[":r"], &time(1));
    measure(&mut report, Subject::Range, &[path(":r/s")], &[], &time(1_000));
    measure(&mut report, Subject::Range, &[path(":r"), path("D:x")], &[path(":se")], &time(2_000));
    measure(&mut report, Subject::Range, &[], &[], &time(4_000));
    let regions = all(&report);
    assert_eq!(tree(&regions), [":r 1/1", ":r/s 0/0 < :r", "D:x 0/0", ":se se 0/0"]);
    assert_eq!((regions.launches, region(&regions, ":r").counted.time_inclusive_ns), (1, Some(1.0)));
    let ranges = |path: &str| -> Vec<(usize, String)> {
        let ranges = &region(&regions, path).measured_on_the_whole_range;
        let open = |paths: &[RegionPath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        ranges.iter().map(|range| (range.result, open(&range.also_open))).collect()
    };
    assert_eq!(ranges(":r/s"), [(1, String::new())]);
    assert_eq!(ranges(":r"), [(2, "D:x :se".to_owned())]);
    assert_eq!(ranges(":se"), [(2, ":r D:x".to_owned())]);
    let [outside] = regions.measured_on_the_whole_range.as_slice() else { panic!("one is in no region") };
    assert_eq!((outside.result, outside.time_ns), (3, Some(4_000.0)));
    assert_eq!(outside.metrics, [(TIME.to_owned(), report.unit(TIME).to_owned(), Value::Integer(4_000))]);
}

#[test]
fn a_real_report() {
    let regions = all(&TOY);
    let tree = tree(&regions);
    assert_eq!(tree, [":A 21/6", ":A/A1 15/15 < :A", ":B 3/3", "LLM:decode_all 9/9", ":se se 3/3"]);
    assert_eq!((regions.launches, regions.outside.launches_inclusive), (36, 0));
    let titles: Vec<_> = regions.headlines.iter().map(|headline| headline.title).collect();
    assert_eq!(titles, ["SM", "DRAM", "L2", "occupancy", "tensor pipe", "issue active"]);
    // By hand from the raw page of ncu, whose values are rounded.
    let inner = region(&regions, ":A/A1");
    assert_eq!(inner.counted.time_inclusive_ns, Some(1_657_728.0));
    let near = |name: &str, expected: f64| {
        let value = metric(inner, name).inclusive.value.as_ref().and_then(Value::as_f64).unwrap();
        assert!((value / expected - 1.0).abs() < 1e-3, "{name}: {value}, not {expected}");
    };
    near(SM, 93.392_059);
    near(CYCLES, 424_865_248.0);
    near("sm__cycles_active.avg", 3_218_676.11);
    near("sm__cycles_active.max", 1_074_020.0);
    let labels: Vec<_> = regions.regions.iter().map(|region| region.label.as_str()).collect();
    assert_eq!(labels, ["A", "A.A1", "B", "LLM.decode_all-77f25c3e", "se-ba64587f"]);
}

#[test]
fn a_real_report_of_ranges() {
    let bytes = toy("toy-range.ncu-rep.gz");
    let regions = all(&counters::read_ncu_report_bytes(&bytes, Path::new("toy")).unwrap());
    assert_eq!(tree(&regions), [":A 0/0", ":B 0/0", "LLM:decode_all 0/0", ":se se 0/0"]);
    let ids = |region: &CounterRegion| -> Vec<usize> {
        region.measured_on_the_whole_range.iter().map(|range| range.result).collect()
    };
    let ids: Vec<Vec<usize>> = regions.regions.iter().map(ids).collect();
    assert_eq!(ids, [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]);
    assert!(regions.measured_on_the_whole_range.is_empty());
}

#[test]
fn a_table_of_ncu_says_the_same() {
    let report = counters::read_ncu_csv_bytes(&toy("toy-kernel.raw.csv.gz"), Path::new("toy")).unwrap();
    let (table, native) = (all(&report), all(&TOY));
    assert_eq!(tree(&table), tree(&native));
    for (table, native) in table.regions.iter().zip(&native.regions) {
        assert_eq!(table.label, native.label);
        assert_eq!(table.counted.time_inclusive_ns, native.counted.time_inclusive_ns);
        for name in [TIME, SM, CYCLES, "dram__bytes.sum.per_second", "launch__registers_per_thread"] {
            let (table, native) = (metric(table, name), metric(native, name));
            assert_eq!((table.rule, table.inclusive.launches), (native.rule, native.inclusive.launches));
            let number = |row: &MetricRow| row.inclusive.value.as_ref().and_then(Value::as_f64);
            match (number(table), number(native)) {
                // The table is rounded.
                (Some(a), Some(b)) => assert!((a - b).abs() <= 0.01, "{name}: {a}, {b}"),
                (a, b) => assert_eq!(a, b, "{name}"),
            }
        }
    }
}

/// `(default stack, stack of D, start/end, time)`; names by number.
type Row = (Vec<u8>, Vec<u8>, Option<u8>, Option<u16>);

fn row() -> impl Strategy<Value = Row> {
    let stack = || proptest::collection::vec(0u8..3, 0..4);
    (stack(), stack(), proptest::option::of(0u8..3), proptest::option::weighted(0.9, any::<u16>()))
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_counts_twice(
        rows in proptest::collection::vec(row(), 0..40),
        known in proptest::collection::vec(proptest::collection::vec(0u8..4, 1..4), 0..4),
        hidden in any::<bool>(),
    ) {
        let mut report = report();
        let named = |domain: &str, names: &[u8]| {
            RegionPath::new(domain, names.iter().map(|name| format!("n{name}")))
        };
        for (at, (first, second, started, time)) in rows.iter().enumerate() {
            let open: Vec<RegionPath> = [named("", first), named("D", second)]
                .into_iter().filter(|path| !path.names.is_empty()).collect();
            let started: Vec<RegionPath> = started.iter().map(|name| named("", &[*name])).collect();
            let metrics: Vec<(&str, Value)> =
                time.iter().map(|time| (TIME, Value::Integer(u64::from(*time)))).collect();
            measure(&mut report, kernel(["k", "hidden"][at % 2]), &open, &started, &metrics);
        }
        let known: Vec<KnownRegion> = known.iter().map(|names| KnownRegion {
            path: named("", names), kind: Kind::PushPop, instances: 1, launches: None,
        }).collect();
        let exclude = if hidden { vec!["hidden".to_owned()] } else { Vec::new() };
        let patterns = KernelPatterns::new(&[], &exclude).unwrap();
        let regions = counter_regions(&report, &known, &patterns);
        prop_assert_eq!(regions.launches + regions.left_out, rows.len() as u64);
        prop_assert_eq!(regions.left_out > 0, hidden && rows.len() > 1);
        for domain in &regions.domains {
            let roots = regions.regions.iter().filter(|region| {
                region.kind == Kind::PushPop && region.path.domain == domain.domain && region.parent.is_none()
            });
            let inside: u64 = roots.map(|region| region.counted.launches_inclusive).sum();
            prop_assert_eq!((inside, inside + domain.outside), (domain.inside, regions.launches));
        }
        let by_key: BTreeMap<(Kind, &RegionPath), &CounterRegion> =
            regions.regions.iter().map(|region| ((region.kind, &region.path), region)).collect();
        prop_assert_eq!(by_key.len(), regions.regions.len());
        for region in &regions.regions {
            let counted = &region.counted;
            let children = regions.regions.iter()
                .filter(|child| child.kind == region.kind && child.parent.as_ref() == Some(&region.path));
            let (mut launches, mut time, mut left_out) = (0, 0.0, 0);
            for child in children {
                launches += child.counted.launches_inclusive;
                time += child.counted.time_inclusive_ns.unwrap_or(0.0);
                left_out += child.counted.left_out;
            }
            prop_assert_eq!(counted.launches_inclusive, counted.launches_exclusive + launches);
            // Whole nanoseconds: no sum of these is rounded.
            let own = counted.time_exclusive_ns.unwrap_or(0.0);
            prop_assert_eq!(counted.time_inclusive_ns.unwrap_or(0.0), own + time);
            prop_assert!(left_out <= counted.left_out);
            prop_assert_eq!(counted.kernels.iter().map(|row| row.launches).sum::<u64>(), counted.launches_inclusive);
            prop_assert_eq!(counted.launches.iter().filter(|row| row.own).count() as u64, counted.launches_exclusive);
            if let Some(parent) = &region.parent {
                prop_assert!(by_key.contains_key(&(region.kind, parent)));
                let (_, above) = region.path.names.split_last().unwrap();
                prop_assert_eq!(above, parent.names.as_slice());
            }
        }
    }
}
