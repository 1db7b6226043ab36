//! Advice from the timeline: what the device waits for.

use super::recommendation::{Recommendation, WORTH_A_WORD, percent};
use super::whole::{Time, Whole};
use crate::findings::Findings;
use crate::time::{IdleCause, IdleRow};

/// A region that waits so much of its time is worth a word.
const WAITS: f64 = 0.15;
/// When one region inside has so much of a wait, that one is reported instead.
const MOSTLY_INSIDE: f64 = 0.8;
/// A kernel shorter than this takes about as long to launch.
const TINY_NS: f64 = 5_000.0;

/// What a device waits for, what that is called, and what helps.
const WAITS_FOR: [(IdleCause, &str, &str); 4] = [
    (
        IdleCause::Host,
        "the host, which has not launched yet",
        "launch less often or earlier: CUDA graphs (`torch.compile(mode=\"reduce-overhead\")`, \
         `torch.cuda.graphs`), larger batches, fused kernels, less Python between launches",
    ),
    (
        IdleCause::Sync,
        "the host, which waits for the device itself",
        "wait later or not at all: no `.item()`, `.cpu()`, `print` of a tensor or `synchronize` between launches; \
         check results once at the end",
    ),
    (
        IdleCause::Copy,
        "copies that the host waits for",
        "use pinned memory and asynchronous copies (`non_blocking=True`) on a stream of their own, ahead of their use",
    ),
    (
        IdleCause::Launch,
        "the start of what was launched already",
        "fewer and larger kernels, or CUDA graphs, whose kernels start sooner after each other",
    ),
];

pub(super) fn advice(findings: &Findings) -> Vec<Recommendation> {
    let (run, matters) = (Time::of_run(findings), Time::that_matters(findings));
    let mut all: Vec<Recommendation> = WAITS_FOR
        .into_iter()
        .flat_map(|(cause, called, advice)| waiting(findings, (run, matters), cause, called, advice))
        .collect();
    all.extend(tiny(findings, run));
    all.extend(alone(findings, run));
    all
}

/// The innermost regions that wait for this, or the device when no region does.
fn waiting(
    findings: &Findings,
    (run, matters): (Time, Time),
    cause: IdleCause,
    called: &str,
    advice: &str,
) -> Vec<Recommendation> {
    let part =
        |row: &IdleRow| row.causes.time(cause) as f64 / row.busy_ns.saturating_add(row.idle_ns).max(1) as f64;
    // Less is neither reported nor enough to be reported instead: of many thousand regions few are left.
    let least = (MOSTLY_INSIDE * WORTH_A_WORD * matters.ns).max(1.0);
    let waits = |row: &&IdleRow| row.causes.time(cause) as f64 >= least && part(row) >= WAITS;
    let rows: Vec<&IdleRow> = findings.idle.iter().filter(waits).collect();
    let inside = |outer: &IdleRow, inner: &IdleRow| match (&outer.region, &inner.region) {
        (None, Some(_)) => true,
        (Some(outer), Some(inner)) => inner.starts_with(&format!("{outer}/")),
        _ => false,
    };
    let is_reported_inside = |outer: &IdleRow| {
        let of_inner: i64 = rows
            .iter()
            .filter(|inner| inner.device == outer.device && inside(outer, inner))
            .map(|inner| inner.causes.time(cause))
            .max()
            .unwrap_or(0);
        // Where much happens in ranges, any of them is more to the point than the device.
        let by_a_range = outer.region.is_none() && matters.of == Whole::Ranges && of_inner > 0;
        by_a_range || of_inner as f64 >= MOSTLY_INSIDE * outer.causes.time(cause) as f64
    };
    rows.iter()
        .filter(|row| !is_reported_inside(row))
        .map(|row| {
            let name = match &row.region {
                Some(region) => format!("`{region}` keeps the GPU busy"),
                None => format!("{} is busy", row.device_called()),
            };
            let title = format!(
                "{name} {} of its time, and {} it waits for {called}",
                percent(row.busy_share),
                percent(part(row)),
            );
            let whole = if row.region.is_some() { matters } else { run };
            Recommendation::new(title, advice, evidence(findings, row), row.causes.time(cause) as f64, whole)
                .in_region(row.region.as_deref())
        })
        .collect()
}

/// What has no range, where much has.
pub(super) fn outside(findings: &Findings) -> Vec<Recommendation> {
    if Time::that_matters(findings).of == Whole::Run {
        return Vec::new();
    }
    let mut all = Vec::new();
    for row in findings.idle.iter().filter(|row| row.region.is_none()) {
        let time = row.busy_ns.saturating_add(row.idle_ns);
        let outside = time.saturating_sub(row.in_ranges_ns.unwrap_or(time)).max(0);
        let part = outside as f64 / time.max(1) as f64;
        if part < WAITS {
            continue;
        }
        let title = format!("{} of the time of GPU {} belongs to no range", percent(part), row.device);
        let line = format!(
            "{:.2} of {:.2} ms: start-up, warm-up, what has no range",
            outside as f64 / 1e6,
            time as f64 / 1e6
        );
        let advice = "record only what matters (`nsys.nvtx_capture`), or open a range around the rest to see what it is";
        all.push(Recommendation::new(title, advice, vec![line], outside as f64, Time::of_run(findings)));
    }
    all
}

fn evidence(findings: &Findings, row: &IdleRow) -> Vec<String> {
    let causes: Vec<String> =
        row.cause_shares.iter().map(|(cause, share)| format!("{cause} {}", percent(*share))).collect();
    let mut lines = vec![
        format!("busy {}; idle: {}", percent(row.busy_share), causes.join(", ")),
        format!(
            "{:.1} activities are queued ahead when one starts, {:.1} us from call to start",
            row.launch_ahead_mean,
            row.queue_delay_mean_ns / 1e3
        ),
    ];
    let region =
        row.region.as_ref().and_then(|path| findings.regions.iter().find(|region| region.path == *path));
    if let Some(region) = region.filter(|region| region.kernels_inclusive > 0) {
        lines.push(format!(
            "{} kernels of {:.1} us each in {} instances of {:.2} ms",
            region.kernels_inclusive,
            region.gpu_inclusive_ns as f64 / region.kernels_inclusive as f64 / 1e3,
            region.instances,
            region.wall_ns as f64 / region.instances.max(1) as f64 / 1e6,
        ));
    }
    lines
}

/// Kernels that are shorter than their launch.
fn tiny(findings: &Findings, run: Time) -> Option<Recommendation> {
    let all = findings.kernel_calls();
    let tiny: Vec<_> = findings.kernels.iter().filter(|row| row.statistics.mean_ns < TINY_NS).collect();
    let calls: u64 = tiny.iter().map(|row| row.statistics.calls).sum();
    let ns: i64 = tiny.iter().map(|row| row.statistics.total_ns).sum();
    if calls * 2 < all || all == 0 {
        return None;
    }
    let title = format!(
        "{} of {all} launches are of kernels that take less than {:.0} us",
        percent(calls as f64 / all as f64),
        TINY_NS / 1e3
    );
    let top: Vec<String> = tiny
        .iter()
        .take(3)
        .map(|row| {
            format!("{} x {} of {:.1} us", row.statistics.calls, row.short_name, row.statistics.mean_ns / 1e3)
        })
        .collect();
    let advice = "fuse them (torch.compile, a hand-written or Triton kernel), or put them into a CUDA graph";
    Some(Recommendation::new(title, advice, top, ns as f64, run))
}

/// Copies and communication that nothing runs beside.
fn alone(findings: &Findings, run: Time) -> Vec<Recommendation> {
    let overlaps = findings.idle.iter().filter_map(|row| Some((row, row.overlap?)));
    let mut all = Vec::new();
    for (row, overlap) in overlaps {
        let mut add = |what: &str, ns: i64, beside_ns: i64, advice: &str| {
            let alone = ns.saturating_sub(beside_ns);
            let title = format!(
                "{} spends {} of its time on {what} while no other kernel runs",
                row.device_called(),
                percent(alone as f64 / row.busy_ns.saturating_add(row.idle_ns).max(1) as f64)
            );
            let line = format!(
                "{:.2} ms of {what}, {:.2} ms of that beside kernels",
                ns as f64 / 1e6,
                beside_ns as f64 / 1e6
            );
            if alone > 0 {
                all.push(Recommendation::new(title, advice, vec![line], alone as f64, run));
            }
        };
        add(
            "copies",
            overlap.copy_ns,
            overlap.copy_beside_kernels_ns,
            "copy on a stream of its own while kernels run, from pinned memory, or keep the data on the device",
        );
        add(
            "communication",
            overlap.communication_ns,
            overlap.communication_beside_kernels_ns,
            "start collectives earlier and on a stream of their own (bucketing, prefetch), so that kernels run beside them",
        );
    }
    all
}
