//! Copies and communication beside nothing.

use trace::Direction;

use super::super::case::{Candidate, Case, Then, milliseconds};
use super::super::finding::{Cause, Sureness};
use super::classes::Class;
use crate::replay::Work;

/// Smaller copies say nothing of the rate.
const LARGE: u64 = 1 << 20;
/// Of a bus that is not known.
const OTHER_BUS: f64 = 12e9;

/// What a copy from pinned memory reaches: the device's bus, or more if the recording shows it.
pub(in super::super) fn pinned_rate(case: &Case<'_>) -> f64 {
    let bus = case.chip().map_or(OTHER_BUS, |chip| chip.bus);
    let rate = |work: &Work| match case.transfer(work)? {
        (Direction::HostToDevice | Direction::DeviceToHost, bytes) if bytes >= LARGE && work.duration > 0 => {
            Some(bytes as f64 / work.duration as f64 * 1e9)
        }
        _ => None,
    };
    case.graph.works.iter().filter_map(rate).fold(bus, f64::max)
}

pub(in super::super) fn candidates(case: &Case<'_>, classes: &[Option<Class>]) -> Vec<Candidate> {
    [not_overlapped(case), exposed(case, classes)].into_iter().flatten().collect()
}

fn is_bus_copy(case: &Case<'_>, work: &Work) -> bool {
    let waits = case.graph.calls[work.call as usize].awaits_own();
    !waits
        && matches!(case.transfer(work), Some((Direction::HostToDevice | Direction::DeviceToHost, bytes)) if bytes >= 1 << 16)
}

/// Copies that nobody waits for, on the stream of the kernels.
fn not_overlapped(case: &Case<'_>) -> Option<Candidate> {
    let copies: Vec<usize> =
        (0..case.graph.works.len()).filter(|at| is_bus_copy(case, &case.graph.works[*at])).collect();
    let alone: i64 = alone(case, &copies).iter().map(|(begin, end)| end - begin).sum();
    let then = case.changed(|graph| {
        copies.iter().for_each(|at| graph.works[*at].stream = graph.streams as u16);
        graph.streams += 1;
    });
    let node = case.node_of_call[case.graph.works[*copies.first()?].call as usize];
    let each = case.iterations();
    let title = format!(
        "no kernel runs during the copies{}: {} {}",
        case.in_region(node),
        milliseconds(alone as f64 / each),
        case.of_each()
    );
    let bytes: u64 =
        copies.iter().filter_map(|at| case.transfer(&case.graph.works[*at])).map(|(_, bytes)| bytes).sum();
    let evidence = vec![format!(
        "{:.1} MB {} on the stream of the kernels, which is busy {:.0} % of the time",
        bytes as f64 / each / 1e6,
        case.each(),
        case.busy * 100.0
    )];
    let advice =
        "copy the next batch on a stream of its own while this one is computed; an event keeps the order";
    let (cause, confidence) = (Cause::CopyNotOverlapped, Sureness::Shown);
    Some(Candidate {
        cause,
        node,
        kernel: None,
        title,
        evidence,
        advice,
        confidence,
        then: Some(Then::of(case, then)),
        time_ns: alone,
        during: Vec::new(),
    })
}

/// Communication during which nothing else runs.
fn exposed(case: &Case<'_>, classes: &[Option<Class>]) -> Option<Candidate> {
    let all: Vec<usize> =
        (0..classes.len()).filter(|at| classes[*at] == Some(Class::Communication)).collect();
    let first = &case.graph.works[*all.first()?];
    let exposed = alone(case, &all);
    let alone: i64 = exposed.iter().map(|(begin, end)| end - begin).sum();
    let total: i64 = all.iter().map(|at| case.graph.works[*at].duration).sum();
    let each = case.iterations();
    let changed = case.changed(|graph| {
        for at in &all {
            let work = &mut graph.works[*at];
            work.duration -= part_in(&exposed, work.began, work.began + work.duration);
        }
    });
    // Without a replay it only ranks by its time; then no gain is told.
    let then = match case.no_gain() {
        None => Then::of(case, changed),
        Some(_) => Then::without_replay((case.now - alone as f64 / each).max(case.now * 0.01)),
    };
    let node = case.node_of_call[first.call as usize];
    let title = format!(
        "the GPU does nothing but communicate for {} {}{}",
        milliseconds(alone as f64 / each),
        case.of_each(),
        case.in_region(node)
    );
    let evidence = vec![format!(
        "{} of communication {}, {} of it beside other kernels",
        milliseconds(total as f64 / each),
        case.each(),
        milliseconds((total - alone) as f64 / each)
    )];
    let advice = "start collectives as soon as their data is there, on a stream of their own (smaller buckets, prefetch), so that they overlap with kernels";
    let kernel = case.launch(first).map(|launch| case.trace.strings.text(launch.short_name).to_owned());
    let (cause, confidence) = (Cause::ExposedCommunication, Sureness::Shown);
    Some(Candidate {
        cause,
        node,
        kernel,
        title,
        evidence,
        advice,
        confidence,
        then: Some(then),
        time_ns: alone,
        during: Vec::new(),
    })
}

/// When some works run and no other does.
fn alone(case: &Case<'_>, some: &[usize]) -> Vec<(i64, i64)> {
    let chosen: std::collections::HashSet<usize> = some.iter().copied().collect();
    let mut edges: Vec<(i64, i32, i32)> = Vec::new();
    for (at, work) in case.graph.works.iter().enumerate() {
        let (these, others) = if chosen.contains(&at) { (1, 0) } else { (0, 1) };
        edges.push((work.began, these, others));
        edges.push((work.began + work.duration, -these, -others));
    }
    edges.sort_unstable();
    let (mut these, mut others, mut since, mut alone) = (0, 0, i64::MIN, Vec::new());
    for (at, this, other) in edges {
        if these > 0 && others == 0 && since < at {
            alone.push((since, at));
        }
        (these, others, since) = (these + this, others + other, at);
    }
    alone
}

/// How much of some times, which are in order, is between two others.
fn part_in(times: &[(i64, i64)], from: i64, to: i64) -> i64 {
    let first = times.partition_point(|(_, end)| *end <= from);
    let inside = times[first..].iter().take_while(|(begin, _)| *begin < to);
    inside.map(|(begin, end)| (*end).min(to) - (*begin).max(from)).sum()
}
