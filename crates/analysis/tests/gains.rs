//! A gain is what a replay of the loop with its own change says, and no more than can be.

use analysis::{Analysis, Cause, Finding, Options, analyze};
use trace::Trace;

use crate::made::{Op, Program};
use crate::recorded::recorded;

const COLLECTIVE: &str = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
const PRODUCT: &str = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT";

fn asked(trace: &Trace, changes: &[&str]) -> Analysis {
    let what_if = changes.iter().map(|text| text.parse().unwrap()).collect();
    analyze(trace, &Options { what_if, ..Options::default() })
}

fn of(analysis: &Analysis, cause: Cause) -> Option<&Finding> {
    analysis.findings.iter().find(|finding| finding.cause == cause)
}

fn made(step: &[Op]) -> Trace {
    Program { steps: 40, step, queue: 100_000 }.trace()
}

/// The gain of a cause is that of the change which takes it away.
fn agrees(name: &str, trace: &Trace, cause: Cause, changes: &[&str]) {
    let analysis = asked(trace, changes);
    let what_if = analysis.what_if.last().unwrap();
    let then = what_if.prediction.unwrap_or_else(|| panic!("{name}: {what_if:?}")).factor;
    // What gains less is no finding.
    let gain = of(&analysis, cause).map_or(1.0, |finding| finding.gain.unwrap().factor);
    assert!(gain > 1.0 || then < 1.06, "{name}: no `{cause}`, and without it {then}");
    assert!(gain <= 1.0 || (gain / then - 1.0).abs() < 0.02, "{name}: {gain} is told, and without it {then}");
}

#[test]
fn each_gain_is_that_of_its_own_change() {
    for (program, cause, changes) in [
        ("slow_logging", Cause::HostCode, &["host:log=0"][..]),
        ("logging_beside_streams", Cause::HostCode, &["host:log=0"]),
        ("slow_sampling", Cause::HostCode, &["host:sample=0"]),
        ("slow_loading", Cause::DataLoading, &["host:load=0.25"]),
        ("token_by_token", Cause::Sync, &["call:cudaStreamSynchronize=0"]),
        ("single_precision", Cause::NoTensorCores, &["kernel:*gemm_f32f32*=0.1354"]),
    ] {
        agrees(program, &recorded(program), cause, changes);
    }
    let nccl = "kernel:nccl*=0";
    let all_exposed = [Op::launch(PRODUCT, 5_000, 600_000), Op::launch(COLLECTIVE, 5_000, 400_000)];
    let trace = made(&all_exposed);
    agrees("all exposed", &trace, Cause::ExposedCommunication, &[nccl]);
    assert!(of(&analyze(&trace, &Options::default()), Cause::ExposedCommunication).is_some());
}

/// Nothing runs beside the collective, but nothing waits for it either: the host is busy for longer.
#[test]
fn communication_that_nobody_waits_for() {
    let step = [Op::launch(COLLECTIVE, 5_000, 400_000), Op::launch(PRODUCT, 900_000, 100_000)];
    agrees("host is busy", &made(&step), Cause::ExposedCommunication, &["kernel:nccl*=0"]);
    assert!(of(&analyze(&made(&step), &Options::default()), Cause::ExposedCommunication).is_none());
}

/// Kernels of two streams that the host is too slow to overlap: launched at once, they would still be run.
#[test]
fn no_shorter_than_the_work_of_the_device() {
    let step: Vec<Op> = (0..40)
        .map(|at| Op { stream: at % 2, ..Op::launch(["one", "two"][at as usize % 2], 10_000, 10_000) })
        .collect();
    let analysis = asked(&made(&step), &["call:*=0"]);
    let busy = analysis.loops[0].busy_share.unwrap();
    let launching = of(&analysis, Cause::LaunchBound).unwrap_or_else(|| panic!("{:#?}", analysis.findings));
    let gain = launching.gain.unwrap();
    assert!(gain.then_ns as f64 >= 0.999 * busy * gain.now_ns as f64, "{gain:?}, busy {busy}");
    let then = analysis.what_if[0].prediction.unwrap();
    assert!(then.predicted_ns as f64 >= 0.999 * busy * then.measured_ns as f64, "{then:?}, busy {busy}");
}

const ADD: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>";
const MUL: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>";
const TANH: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel<float>>";
const RELU: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::relu_kernel<float>>";

/// Ten iterations lie between two waits, and look like one.
#[test]
fn chains_of_iterations_without_a_wait_between_them() {
    let kernels = [ADD, MUL, TANH, RELU];
    let mut step: Vec<Op> = (0..40).map(|at| Op::launch(kernels[at % 4], 5_000, 100_000)).collect();
    step.push(Op::wait(5_000));
    let analysis = analyze(&made(&step), &Options::default());
    let gain = of(&analysis, Cause::UnfusedElementwise).unwrap().gain.unwrap();
    // Four become one.
    assert!((3.5..=4.1).contains(&gain.factor) && gain.high <= 4.1, "{gain:?}");
}

/// Fusing three short kernels with a long one leaves the long one.
#[test]
fn a_long_kernel_is_not_fused_away() {
    let mut step: Vec<Op> = [ADD, MUL, TANH].iter().map(|name| Op::launch(name, 5_000, 10_000)).collect();
    step.push(Op::launch(RELU, 5_000, 1_800_000));
    step.push(Op::wait(5_000));
    let analysis = analyze(&made(&step), &Options::default());
    let fused = of(&analysis, Cause::UnfusedElementwise).and_then(|finding| finding.gain);
    assert!(fused.is_none_or(|gain| gain.factor < 1.1), "{fused:?}");
    assert_eq!(analysis.steady.unwrap().kernels[0].statistics.mean_ns, 1_800_000.0);
}

/// No kernel that two waits lie between is fused with another.
#[test]
fn chains_end_where_the_host_waits() {
    let kernels = [ADD, MUL, TANH, RELU];
    let step: Vec<Op> =
        kernels.iter().flat_map(|name| [Op::launch(name, 5_000, 100_000), Op::wait(5_000)]).collect();
    let analysis = analyze(&made(&step), &Options::default());
    assert!(of(&analysis, Cause::UnfusedElementwise).is_none(), "{:#?}", analysis.findings);
}

#[test]
fn one_kernel_again_and_again_is_no_chain() {
    let mut step: Vec<Op> = (0..40).map(|_| Op::launch(ADD, 5_000, 100_000)).collect();
    step.push(Op::wait(5_000));
    let analysis = analyze(&made(&step), &Options::default());
    assert!(of(&analysis, Cause::UnfusedElementwise).is_none(), "{:#?}", analysis.findings);
}
