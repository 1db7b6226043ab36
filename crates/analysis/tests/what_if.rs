//! Predictions of changes: held against what was measured of programs that were really changed, and against what must
//! be true of any prediction.

use analysis::{Analysis, Options, WhatIf, analyze};
use proptest::prelude::*;
use trace::Trace;

use crate::recorded::{recorded, truth};

fn asked(trace: &Trace, changes: &[&str]) -> Analysis {
    let what_if = changes.iter().map(|text| text.parse().unwrap()).collect();
    analyze(trace, &Options { what_if, ..Options::default() })
}

fn answers(trace: &Trace, changes: &[&str]) -> Vec<WhatIf> {
    asked(trace, changes).what_if
}

/// Of all changes together.
fn factor(trace: &Trace, changes: &[&str]) -> f64 {
    let last = answers(trace, changes).pop().unwrap();
    last.prediction.unwrap_or_else(|| panic!("{last:?}")).factor
}

fn measured(program: &str) -> f64 {
    truth().into_iter().find(|row| row.program == program).and_then(|row| row.faster).unwrap()
}

/// The programs whose fix a change can express.
#[test]
fn predictions_are_what_was_measured() {
    let fixes: [(&str, &[&str]); 13] = [
        ("slow_logging", &["host:log=0"]),
        ("slow_sampling", &["host::step/sample=0"]),
        ("blocking_batch", &["call:cudaStreamSynchronize=0"]),
        ("batch_in_line", &["copy:host to device=0"]),
        ("memory_given_back", &["call:cudaMalloc=0", "call:cudaFree=0"]),
        ("scratch_every_step", &["call:cudaMalloc=0", "call:cudaFree=0"]),
        ("wait_every_layer", &["call:cudaDeviceSynchronize=0"]),
        ("token_by_token", &["call:cudaStreamSynchronize=0"]),
        // `.item()` copies to memory that is not pinned, and waits for that.
        ("loss_every_step", &["call:cudaMemcpyAsync=0", "call:cudaStreamSynchronize=0"]),
        // FP32 and TF32 by the data sheet: 67 and 495 TFLOP/s.
        ("single_precision", &["kernel:*gemm_f32f32*=0.135"]),
        // One kernel instead of eight, a half of all work, and a half of all bytes.
        ("elementwise_chain", &["kernel:vectorized_elementwise_kernel=0.125"]),
        ("twice_the_work", &["kernel:nvjet*=0.5"]),
        ("wide_weights", &["kernel:gemv*=0.5"]),
    ];
    let mut errors: Vec<(f64, &str, f64, f64)> = Vec::new();
    for (program, changes) in fixes {
        let (predicted, measured) = (factor(&recorded(program), changes), measured(program));
        errors.push(((predicted / measured - 1.0).abs(), program, predicted, measured));
    }
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert!(errors[errors.len() / 2].0 <= 0.12, "{errors:#?}");
    assert!(errors.iter().all(|error| error.0 <= 0.25), "{errors:#?}");
}

/// Four loaders take at least a fourth of the time, and at best none of the loop's.
#[test]
fn the_truth_is_between_a_share_and_nothing() {
    let trace = recorded("slow_loading");
    let measured = measured("slow_loading");
    let (share, nothing) = (factor(&trace, &["host:load=0.25"]), factor(&trace, &["host:load=0"]));
    assert!(share < measured && measured < nothing, "{share} {measured} {nothing}");
}

/// A change that the findings try as well is worth the same.
#[test]
fn findings_and_changes_agree() {
    for (program, change) in
        [("slow_logging", "host:log=0"), ("token_by_token", "call:cudaStreamSynchronize=0")]
    {
        let analysis = asked(&recorded(program), &[change]);
        let (gain, then) = (analysis.findings[0].gain.unwrap(), analysis.what_if[0].prediction.unwrap());
        assert!((gain.factor / then.factor - 1.0).abs() < 0.01, "{program}: {gain:?} {then:?}");
        assert_eq!((gain.now_ns, gain.replay_error), (then.measured_ns, Some(then.replay_error)));
    }
}

const KINDS: [&str; 4] = ["kernel", "copy", "call", "host"];
const FACTORS: [&str; 8] = ["0", "0.001", "0.2", "0.9", "1", "1.5", "20", "1000"];

/// Nothing changes if everything takes as long as it took, and less time never makes it slower.
fn check(trace: &Trace, program: &str) -> usize {
    let mut predicted = 0;
    for kind in KINDS {
        let changes = FACTORS.map(|factor| format!("{kind}:*={factor}"));
        let answers = answers(trace, &changes.each_ref().map(String::as_str));
        let factors: Vec<f64> =
            answers[..FACTORS.len()].iter().filter_map(|one| Some(one.prediction?.factor)).collect();
        if let [.., _] = factors[..] {
            assert_eq!(factors.len(), FACTORS.len(), "{program}: {answers:?}");
            assert!((factors[4] - 1.0).abs() < f64::EPSILON, "{program}, {kind}: {factors:?}");
            assert!(factors.is_sorted_by(|a, b| a >= b), "{program}, {kind}: {factors:?}");
            predicted += 1;
        }
        let reasons = answers.iter().filter(|one| one.prediction.is_some() == one.unknown.is_some()).count();
        assert_eq!(reasons, 0, "{program}: a prediction, or why there is none: {answers:?}");
    }
    predicted
}

#[test]
fn one_changes_nothing_and_less_is_never_slower() {
    let predicted: usize =
        truth().iter().map(|planted| check(&recorded(&planted.program), &planted.program)).sum();
    assert!(predicted >= 80, "{predicted}");
}

#[test]
fn what_matches() {
    let trace = recorded("loss_every_step");
    let answers =
        answers(&trace, &["call:cuda*Synchronize=0", "host::step=0.5", "host:step=0.5", "host:*=0.5"]);
    let matched = |at: usize| answers[at].changes[0].matched.unwrap();
    // `.item()`, twice a step, and one wait behind the last step.
    assert!((matched(0).times - 2.0).abs() < 0.05, "{answers:?}");
    assert!(matched(0).waited_ns > 600_000 && matched(0).waited_ns < matched(0).time_ns, "{answers:?}");
    // A region stands for everything in it; everything is in steps, but for what is between them.
    assert_eq!(matched(1), matched(2));
    assert!(matched(1).time_ns * 10 > matched(3).time_ns * 9 && matched(1).time_ns <= matched(3).time_ns);
    // All together: one entry with every change.
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[4].changes.len(), 4);
}

#[test]
fn what_does_not_match_is_told() {
    let trace = recorded("slow_logging");
    let why = |changes: &[&str]| answers(&trace, changes).pop().unwrap().unknown.unwrap();
    assert_eq!(
        why(&["host:logs=0"]),
        "no region with host time between CUDA calls in the loop matches `logs`; it has `:step/log`, \
         `:step/forward`, `:step`"
    );
    assert_eq!(
        why(&["call:synchronize=0", "host:log=0"]),
        "no CUDA call in the loop matches `synchronize`; it has `cudaDeviceSynchronize`, `cuLaunchKernelEx`, \
         `cudaMemsetAsync`"
    );
    assert_eq!(
        why(&["copy:device to host=0"]),
        "no copy or fill in the loop matches `device to host`; it has `fill`"
    );
    let whole = answers(&recorded("graph_replays"), &["kernel:*=0"]).pop().unwrap();
    assert_eq!(
        whole.unknown.unwrap(),
        "no kernel in the loop matches `*`; it has none at all; kernels of CUDA graphs were not recorded one by one"
    );
}

#[test]
fn no_prediction_without_a_loop_or_with_a_doubt() {
    let whole = answers(&Trace::default(), &["kernel:*=0"]).pop().unwrap();
    assert!(whole.unknown.unwrap().starts_with("no GPU work was recorded"));
    assert_eq!(whole.changes[0].matched, None);
    let beside = answers(&steps(&[[100_000, 200_000, 0, 0]; 20], true), &["kernel:*=0"]).pop().unwrap();
    assert!(beside.unknown.unwrap().starts_with("work runs on several streams"));
    assert!((beside.changes[0].matched.unwrap().times - 2.0).abs() < f64::EPSILON);
    assert!(answers(&recorded("slow_logging"), &[]).is_empty(), "nothing is said unless it is asked");
}

/// Times that cannot be added up are not.
#[test]
fn too_long() {
    let trace = steps(&[[1 << 38, 1 << 38, 0, 0]; 20], false);
    let slower = |times: usize| answers(&trace, &vec!["kernel:*=1000"; times]).pop().unwrap();
    assert!((slower(1).prediction.unwrap().factor - 1e-3).abs() < 1e-4);
    for times in [3, 120] {
        assert_eq!(slower(times).unknown.unwrap(), "the changed iteration takes too long to be worked out");
    }
}

/// Kernels in a graph: while two run at the same time, the slower one counts.
#[test]
fn kernels_in_a_graph() {
    // From 0 to 600 and from 400 to 1000, in thousands.
    let mut trace = steps(&[[600_000, 600_000, 0, 0]; 20], false);
    for at in (0..trace.activities.len()).step_by(2) {
        let begin = trace.activities.begin[at];
        (trace.activities.begin[at + 1], trace.activities.end[at + 1]) = (begin + 400_000, begin + 1_000_000);
        (trace.activities.correlation[at + 1], trace.activities.stream[at + 1]) =
            (trace.activities.correlation[at], 7);
        for at in [at, at + 1] {
            trace.activities.in_graph[at] = true;
        }
    }
    trace.finish();
    let then = |changes: &[&str]| {
        let last = answers(&trace, changes).pop().unwrap();
        let then = last.prediction.unwrap_or_else(|| panic!("{last:?}"));
        then.measured_ns - then.predicted_ns
    };
    assert_eq!(then(&["kernel:first=0"]), 400_000);
    assert_eq!(then(&["kernel:first=0.5"]), 200_000);
    assert_eq!(then(&["kernel:*=0.5"]), 500_000);
    assert_eq!(then(&["kernel:first=0.5", "kernel:second=0.25"]), 200_000 + 100_000 + 300_000);
    assert_eq!(then(&["kernel:first=2"]), -600_000);
}

/// Each kernel waits for the one before it, on the other stream, by an event.
#[test]
fn streams_that_wait_for_each_other() {
    let times = [[100_000, 200_000, 0, 0]; 20];
    let (one, mut two) = (steps(&times, false), steps(&times, true));
    let refused = |trace: &Trace| answers(trace, &["kernel:*=0.5"]).pop().unwrap().unknown;
    assert!(refused(&two).unwrap().starts_with("work runs on several streams"));
    two.processes[0].stream_waits_since = Some(i64::MIN);
    for (stream, correlation) in two.activities.stream.iter().zip(&two.activities.correlation) {
        let row = trace::StreamEvent { stream: *stream, event: *stream, ..trace::StreamEvent::default() };
        two.stream_events.push(trace::StreamEvent { correlation: correlation + 1, ..row });
        let (correlation, stream) = (correlation + 2, 1 - stream);
        two.stream_events.push(trace::StreamEvent { correlation, stream, waits: true, ..row });
    }
    for change in ["kernel:first=0.5", "kernel:second=0", "kernel:*=0.1", "kernel:first=3"] {
        let (one, two) = (factor(&one, &[change]), factor(&two, &[change]));
        assert!((one / two - 1.0).abs() < 0.02, "{change}: {one} on one stream, {two} on two");
    }
    // What is recorded only later says nothing of the iterations before.
    two.processes[0].stream_waits_since = Some(two.end);
    assert!(refused(&two).unwrap().starts_with("work runs on several streams"));
}

/// Steps of two kernels: how long each runs, and how long the host takes before each launch. The first one is before
/// the loop.
fn steps(times: &[[i64; 4]], two_streams: bool) -> Trace {
    let mut trace = Trace::default();
    trace.processes.push(trace::Process { pid: 1, ..trace::Process::default() });
    trace.threads.push(trace::Thread { process: 0, id: 1, name: None });
    trace.devices.push(trace::Device { id: 0, name: None, identity: None });
    for name in ["first", "second"] {
        let name = trace.strings.intern(name);
        trace.activities.launches.push(trace::Launch { name, short_name: name, ..trace::Launch::default() });
    }
    let (launch, step) = (trace.strings.intern("cudaLaunchKernel"), trace.strings.intern("step"));
    let (mut host, mut device, mut correlation) = (0, 0, 1);
    for (at, [first, second, before_first, before_second]) in times.iter().enumerate() {
        let start = host;
        for (detail, duration, before) in [(0, first, before_first), (1, second, before_second)] {
            let begin = host + before;
            host = begin + 4_000;
            trace.calls.push(trace::Call {
                begin,
                end: host,
                name: launch,
                correlation,
                ..trace::Call::default()
            });
            let start = device.max(begin + 6_000);
            device = start + duration;
            trace.activities.push(trace::Activity {
                begin: start,
                end: device,
                correlation,
                detail,
                stream: if two_streams { detail } else { 0 },
                ..trace::Activity::default()
            });
            (device, correlation) = (device + 1_000, correlation + 10);
        }
        if at > 0 {
            trace.ranges.push(trace::Range {
                name: step,
                begin: start,
                end: host,
                ..trace::Range::default()
            });
        }
        host += 1_000;
    }
    trace.finish();
    trace
}

fn any_time() -> impl Strategy<Value = i64> {
    prop_oneof![1..10i64, 1..100_000i64, 1..10_000_000i64, 1..1i64 << 36]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the times are, up to the longest that a replay takes.
    #[test]
    fn any_times(
        step in [any_time(), any_time(), any_time(), any_time()],
        odd in [any_time(), any_time(), any_time(), any_time()],
        (many, at) in (0usize..30, 0usize..30),
    ) {
        let mut times = vec![step; many];
        let predicted = check(&steps(&times, false), "any");
        // Of kernels, calls and the host; there are no copies.
        prop_assert!(many < 10 || predicted >= 2, "{predicted}");
        if let Some(one) = times.get_mut(at) {
            *one = odd;
        }
        check(&steps(&times, false), "any, one of them odd");
    }
}
