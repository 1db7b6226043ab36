//! Advice from the timeline: why the device is idle.

use trace::counted;

use super::recommendation::{Recommendation, WORTH_A_WORD, percent};
use super::whole::{Time, Whole};
use crate::findings::Findings;
use crate::time::{IdleCause, IdleRow};

/// A region that waits for at least this share of its time is reported.
const WAITS: f64 = 0.15;
/// If one inner region has at least this share of a wait, that region is reported instead.
const MOSTLY_INSIDE: f64 = 0.8;
/// A kernel shorter than this takes about as long to launch.
const TINY_NS: f64 = 5_000.0;

/// Why a device is idle, how a title says it, and what helps.
const WAITS_FOR: [(IdleCause, &str, &str); 4] = [
    (
        IdleCause::Host,
        "waits for the CPU to launch work",
        "launch less often or earlier: use CUDA graphs (`torch.compile(mode=\"reduce-overhead\")`, \
         `torch.cuda.graphs`), larger batches or fused kernels, or run less Python between launches",
    ),
    (
        IdleCause::Sync,
        "waits for the CPU, which is blocked in a synchronization",
        "synchronize later or not at all: avoid `.item()`, `.cpu()`, printing tensors and `synchronize` between \
         launches; check results once at the end",
    ),
    (
        IdleCause::Copy,
        "waits for the CPU, which is blocked in a copy",
        "use pinned memory and asynchronous copies (`non_blocking=True`) on a separate stream, before the data is needed",
    ),
    (
        IdleCause::Launch,
        "waits for launched work to start",
        "use fewer, larger kernels, or CUDA graphs, which leave shorter gaps between kernels",
    ),
];

pub(super) fn advice(findings: &Findings) -> Vec<Recommendation> {
    let (run, matters) = (Time::of_run(findings), Time::that_matters(findings));
    let mut all: Vec<Recommendation> = WAITS_FOR
        .into_iter()
        .flat_map(|(cause, waits, advice)| waiting(findings, (run, matters), cause, waits, advice))
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
    waits_for: &str,
    advice: &str,
) -> Vec<Recommendation> {
    let part =
        |row: &IdleRow| row.causes.time(cause) as f64 / row.busy_ns.saturating_add(row.idle_ns).max(1) as f64;
    // Anything less is never reported: of many thousand regions, few are left.
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
        // If much of the work is in ranges, any range is more useful to name than the device.
        let by_a_range = outer.region.is_none() && matters.of == Whole::Ranges && of_inner > 0;
        by_a_range || of_inner as f64 >= MOSTLY_INSIDE * outer.causes.time(cause) as f64
    };
    rows.iter()
        .filter(|row| !is_reported_inside(row))
        .map(|row| {
            let busy = percent(row.busy_share);
            let busy = match &row.region {
                Some(region) => format!("the GPU is busy {busy} of `{region}`"),
                None => format!("{} is busy {busy} of the time", row.device_called()),
            };
            let title = format!("{busy}; {} of the time it {waits_for}", percent(part(row)));
            let whole = if row.region.is_some() { matters } else { run };
            Recommendation::new(title, advice, evidence(findings, row), row.causes.time(cause) as f64, whole)
                .in_region(row.region.as_deref())
        })
        .collect()
}

/// Time outside all ranges, where ranges hold much of the work.
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
        let title = format!("{} of the time of GPU {} is outside all ranges", percent(part), row.device);
        let line = format!(
            "{:.2} of {:.2} ms: start-up, warm-up and code without a range",
            outside as f64 / 1e6,
            time as f64 / 1e6
        );
        let advice = "record only what matters (`nsys.nvtx_capture`), or open ranges around the rest to see what it is";
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
            "on average {:.1} activities are in flight at each launch; the delay from call to start is {:.1} us",
            row.launch_ahead_mean,
            row.queue_delay_mean_ns / 1e3
        ),
    ];
    let region =
        row.region.as_ref().and_then(|path| findings.regions.iter().find(|region| region.path == *path));
    if let Some(region) = region.filter(|region| region.kernels_inclusive > 0) {
        lines.push(format!(
            "{}, {:.1} us on average, in {}, {:.2} ms on average",
            counted(region.kernels_inclusive, "kernel"),
            region.gpu_inclusive_ns as f64 / region.kernels_inclusive as f64 / 1e3,
            counted(region.instances, "instance"),
            region.wall_ns as f64 / region.instances.max(1) as f64 / 1e6,
        ));
    }
    lines
}

/// Kernels that take less time than their launch.
fn tiny(findings: &Findings, run: Time) -> Option<Recommendation> {
    let all = findings.kernel_calls();
    let tiny: Vec<_> = findings.kernels.iter().filter(|row| row.statistics.mean_ns < TINY_NS).collect();
    let calls: u64 = tiny.iter().map(|row| row.statistics.calls).sum();
    let ns: i64 = tiny.iter().map(|row| row.statistics.total_ns).sum();
    if calls * 2 < all || all == 0 {
        return None;
    }
    let title = format!(
        "kernels shorter than {:.0} us make up {} of {}",
        TINY_NS / 1e3,
        percent(calls as f64 / all as f64),
        counted(all, "launch")
    );
    let top: Vec<String> = tiny
        .iter()
        .take(3)
        .map(|row| {
            format!(
                "{} x {}, {:.1} us on average",
                row.statistics.calls,
                row.short_name,
                row.statistics.mean_ns / 1e3
            )
        })
        .collect();
    let advice =
        "fuse them (torch.compile, a hand-written or Triton kernel), or capture them in a CUDA graph";
    Some(Recommendation::new(title, advice, top, ns as f64, run))
}

/// Copies and communication that overlap with no kernel.
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
                "{:.2} ms of {what}, {:.2} ms of it overlapped with kernels",
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
            "copy from pinned memory on a separate stream while kernels run, or keep the data on the GPU",
        );
        add(
            "communication",
            overlap.communication_ns,
            overlap.communication_beside_kernels_ns,
            "start collectives earlier and on a separate stream (bucketing, prefetch), so that they overlap with kernels",
        );
    }
    all
}
