//! Calls that wait for the device although their names do not say so.

use analysis::{Analysis, Cause, Options, analyze};
use trace::{Ranges, Trace};

use crate::made::{COPY, Held, Op, Program};

fn asked(trace: &Trace, change: &str) -> Analysis {
    analyze(trace, &Options { what_if: vec![change.parse().unwrap()], ..Options::default() })
}

fn factor(trace: &Trace, change: &str) -> f64 {
    let what_if = &asked(trace, change).what_if[0];
    what_if.prediction.unwrap_or_else(|| panic!("{what_if:?}")).factor
}

/// Copies of some milliseconds, and forty short kernels behind each, with the same without the time of the copies.
fn loads_weights(held: Held) -> [Vec<Op>; 2] {
    [6_000_000, 0].map(|copy| {
        let kernels = (0..40).map(|at| Op::launch(["gemm", "norm", "add"][at % 3], 10_000, 5_000));
        let mut step = vec![Op::launch(COPY, 10_000, copy)];
        step.extend(kernels);
        step[1].held = held;
        step
    })
}

fn check(step: &[Op], without: &[Op], queue: usize, since: usize) {
    let [now, then] = [step, without].map(|step| Program { steps: since + 40, step, queue });
    let truth = now.takes() / then.takes();
    assert!(truth > 5.0, "{truth}");
    let mut trace = now.recorded_since(since);
    if since > 0 {
        // A range says nothing of what was launched before the recording.
        trace.ranges = Ranges::default();
        trace.finish();
    }
    let told = factor(&trace, "copy:host to device=0");
    assert!((told / truth - 1.0).abs() < 0.1, "{told} instead of {truth}");
    // As it is, it takes as long as it took.
    let same = asked(&trace, "host:*=1");
    assert!(same.what_if[0].prediction.unwrap().replay_error.abs() < 0.01, "{:?}", same.what_if);
    let first = &same.findings[0];
    assert_eq!(first.cause, Cause::BusBound, "{}", first.title);
    assert!(first.is_limit() && same.findings.iter().all(|one| one.cause != Cause::Healthy));
}

/// The host is a thousand works ahead: each launch waits until one of them is done.
#[test]
fn launches_behind_a_full_queue() {
    let [step, without] = loads_weights(Held::No);
    check(&step, &without, 1_000, 0);
}

/// The same, and the recording begins in the middle: what is in the queue then was launched before.
#[test]
fn a_queue_that_was_full_before_the_recording() {
    let [step, without] = loads_weights(Held::No);
    check(&step, &without, 1_000, 60);
}

/// Nothing is in the queue, and yet the launch returns when the copy ends.
#[test]
fn a_launch_that_ends_when_a_copy_ends() {
    let [step, without] = loads_weights(Held::ByCopy);
    check(&step, &without, 100_000, 0);
}

/// A launch that takes as long, and ends when nothing else does, is the host's own time.
#[test]
fn a_launch_that_is_slow_by_itself() {
    let [step, _] = loads_weights(Held::For(7_000_000));
    let trace = Program { steps: 40, step: &step, queue: 100_000 }.trace();
    let told = factor(&trace, "copy:host to device=0");
    assert!(told < 1.05, "{told}");
    assert!(factor(&trace, "call:cudaLaunchKernel=0") > 1.1);
}

/// `CUDA_LAUNCH_BLOCKING`: what the host waits for is not what launching takes.
#[test]
fn launches_that_wait_for_their_own_kernels() {
    let mut step: Vec<Op> = (0..20).map(|at| Op::launch(["gemm", "norm"][at % 2], 60_000, 100_000)).collect();
    step.iter_mut().for_each(|op| op.held = Held::ByItsOwn);
    let [now, then] = [step.clone(), step.iter().map(|op| Op { held: Held::No, ..*op }).collect()]
        .map(|step: Vec<Op>| Program { steps: 40, step: &step, queue: 100_000 }.takes());
    let analysis = analyze(&Program { steps: 40, step: &step, queue: 100_000 }.trace(), &Options::default());
    let first = &analysis.findings[0];
    assert_eq!(first.cause, Cause::Sync, "{}", first.title);
    assert!(first.advice.contains("CUDA_LAUNCH_BLOCKING"), "{}", first.advice);
    let gain = first.gain.unwrap();
    assert!((gain.factor / (now / then) - 1.0).abs() < 0.1, "{gain:?} instead of {}", now / then);
}

/// Copies beside kernels that take longer are in nobody's way.
#[test]
fn copies_that_kernels_run_beside() {
    let mut step = vec![Op { stream: 1, ..Op::launch(COPY, 10_000, 6_000_000) }];
    step.extend((0..8).map(|_| Op::launch("gemm", 10_000, 1_000_000)));
    let analysis = analyze(&Program { steps: 40, step: &step, queue: 100_000 }.trace(), &Options::default());
    assert_ne!(analysis.findings[0].cause, Cause::BusBound, "{}", analysis.findings[0].title);
}
