//! The device runs kernels that could be others: told by names, shapes and durations alone.

use trace::{ActivityKind, Direction, Launch, counted};

use super::super::case::{Candidate, Case, Then, milliseconds};
use super::super::finding::{Cause, Sureness};
use super::chains;
use super::classes::{Class, LONG_ENOUGH, place, share, total};
use crate::replay::Graph;

/// So many launches of one small kernel in a row could be one.
const A_ROW: usize = 8;
/// A longer row is taken in parts.
const LONGEST_ROW: usize = 4_096;
/// Of a device that is not known.
const PROCESSORS: u32 = 100;
/// How much quicker tensor cores are, where the device is not known.
const TENSOR_CORES: f64 = 6.0;

pub(in super::super) fn candidates(case: &Case<'_>, classes: &[Option<Class>]) -> Vec<Candidate> {
    [
        no_tensor_cores(case, classes),
        chains::unfused(case, classes),
        layout(case, classes),
        too_few_blocks(case),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_class(classes: &[Option<Class>], class: Class) -> Vec<usize> {
    (0..classes.len()).filter(|at| classes[*at] == Some(class)).collect()
}

fn scaled(graph: &mut Graph, works: &[usize], factor: f64) {
    for at in works {
        let work = &mut graph.works[*at];
        work.duration = (work.duration as f64 * factor) as i64;
    }
}

fn no_tensor_cores(case: &Case<'_>, classes: &[Option<Class>]) -> Option<Candidate> {
    let works = of_class(classes, Class::PlainProduct);
    let time_ns = total(case, &works);
    let (node, kernel) = place(case, &works);
    let kernel = kernel?;
    let quicker = case.chip().map_or(TENSOR_CORES, |chip| chip.tf32 / chip.fp32);
    let with = |factor: f64| case.changed(|graph| scaled(graph, &works, 1.0 / factor));
    let title = format!(
        "matrix products in FP32 without tensor cores take {} {}{}",
        milliseconds(time_ns as f64 / case.iterations()),
        case.of_each(),
        case.in_region(node)
    );
    let evidence = vec![
        format!(
            "`{kernel}`: its name says FP32 on the general pipes; it takes {} of the time",
            share(case, time_ns)
        ),
        format!("tensor cores are about {quicker:.1} times as fast in TF32 on this device"),
    ];
    let advice =
        "allow TF32 (`torch.set_float32_matmul_precision(\"high\")`), or use BF16 or FP16 (autocast)";
    Some(Candidate {
        cause: Cause::NoTensorCores,
        node,
        kernel: Some(kernel),
        title,
        evidence,
        advice,
        confidence: Sureness::Likely,
        then: Some(
            Then::of(case, with(quicker))
                .between(case.replayed(&with(quicker / 2.0)), case.replayed(&with(quicker * 2.0))),
        ),
        time_ns,
        during: Vec::new(),
    })
}

fn layout(case: &Case<'_>, classes: &[Option<Class>]) -> Option<Candidate> {
    let works = of_class(classes, Class::Layout);
    let (node, kernel) = place(case, &works);
    let kernel = kernel?;
    let time_ns = total(case, &works);
    let then = case.changed(|graph| works.iter().for_each(|at| graph.leave_out(*at)));
    let each = case.iterations();
    let title = format!(
        "copies that only change the layout take {} {}{}",
        milliseconds(time_ns as f64 / each),
        case.of_each(),
        case.in_region(node)
    );
    let evidence = vec![format!(
        "{} {}, most of them of `{kernel}`; together they take {} of the time",
        counted((works.len() as f64 / each).round() as u64, "launch"),
        case.each(),
        share(case, time_ns)
    )];
    let advice = "leave out `.contiguous()` and `.transpose()` before products that take strides, or keep the data in the layout that is needed (`channels_last`, weights stored transposed)";
    Some(Candidate {
        cause: Cause::LayoutCopies,
        node,
        kernel: Some(kernel),
        title,
        evidence,
        advice,
        confidence: Sureness::Likely,
        then: Some(Then::of(case, then)),
        time_ns,
        during: Vec::new(),
    })
}

/// Kernels that leave most of the device free.
fn too_few_blocks(case: &Case<'_>) -> Option<Candidate> {
    let processors = u64::from(case.chip().map_or(PROCESSORS, |chip| chip.processors));
    let blocks =
        |launch: &Launch| launch.grid.iter().fold(1u64, |blocks, of| blocks.saturating_mul(u64::from(*of)));
    let is_small = |at: &usize| {
        let work = &case.graph.works[*at];
        work.kernels <= 1
            && work.duration >= LONG_ENOUGH
            && case.launch(work).is_some_and(|launch| (1..=processors / 2).contains(&blocks(launch)))
    };
    let works: Vec<usize> = (0..case.graph.works.len()).filter(is_small).collect();
    let time_ns = total(case, &works);
    // Only where the device is the limit.
    if works.len() < 2 || (time_ns as f64) < 0.5 * case.graph.measured * case.iterations() {
        return None;
    }
    let (node, kernel) = place(case, &works);
    let kernel = kernel?;
    // Rows of one kernel in one shape, and the longest.
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut last = None;
    for at in &works {
        let detail = case.trace.activities.detail[case.graph.works[*at].activity as usize];
        match rows.last_mut() {
            Some(row) if last == Some(detail) && row.len() < LONGEST_ROW => row.push(*at),
            _ => rows.push(vec![*at]),
        }
        last = Some(detail);
    }
    let starts = case.first_calls();
    let rows: Vec<&[usize]> = rows.iter().flat_map(|row| in_iterations(case, &starts, row)).collect();
    let longest = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let each = case.iterations();
    let blocks_of = |at: &usize| case.launch(&case.graph.works[*at]).map_or(0, &blocks);
    let mean = works.iter().map(blocks_of).sum::<u64>() as f64 / works.len().max(1) as f64;
    let mut evidence = vec![format!(
        "{} {}, with {mean:.0} blocks on average for {processors} processors; together they take {} of the time",
        counted((works.len() as f64 / each).round() as u64, "launch"),
        case.each(),
        share(case, time_ns)
    )];
    let many = longest >= A_ROW && works.len() as f64 >= A_ROW as f64 * each;
    if many {
        // One launch with the blocks of all, in as many waves as they need.
        let in_one = |graph: &mut Graph| {
            for row in &rows {
                let waves = (blocks_of(&row[0]) * row.len() as u64).div_ceil(processors).max(1);
                // What is between them belongs to them.
                let (first, last) = (row[0], row[row.len() - 1]);
                (first + 1..=last).for_each(|at| graph.leave_out(at));
                let calls = graph.works[first].call as usize + 1..=graph.works[last].call as usize;
                graph.calls[calls]
                    .iter_mut()
                    .for_each(|call| (call.own, call.gap, call.awaits) = (0, 0, None));
                graph.works[first].duration *= waves as i64;
            }
        };
        let then = Then::of(case, case.changed(in_one));
        // With one launch there may be no loop on the host either.
        let no_host = case.changed(|graph| {
            in_one(graph);
            graph.calls.iter_mut().for_each(|call| call.gap = 0);
        });
        let (worst, best) = (case.now.min(then.likely * 2.0), case.replayed(&no_host).min(then.likely));
        let is_it = |at: &&usize| {
            let launch = case.launch(&case.graph.works[**at]);
            launch.is_some_and(|launch| case.trace.strings.text(launch.short_name) == kernel)
        };
        let title = format!(
            "`{kernel}` is launched {} with too few blocks to fill the GPU{}",
            case.times(works.iter().filter(is_it).count()),
            case.in_region(node)
        );
        let advice = "do it all in one launch: a batch dimension, or one kernel for all rows";
        return Some(Candidate {
            cause: Cause::SmallLaunches,
            node,
            kernel: Some(kernel),
            title,
            evidence,
            advice,
            confidence: Sureness::Likely,
            then: Some(then.between(worst, best)),
            time_ns,
            during: Vec::new(),
        });
    }
    let title =
        format!("kernels that leave most of the GPU free run one after another{}", case.in_region(node));
    if case.no_gain().is_none() {
        evidence.push(
            "no gain is given: the recording does not say whether they need each other's results".to_owned(),
        );
    }
    let advice = "if they do not need each other's results, run them at the same time on several streams; or give each more blocks";
    Some(Candidate {
        cause: Cause::SerialStreams,
        node,
        kernel: Some(kernel),
        title,
        evidence,
        advice,
        confidence: Sureness::Possible,
        then: None,
        time_ns,
        during: Vec::new(),
    })
}

/// A row of works, cut between iterations, by the first call of each, and where the host waits.
fn in_iterations<'r>(case: &Case<'_>, starts: &[usize], row: &'r [usize]) -> Vec<&'r [usize]> {
    let iteration =
        |at: &usize| starts.partition_point(|first| *first <= case.graph.works[*at].call as usize);
    let call = |at: &usize| case.graph.works[*at].call as usize;
    let waits = |a: &usize, b: &usize| case.graph.calls[call(a)..call(b)].iter().any(chains::is_wait);
    row.chunk_by(|a, b| iteration(a) == iteration(b) && !waits(a, b)).collect()
}

/// Copies within the device, in bytes read and written a second.
pub(in super::super) fn device_copy_rate(case: &Case<'_>) -> Option<(i64, f64)> {
    let (mut time, mut bytes) = (0i64, 0u64);
    for work in case.graph.works.iter().filter(|work| case.kind(work) == ActivityKind::Copy) {
        if let Some((Direction::DeviceToDevice, size)) = case.transfer(work) {
            time += work.duration;
            bytes = bytes.saturating_add(size.saturating_mul(2));
        }
    }
    (time > 0).then(|| (time, bytes as f64 / time as f64 * 1e9))
}
