//! Nothing is in the way of the device: what it is limited by.

use trace::Quantity;

use super::super::case::{Candidate, Case, milliseconds};
use super::super::finding::{Cause, Sureness};
use super::kernels::{Class, device_copy_rate, place};

/// The device is the limit when it is busy for this much of the time.
pub(in super::super) const BUSY: f64 = 0.85;
/// So much of the work is of one kind, if that kind is the limit.
const MOST: f64 = 0.6;
/// Near enough to a peak.
const NEAR: f64 = 0.75;

/// What makes work quicker that memory limits.
pub(in super::super) const FEWER_BYTES: &str = "move fewer bytes: smaller types (BF16, FP8 or INT4 weights), fused \
    kernels, or a larger batch, which uses weights more than once";

/// What to say of a loop in which no cause was found.
pub(in super::super) fn limit(case: &Case<'_>, classes: &[Option<Class>]) -> Option<Candidate> {
    if case.busy < BUSY {
        return None;
    }
    let each = case.iterations();
    let steady = if case.is_whole { "" } else { " in the steady loop" };
    let busy = format!("the GPU is busy {:.0} % of the time{steady}", case.busy * 100.0);
    let whole: i64 = case.graph.works.iter().map(|work| work.duration).sum();
    let part = |of: &[Class]| {
        let time = |at: usize| {
            classes[at].filter(|class| of.contains(class)).map_or(0, |_| case.graph.works[at].duration)
        };
        (0..classes.len()).map(time).sum::<i64>()
    };
    let computes = part(&[Class::Product]);
    let moves = part(&[Class::MatrixVector, Class::Elementwise, Class::Moving, Class::Layout]);
    // Samples of the hardware are told with what they measured.
    let is_sampled = case.trace.series.iter().any(|series| series.values(Quantity::TensorActive).is_some());
    let unknown = |text: &str| (!is_sampled).then(|| text.to_owned());
    let is_most = |time: i64| time as f64 >= MOST * whole as f64;
    let all: Vec<usize> = (0..case.graph.works.len()).collect();
    let (node, _) = place(case, &all);
    let none = |cause, title, evidence, advice, confidence| Candidate {
        cause,
        node,
        kernel: None,
        title,
        evidence,
        advice,
        confidence,
        then: None,
        time_ns: 0,
        during: Vec::new(),
    };
    if let Some((time, rate)) = device_copy_rate(case).filter(|(time, _)| is_most(*time)) {
        let peak = case.chip().map(|chip| rate / chip.dram);
        let text = format!(
            "copies within the device move {:.2} TB/s{}",
            rate / 1e12,
            peak.map(|part| format!(", {:.0} % of the DRAM's peak", part * 100.0)).unwrap_or_default()
        );
        let evidence = vec![busy, format!("{} of copies {}", milliseconds(time as f64 / each), case.each())];
        let near = peak.is_some_and(|part| part >= NEAR);
        let cause = if near { Cause::Healthy } else { Cause::MemoryBound };
        return Some(none(
            cause,
            text,
            evidence,
            if near { "" } else { "move fewer bytes" },
            Sureness::Shown,
        ));
    }
    if is_most(computes) {
        let title = format!(
            "the GPU is the limit: it is busy {:.0} % of the time, mostly with matrix products on tensor cores",
            case.busy * 100.0
        );
        let mut evidence = vec![format!(
            "products, attention and convolutions take {} of {} {}",
            milliseconds(computes as f64 / each),
            milliseconds(case.graph.measured),
            case.each()
        )];
        evidence.extend(unknown("how near they are to the peak only counters tell"));
        let advice = "nothing is in the GPU's way; it gets faster by less arithmetic, a cheaper type (FP8), or better kernels where counters show them far from the peak";
        return Some(none(Cause::ComputeBound, title, evidence, advice, Sureness::Likely));
    }
    if is_most(moves) {
        let title = format!(
            "the GPU is the limit: it is busy {:.0} % of the time, mostly with kernels that move more than they compute",
            case.busy * 100.0
        );
        let mut evidence = vec![format!(
            "products with a vector, elementwise kernels, sums and copies take {} of {} {}",
            milliseconds(moves as f64 / each),
            milliseconds(case.graph.measured),
            case.each()
        )];
        evidence.extend(unknown("how near they are to the DRAM's peak only counters tell"));
        return Some(none(Cause::MemoryBound, title, evidence, FEWER_BYTES, Sureness::Likely));
    }
    let title =
        format!("nothing is in the GPU's way: it is busy {:.0} % of the time{steady}", case.busy * 100.0);
    Some(none(Cause::Healthy, title, Vec::new(), "", Sureness::Shown))
}
