//! Traces as Perfetto reads them: small ones made by hand and real ones, read back by a reader
//! of our own and by Perfetto's.

#[path = "perfetto/made.rs"]
mod made;
#[path = "perfetto/model.rs"]
mod model;
#[path = "perfetto/processor.rs"]
mod processor;
#[path = "perfetto/reader.rs"]
mod reader;

use std::path::{Path, PathBuf};

use made::Made;
use reader::{Arg, File, read};
use report::{PerfettoSummary, write_perfetto};
use trace::{Direction, Kind, NONE, OPEN, Quantity, Series, SeriesSource, ThreadState, Trace};

const REAL: [&str; 8] = [
    "demo-2025.3.1.sqlite",
    "torch-nodes-2025.3.1.sqlite",
    "torch.kineto.json.gz",
    "toy-2023.4.4.sqlite",
    "toy-2025.3.1.sqlite",
    "toy-graphnode-2025.3.1.sqlite",
    "two-2025.3.1.sqlite",
    "tracer-h200.rft",
];

fn real(name: &str) -> Trace {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data");
    trace::open(&[folder.join(name)]).unwrap()
}

fn bytes(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = write_perfetto(trace, &mut bytes).unwrap();
    assert_eq!(written.bytes, bytes.len() as u64);
    bytes
}

fn file(trace: &Trace) -> File {
    read(&bytes(trace))
}

/// Names of slices with their depths, as they begin.
fn depths<'a>(file: &'a File, track: &str) -> Vec<(&'a str, usize)> {
    let on = |slice: &&reader::Slice| file.track_name(slice).unwrap_or("") == track;
    let slices = file.slices.iter().filter(on);
    slices.map(|slice| (slice.name.as_str(), slice.depth)).collect()
}

#[test]
fn ranges_nest_on_the_track_of_their_thread() {
    let mut made = Made::default();
    let process = made.process(100, "rank 3");
    let main = made.thread(process, 100, Some("main"));
    made.push(main, "decode", (1_000, 9_000));
    let step = made.push(main, "step", (2_000, 4_000));
    made.push(main, "LLM:step", (5_000, 6_000));
    made.push(main, "never ended", (7_000, OPEN));
    made.payload(step, 42.0);
    made.call(main, "cudaFree", (9_500, 9_600), NONE);
    made.operator(main, "aten::mul", (2_000, 3_000));
    made.operator(main, "aten::mul_out", (2_100, 2_900));
    let file = file(&made.trace());
    // The range that was never ended outlasts the one it began in.
    assert_eq!(depths(&file, ""), [("decode", 0), ("step", 1), ("step", 1)]);
    assert_eq!(depths(&file, "ranges that do not nest"), [("never ended", 0)]);
    assert_eq!(depths(&file, "operators"), [("aten::mul", 0), ("aten::mul_out", 1)]);
    assert_eq!(depths(&file, "CUDA calls"), [("cudaFree", 0)]);
    let open = file.named("never ended");
    assert_eq!((open.begin, open.end, open.args["open"].clone()), (6_000, 8_600, Arg::Number(1)));
    let steps: Vec<_> = file.slices.iter().filter(|slice| slice.name == "step").collect();
    assert_eq!((steps[0].category.as_str(), steps[1].category.as_str()), ("nvtx", "LLM"));
    assert_eq!(steps[0].args["payload"], Arg::Real(42.0));
    let thread = &file.tracks[&steps[0].track];
    assert_eq!((thread.pid, thread.tid, thread.thread_name.as_deref()), (Some(100), Some(100), Some("main")));
    let process = &file.tracks[&thread.parent.unwrap()];
    assert_eq!((process.process_name.as_deref(), process.label.as_deref()), (Some("python"), Some("rank 3")));
    let call = &file.tracks[&file.named("cudaFree").track];
    assert_eq!((call.parent, call.rank), (Some(steps[0].track), Some(2)));
}

#[test]
fn what_overlaps_takes_lanes() {
    let mut made = Made::default();
    let process = made.process(100, "");
    let (main, other) = (made.thread(process, 100, None), made.thread(process, 101, None));
    for (thread, name, time) in
        [(main, "a", (0, 10)), (other, "b", (5, 15)), (main, "c", (10, 20)), (main, "d", (12, OPEN))]
    {
        made.range(thread, Kind::StartEnd, name, time);
    }
    let file = file(&made.trace());
    let lane = |name| file.named(name).track;
    assert!(
        lane("a") == lane("c") && lane("b") != lane("a") && lane("d") != lane("b") && lane("d") != lane("c")
    );
    assert_eq!(depths(&file, "start/end ranges").len(), 4);
    assert!(file.tracks[&lane("b")].parent == file.tracks[&lane("d")].parent);
}

fn never_popped() -> Trace {
    let mut made = Made::default();
    let process = made.process(100, "");
    let main = made.thread(process, 100, None);
    for at in 0..1_000 {
        made.push(main, "lost", (at, OPEN));
    }
    made.trace()
}

/// A loop that pushes and never pops does not make a tower of a thousand slices.
#[test]
fn what_is_never_popped() {
    let file = file(&never_popped());
    assert_eq!(file.of_category("nvtx").len(), 1_000);
    assert_eq!(file.slices.iter().map(|slice| slice.depth).max(), Some(127));
    assert!(file.tracks.len() < 5);
}

fn gpu() -> (Trace, PerfettoSummary, File) {
    let mut made = Made::default();
    let (first, second) = (made.process(100, ""), made.process(200, "rank 1"));
    let (a, b) = (made.thread(first, 100, None), made.thread(second, 200, None));
    let device = made.device(0, Some("NVIDIA H200"));
    made.device(1, None);
    made.push(a, "decode", (0, 5_000));
    made.push(a, "LLM:step", (0, 400));
    // Both processes count from one.
    made.call(a, "cudaLaunchKernel", (100, 200), 1);
    made.call(a, "cuLaunchKernel", (120, 180), 1);
    made.call(b, "cudaLaunchKernel", (110, 210), 1);
    made.kernel((first, device, 7), "gemm", (1_000, 2_000), 1);
    made.kernel((second, device, 7), "softmax", (1_500, 2_500), 1);
    // A graph of three kernels, two of them at once.
    made.call(a, "cudaGraphLaunch", (500, 600), 2);
    made.kernel((first, device, 7), "node_0", (2_000, 2_100), 2);
    made.kernel((first, device, 7), "node_1", (2_100, 2_300), 2);
    made.kernel((first, device, 7), "node_2", (2_200, 2_400), 2);
    // No call is known; and one whose call began later, on a clock that is off.
    made.kernel((first, device, 8), "orphan", (3_000, 3_100), NONE);
    made.call(a, "cudaMemcpyAsync", (4_000, 4_100), 3);
    made.transfer((first, device, 8), Direction::HostToDevice, 8_000, (3_900, 4_100), 3);
    made.call(a, "cudaMemsetAsync", (4_200, 4_300), 4);
    made.transfer((first, device, 8), Direction::Memset, 64, (4_400, 4_400), 4);
    made.call(a, "cudaGraphLaunch", (4_300, 4_400), 5);
    made.graph((first, device, 8), 12, (4_500, 4_600), 5);
    let mut trace = made.trace();
    trace.activities.in_graph[2..5].fill(true);
    trace.session_start = Some(1_700_000_000_000_000_000);
    let mut bytes = Vec::new();
    let summary = write_perfetto(&trace, &mut bytes).unwrap();
    (trace, summary, read(&bytes))
}

#[test]
fn streams_of_each_process_and_device() {
    let (_, _, file) = gpu();
    let on = |name: &str| file.track_name(file.named(name)).unwrap();
    assert_eq!((on("gemm"), on("softmax")), ("stream 7, process 100", "stream 7, process 200, rank 1"));
    assert_eq!(file.named("node_1").track, file.named("gemm").track);
    assert_ne!(file.named("node_2").track, file.named("gemm").track);
    assert_eq!(on("node_2"), on("gemm"));
    let group = |name: &str| file.tracks[&file.named(name).track].parent;
    assert!(group("gemm") == group("softmax") && group("gemm") == group("graph 12"));
    let names: Vec<&str> = file.tracks.values().filter_map(|track| track.name.as_deref()).collect();
    assert!(names.contains(&"GPU 0 (NVIDIA H200)") && names.contains(&"GPU 1"));
}

#[test]
fn what_is_said_of_device_work() {
    let (_, _, file) = gpu();
    let args = |name: &str| -> Vec<String> {
        let slice = file.named(name);
        slice.args.iter().map(|(key, arg)| format!("{key}={arg:?}")).collect()
    };
    assert_eq!(
        args("gemm"),
        [
            r#"block=Text("256x1x1")"#,
            "correlation=Number(1)",
            "dynamic_shared_bytes=Number(0)",
            r#"full_name=Text("void gemm<float>(float *)")"#,
            r#"grid=Text("64x2x1")"#,
            r#"region=List([":decode", "LLM:step"])"#,
            "registers=Number(32)",
            "static_shared_bytes=Number(1024)",
        ]
    );
    assert_eq!(file.named("node_1").args["region"], Arg::Text(":decode".to_owned()));
    assert_eq!(file.named("node_1").args["in_graph"], Arg::Number(1));
    assert_eq!(
        args("copy, host to device"),
        [
            "bytes=Number(8000)",
            "correlation=Number(3)",
            r#"direction=Text("host to device")"#,
            "gb_per_s=Real(40.0)",
            r#"region=Text(":decode")"#,
        ]
    );
    // It took no time, so there is no rate.
    assert_eq!(args("fill"), ["bytes=Number(64)", "correlation=Number(4)", r#"region=Text(":decode")"#]);
    assert_eq!(args("graph 12"), ["correlation=Number(5)", r#"region=Text(":decode")"#]);
    assert!(!file.named("softmax").args.contains_key("region"));
}

#[test]
fn arrows_lead_from_the_call_of_the_same_process() {
    let (_, summary, file) = gpu();
    let arrows: Vec<Vec<(u64, &str)>> = file
        .arrows
        .values()
        .map(|slices| {
            slices.iter().map(|at| (file.slices[*at].begin, file.slices[*at].name.as_str())).collect()
        })
        .collect();
    assert_eq!(
        arrows,
        [
            vec![(100, "cudaLaunchKernel"), (1_000, "gemm")],
            vec![(500, "cudaGraphLaunch"), (2_000, "node_0"), (2_100, "node_1"), (2_200, "node_2")],
            vec![(4_200, "cudaMemsetAsync"), (4_400, "fill")],
            vec![(4_300, "cudaGraphLaunch"), (4_500, "graph 12")],
            vec![(110, "cudaLaunchKernel"), (1_500, "softmax")],
        ]
    );
    assert_eq!((summary.arrows, summary.backwards, summary.slices), (7, 1, 18));
}

#[test]
fn counters_of_a_device() {
    let (_, summary, file) = gpu();
    let values = |name: &str| -> Vec<(u64, f64)> {
        let on = |track: &u64| file.tracks[track].name.as_deref() == Some(name);
        let counts = file.counts.iter().filter(|(track, _, _)| on(track));
        counts.map(|(_, time, value)| (*time, *value)).collect()
    };
    // At 2,000 one kernel follows the other: nothing changes.
    let kernels = values("kernels running");
    assert_eq!(kernels[..4], [(1_000, 1.0), (1_500, 2.0), (2_200, 3.0), (2_300, 2.0)]);
    assert_eq!(kernels[4..], [(2_400, 1.0), (2_500, 0.0), (3_000, 1.0), (3_100, 0.0)]);
    assert_eq!(values("graphs running"), [(4_500, 1.0), (4_600, 0.0)]);
    assert_eq!(values("copied"), [(3_900, 40.0), (4_100, 0.0)]);
    assert_eq!(summary.counter_values, 12);
}

/// Counters with a gap, a value that is no number and a lost stretch; power that was sampled at moments and that
/// nsys knows, too; and stacks of two threads.
fn sampled() -> (Trace, File) {
    let mut made = Made::default();
    let process = made.process(100, "");
    let (main, other) = (made.thread(process, 100, None), made.thread(process, 101, None));
    made.device(0, None);
    let device = made.device(1, Some("H200"));
    made.kernel((process, device, 7), "gemm", (1_000, 2_000), NONE);
    let mut counters =
        Series::new(device, SeriesSource::Counters, &[Quantity::SmActive, Quantity::DramReadBytes]);
    counters.interval_ns = 100;
    for (begin, active, read) in [
        (900, 0.0, 0.0),
        (1_000, 99.5, 1e9),
        (1_100, 99.5, 16_777_217.0),
        (1_200, f32::NAN, 3.0),
        (1_300, 0.1, 3.0),
        (2_000, 7.0, f32::NAN),
    ] {
        counters.push(begin, begin + 100, [active, read]);
    }
    counters.lost.push((1_400, 2_000));
    made.series(counters);
    for source in [SeriesSource::Nvml, SeriesSource::Nsys] {
        let mut power = Series::new(device, source, &[Quantity::Power]);
        power.push(1_050, 1_050, [612.5]);
        power.push(1_950, 1_950, [640.25]);
        made.series(power);
    }
    let step = ["main@/srv/train.py:3", "step@model.py:12"];
    made.sample(main, 850, &step[..1], ThreadState::Running);
    made.sample(main, 1_500, &step, ThreadState::Running);
    made.sample(main, 1_600, &step, ThreadState::Blocked);
    made.sample(other, 1_600, &["work"], ThreadState::WaitsForInterpreter);
    made.sample(other, 2_300, &[], ThreadState::Running);
    let trace = made.trace();
    let file = file(&trace);
    (trace, file)
}

/// A program without a GPU and without ranges.
fn only_sampled() -> Trace {
    let mut made = Made::default();
    let process = made.process(100, "");
    let main = made.thread(process, 100, None);
    made.sample(main, 5_000, &["main@a.py:1"], ThreadState::Running);
    made.sample(main, 6_000, &["main@a.py:2"], ThreadState::Running);
    made.trace()
}

#[test]
fn quantities_over_time() {
    let (_, file) = sampled();
    let values = |name: &str| -> Vec<(u64, f64)> {
        let track = file.tracks.iter().find(|(_, track)| track.name.as_deref() == Some(name)).unwrap().0;
        let counts = file.counts.iter().filter(|(of, _, _)| of == track);
        counts.map(|(_, time, value)| (*time, *value)).collect()
    };
    // Times count from the first sample of a stack, at 850.
    let active = [(50, 0.0), (150, 99.5), (350, 0.0), (450, f64::from(0.1_f32)), (550, 0.0)];
    assert_eq!(values("SM active"), [active.as_slice(), &[(1_150, 7.0), (1_250, 0.0)]].concat());
    let read = [(50, 0.0), (150, 1e9), (250, 16_777_216.0), (350, 3.0), (550, 0.0)];
    assert_eq!(values("DRAM bytes read"), read);
    // Its interval is not known.
    assert_eq!(values("power, NVML"), [(200, 612.5), (1_100, 640.25), (1_100, 0.0)]);
    assert_eq!(values("power, nsys"), values("power, NVML"));
    let lost = file.named("samples lost");
    assert_eq!((lost.begin, lost.end), (550, 1_150));
    let group = file.tracks[&lost.track].parent;
    assert_eq!(file.tracks[&group.unwrap()].name.as_deref(), Some("GPU 1 (H200)"));
    let mut below: Vec<_> = file.tracks.values().filter(|track| track.parent == group).collect();
    below.sort_by_key(|track| track.rank);
    let below: Vec<_> =
        below.iter().map(|track| (track.name.as_deref().unwrap(), track.unit.as_deref())).collect();
    assert_eq!(
        below,
        [
            ("kernels running", None),
            ("SM active", Some("%")),
            ("DRAM bytes read", Some("B")),
            ("samples lost", None),
            ("power, NVML", Some("W")),
            ("power, nsys", Some("W")),
            ("stream 7", None),
        ]
    );
}

#[test]
fn stacks_are_samples() {
    let (_, file) = sampled();
    let samples: Vec<_> =
        file.samples.iter().map(|sample| (sample.time, sample.tid, sample.frames.join(" > "))).collect();
    let (main, step) = ("main@srv/train.py:3", "step@model.py:12");
    let expected = [
        (0, 100, main.to_owned()),
        (650, 100, format!("{main} > {step}")),
        (750, 100, format!("{main} > {step} > (blocked)@:0")),
        (750, 101, "work@:0 > (waits for the Python interpreter lock)@:0".to_owned()),
        (1_450, 101, "(stack not read)@:0".to_owned()),
    ];
    assert_eq!(samples, expected);
    assert_eq!(file.named("made by hand").end, 1_450);
    let alone = read(&bytes(&only_sampled()));
    assert_eq!(alone.samples.iter().map(|sample| sample.time).collect::<Vec<_>>(), [0, 1_000]);
}

#[test]
fn when_it_was() {
    let (mut trace, _, known) = gpu();
    assert_eq!(known.clocks, [(6, 0), (1, 1_700_000_000_000_000_000)]);
    let recording = known.named("made by hand");
    assert_eq!((recording.begin, recording.end), (0, 5_000));
    assert_eq!(recording.args["session_start_ns"], Arg::Number(1_700_000_000_000_000_000));
    trace.session_start = None;
    assert_eq!(file(&trace).clocks, [(6, 0)]);
}

/// Names that a program can give, and times of a file that is damaged.
fn odd() -> Trace {
    let mut made = Made::default();
    let process = made.process(i32::MAX as u32, "a\0b");
    let main = made.thread(process, i32::MAX as u32, Some("\u{1b}[2J"));
    let device = made.device(u32::MAX, Some("a\nGPU"));
    made.push(main, &"é".repeat(5_000), (i64::MIN + 1, i64::MAX - 1));
    made.push(main, "", (10, 5));
    made.push(main, "zero\0byte", (10, 10));
    made.call(main, "backwards", (100, 50), 1);
    made.kernel((process, device, u32::MAX), &"k".repeat(20_000), (200, 100), 1);
    made.transfer((process, device, 0), Direction::Other, u64::MAX / 2, (300, 301), 2);
    made.trace()
}

#[test]
fn nothing_a_trace_holds_breaks_it() {
    let file = file(&odd());
    let cut = file.slices.iter().find(|slice| slice.name.ends_with("é…")).unwrap();
    assert_eq!(cut.name.chars().count(), 1_000);
    assert!(file.slices.iter().any(|slice| slice.name == "zero\\u{0}byte"));
    let kernel = file.of_category("kernel")[0];
    assert_eq!(kernel.begin, kernel.end);
    assert!(matches!(&kernel.args["full_name"], Arg::Text(name) if name.chars().count() == 10_000));
    assert_eq!(read(&bytes(&Trace::default())).slices.len(), 1, "an empty trace has its recording");
}

/// Whatever overlaps what.
fn any(seed: u64) -> Trace {
    let mut state = seed;
    let mut below = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit) as i64
    };
    let mut made = Made::default();
    let process = made.process(100, "");
    let main = made.thread(process, 100, None);
    let device = made.device(0, None);
    for _ in 0..40 {
        let begin = below(30);
        let end = if below(10) == 0 { OPEN } else { begin + below(12) };
        let kind = if below(3) == 0 { Kind::StartEnd } else { Kind::PushPop };
        made.range(main, kind, ["a", "b", "X:c"][below(3) as usize], (begin, end));
        let end = begin + below(5);
        made.call(main, "call", (begin, end), below(20) as u32 + 1);
        made.kernel((process, device, below(2) as u32), "k", (begin, end + 1), below(20) as u32 + 1);
    }
    made.trace()
}

#[test]
fn tracks_hold_together_whatever_overlaps() {
    for seed in 1..200 {
        let trace = any(seed);
        model::check(&trace, &file(&trace));
    }
}

#[test]
fn real_traces_hold_what_the_model_holds() {
    let slices = REAL.map(|name| {
        let trace = real(name);
        let file = file(&trace);
        model::check(&trace, &file);
        file.slices.len() - 1
    });
    assert_eq!(slices, [432, 2_010, 550, 178, 181, 193, 3_972, 6_660]);
}

/// Two processes with one number, as two machines may have them.
fn two_recordings() -> Trace {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data");
    let files: Vec<PathBuf> = vec![folder.join(REAL[0]), folder.join(REAL[0])];
    trace::open(&files).unwrap()
}

#[test]
fn the_trace_processor_reads_it_alike() {
    let mut traces: Vec<Trace> = REAL.iter().map(|name| real(name)).collect();
    traces.extend([
        sampled().0,
        only_sampled(),
        gpu().0,
        two_recordings(),
        never_popped(),
        odd(),
        any(1),
        any(2),
        any(3),
    ]);
    let files: Vec<Vec<u8>> = traces.iter().map(bytes).collect();
    let test = "the_trace_processor_reads_it_alike";
    let Some(answers) = processor::ask(test, &files, &model::QUERIES) else { return };
    for (bytes, answers) in files.iter().zip(&answers) {
        model::same(&read(bytes), answers);
    }
}
