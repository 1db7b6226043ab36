//! Nothing is in the way of the device: what it is limited by.

use trace::{Direction, Quantity};

use super::super::case::{Candidate, Case, milliseconds, percent, works_for};
use super::super::finding::{Cause, Sureness};
use super::classes::{Class, place};
use super::kernels::device_copy_rate;

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
    if let Some(bus) = bus_bound(case) {
        let mut evidence = vec![busy];
        evidence.extend(bus.evidence);
        let node = bus.node;
        return Some(Candidate {
            node,
            ..none(Cause::BusBound, bus.title, evidence, bus.advice, Sureness::Shown)
        });
    }
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

struct Bus {
    node: Option<u32>,
    title: String,
    evidence: Vec<String>,
    advice: &'static str,
}

/// The device is busy with copies from and to the host for longer than with what it is there for.
fn bus_bound(case: &Case<'_>) -> Option<Bus> {
    let directions = [Direction::HostToDevice, Direction::DeviceToHost];
    let over_bus = |at: &usize, directions: &[Direction]| {
        let transfer = case.transfer(&case.graph.works[*at]);
        transfer.is_some_and(|(direction, _)| directions.contains(&direction))
    };
    let all: Vec<usize> = (0..case.graph.works.len()).collect();
    let (copies, others): (Vec<usize>, Vec<usize>) = all.iter().partition(|at| over_bus(at, &directions));
    let (busy, time) = (works_for(&case.graph, &all), works_for(&case.graph, &copies));
    if time <= works_for(&case.graph, &others) {
        return None;
    }
    let each = case.iterations();
    let title = format!(
        "the bus between host and GPU is the limit: of {} of GPU work {}, {} are copies over it",
        milliseconds(busy as f64 / each),
        case.each(),
        milliseconds(time as f64 / each),
    );
    let evidence = directions.into_iter().filter_map(|direction| {
        let some: Vec<usize> = copies.iter().copied().filter(|at| over_bus(at, &[direction])).collect();
        let bytes = some.iter().filter_map(|at| case.transfer(&case.graph.works[*at]));
        let bytes = bytes.fold(0.0, |sum, (_, bytes)| sum + bytes as f64);
        let time = works_for(&case.graph, &some);
        (time > 0).then(|| {
            format!(
                "{}: {:.1} MB {} at {:.1} GB/s, {} of the time that the GPU is busy",
                direction.as_str(),
                bytes / each / 1e6,
                case.each(),
                bytes / time as f64,
                percent(time as f64 / busy as f64)
            )
        })
    });
    Some(Bus {
        node: place(case, &copies).0,
        title,
        evidence: evidence.collect(),
        advice: "copy less: keep on the GPU what is used again (weights, states of the optimizer), copy smaller types, or \
            share the model among GPUs instead of keeping a part of it in the host's memory",
    })
}
