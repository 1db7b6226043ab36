//! Capture paths, on recordings of a program (`xtask/gpu/graphs.cu`) whose kernels are named after the range in which
//! they were captured. Each was recorded twice on an H200: by nsys, and by our tracer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use analysis::{Analysis, Options, analyze, attribute, capture_paths};
use trace::{Extent, Trace, read_nsys, read_tracer_files};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn recordings() -> [(&'static str, Trace); 3] {
    let tracer = |name: &str| read_tracer_files(&[data(name)], &Extent::whole(), |_, _| {}).unwrap();
    [
        ("nsys", read_nsys(&data("graphs-2025.3.1.sqlite")).unwrap()),
        ("tracer", tracer("graphs-instances-h200.rft")),
        // Without the events around an instantiation.
        ("an older tracer", tracer("graphs-h200.rft")),
    ]
}

/// Node, name and capture path of every kernel of a graph, in the order of their nodes: those that may run at once do
/// not run in the same order in another recording.
fn replayed(trace: &Trace) -> Vec<(u64, String, Option<String>)> {
    let paths = capture_paths(trace, &attribute(trace));
    let activities = &trace.activities;
    let mut rows: Vec<usize> = (0..activities.len())
        .filter(|at| activities.in_graph[*at] && activities.is_shown_kernel(*at))
        .collect();
    rows.sort_by_key(|at| (activities.node[*at], activities.begin[*at]));
    let name = |at: usize| trace.strings.text(activities.launches[activities.detail[at] as usize].short_name);
    rows.into_iter()
        .map(|at| (activities.node[at], name(at).to_owned(), paths.path(at).map(str::to_owned)))
        .collect()
}

/// CUPTI's times of calls may be microseconds off.
#[test]
fn instances_do_not_depend_on_the_times_of_calls() {
    let recorded =
        || read_tracer_files(&[data("graphs-instances-h200.rft")], &Extent::whole(), |_, _| {}).unwrap();
    let expected = replayed(&recorded());
    assert_eq!(expected.iter().filter(|(_, _, path)| path.as_deref() == Some(":second")).count(), 15);
    for off in [-20_000, -2_000, 2_000, 20_000] {
        let mut trace = recorded();
        for time in trace.calls.begin.iter_mut().chain(&mut trace.calls.end) {
            *time += off;
        }
        assert!(replayed(&trace) == expected, "{off} ns");
    }
}

fn analyzed(mut trace: Trace) -> Analysis {
    trace.fold_names();
    analyze(&trace, &Options::default())
}

#[test]
fn every_kernel_has_the_path_it_is_named_after() {
    for (source, trace) in recordings() {
        let kernels = replayed(&trace);
        assert_eq!(kernels.len(), 665, "{source}");
        for (_, name, path) in kernels {
            let last = path.as_deref().and_then(|path| path.rsplit([':', '/']).next());
            let expected = match name.strip_prefix("in_").unwrap() {
                // In a range of that name, or before an update in another.
                "none" => last.filter(|last| *last == "stale"),
                // Nothing records what an instance is updated from.
                "updated" => Some("stale"),
                name => Some(name),
            };
            assert_eq!(last, expected, "{source}: {name} in {path:?}");
        }
    }
}

#[test]
fn both_sources_agree_kernel_by_kernel() {
    let [nsys, tracer, _] = recordings().map(|(_, trace)| replayed(&trace));
    assert_eq!(nsys.len(), tracer.len());
    for (nsys, tracer) in nsys.iter().zip(&tracer) {
        assert_eq!(nsys, tracer);
    }
}

#[test]
fn a_graph_has_the_kernels_of_the_eager_program() {
    for (source, trace) in recordings() {
        let analysis = analyzed(trace);
        let eager: BTreeMap<&str, u64> = analysis
            .regions
            .iter()
            .filter_map(|row| Some((row.path.strip_prefix(":eager")?, row.kernels_inclusive / 5)))
            .collect();
        let graphs = analysis.cuda_graphs.as_ref().unwrap();
        let captured: BTreeMap<&str, f64> = graphs
            .captured
            .iter()
            .map(|row| (row.path.trim_start_matches(':'), row.kernels_a_replay))
            .collect();
        for path in ["forward", "forward/layer *", "forward/layer */attn", "forward/layer */mlp"] {
            assert_eq!(captured[path], eager[format!("/{path}").as_str()] as f64, "{source}: {path}");
        }
        let all: u64 = graphs.captured.iter().map(|row| row.kernels_exclusive).sum();
        assert_eq!((graphs.kernels, all + graphs.outside, graphs.unseen), (665, 665, 0), "{source}");
    }
}

#[test]
fn graphs_are_launched_as_often_as_they_are() {
    for (source, trace) in recordings() {
        let analysis = analyzed(trace);
        let launches: BTreeMap<&str, u64> = analysis
            .cuda_graphs
            .as_ref()
            .unwrap()
            .graphs
            .iter()
            .filter_map(|row| Some((row.region.as_deref()?, row.launches())))
            .collect();
        let expected = [(":replay", 20), (":cloned", 7), (":mixed", 6), (":nested", 5), (":of a thread", 3)];
        for (region, count) in expected {
            assert_eq!(launches[region], count, "{source}: {region}");
        }
    }
}

/// A gate that opens for the replays alone still knows what they are replays of.
#[test]
fn captured_before_a_gate_opened() {
    for (source, mut trace) in recordings() {
        let at = |name: &str| {
            let range = (0..trace.ranges.len()).find(|at| trace.strings.text(trace.ranges.name[*at]) == name);
            range.map(|range| (trace.ranges.begin[range], trace.ranges.end[range])).unwrap()
        };
        let window = at("replay");
        trace.keep_windows(vec![window], trace::Selection::Ranges);
        let kernels = replayed(&trace);
        assert_eq!(kernels.len(), 420, "{source}");
        assert!(
            kernels.iter().all(|(.., path)| path.as_ref().is_some_and(|path| path.starts_with(":forward")))
        );
        let analysis = analyzed(trace);
        assert_eq!(
            analysis.regions.iter().map(|row| row.path.as_str()).collect::<Vec<_>>(),
            [":replay"],
            "{source}"
        );
    }
}

/// Graphs inside graphs are told apart by the call that instantiated them, which a window may leave out.
#[test]
fn nested_graphs_in_a_window() {
    for (source, trace) in recordings() {
        for name in ["nested", "mixed"] {
            let range = (0..trace.ranges.len()).find(|at| trace.strings.text(trace.ranges.name[*at]) == name);
            let (begin, end) =
                range.map(|range| (trace.ranges.begin[range], trace.ranges.end[range])).unwrap();
            let whole: BTreeSet<(u64, String, Option<String>)> = replayed(&trace).into_iter().collect();
            let mut cut = trace.clone();
            cut.keep_windows(vec![(begin, end)], trace::Selection::Ranges);
            let kernels = replayed(&cut);
            assert!(!kernels.is_empty(), "{source}, {name}");
            for kernel in kernels {
                assert!(whole.contains(&kernel), "{source}, {name}: {kernel:?}");
            }
        }
    }
}

/// As a timeline shows them: one inside the other, launch by launch.
#[test]
fn regions_of_a_launch_nest() {
    for (source, trace) in recordings() {
        let paths = capture_paths(&trace, &attribute(&trace));
        let spans = |end: &str| -> Vec<(i64, i64)> {
            let is_meant =
                |span: &&analysis::CaptureSpan| paths.regions[span.region as usize].path.ends_with(end);
            paths.spans.iter().filter(is_meant).map(|span| (span.begin, span.end)).collect()
        };
        let (forward, layers, attn) = (spans(":forward"), spans("layer 2"), spans("layer 2/attn"));
        assert_eq!((forward.len(), layers.len(), attn.len()), (27, 27, 27), "{source}");
        for inner in [&layers, &attn] {
            let lies_in =
                |(begin, end): &(i64, i64)| forward.iter().any(|outer| outer.0 <= *begin && *end <= outer.1);
            assert!(inner.iter().all(lies_in), "{source}");
        }
        assert!(
            layers.iter().zip(&attn).all(|(layer, attn)| layer.0 == attn.0 && attn.1 < layer.1),
            "{source}"
        );
    }
}
