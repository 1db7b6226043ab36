//! Advice from the timeline: what the device waits for.

use super::{Recommendation, WORTH_A_WORD, device_time_ns, percent};
use crate::findings::Findings;
use crate::idle::IdleRow;

/// A region that waits so much of its time is told.
const WAITS: f64 = 0.15;
/// When one region inside has so much of a wait, that one is told instead.
const MOSTLY_INSIDE: f64 = 0.8;
/// A kernel shorter than this takes about as long to launch.
const TINY_NS: f64 = 5_000.0;

/// What a device waits for, what that is called, and what helps.
const WAITS_FOR: [(&str, &str, &str); 4] = [
    (
        "host",
        "the host, which has not launched yet",
        "launch less often or earlier: CUDA graphs (`torch.compile(mode=\"reduce-overhead\")`, \
         `torch.cuda.graphs`), larger batches, fused kernels, less Python between launches",
    ),
    (
        "sync",
        "the host, which waits for the device itself",
        "wait later or not at all: no `.item()`, `.cpu()`, `print` of a tensor or `synchronize` between launches; \
         check results once at the end",
    ),
    (
        "copy",
        "copies that the host waits for",
        "use pinned memory and asynchronous copies (`non_blocking=True`) on a stream of their own, ahead of their use",
    ),
    (
        "launch",
        "the start of what was launched already",
        "fewer and larger kernels, or CUDA graphs, whose kernels start sooner after each other",
    ),
];

pub(super) fn advice(findings: &Findings) -> Vec<Recommendation> {
    let (whole, matters) = (device_time_ns(findings), time_that_matters_ns(findings));
    let mut all: Vec<Recommendation> = WAITS_FOR
        .iter()
        .flat_map(|(cause, called, advice)| waiting(findings, matters, cause, called, advice))
        .collect();
    all.extend(tiny(findings, whole));
    all.extend(alone(findings, whole));
    all
}

fn cause_ns(row: &IdleRow, cause: &str) -> i64 {
    match cause {
        "host" => row.causes.host_ns,
        "sync" => row.causes.sync_ns,
        "copy" => row.causes.copy_ns,
        "launch" => row.causes.launch_ns,
        _ => 0,
    }
}

/// The innermost regions that wait for this, or the device when no region does.
fn waiting(findings: &Findings, whole: f64, cause: &str, called: &str, advice: &str) -> Vec<Recommendation> {
    let part =
        |row: &IdleRow| cause_ns(row, cause) as f64 / row.busy_ns.saturating_add(row.idle_ns).max(1) as f64;
    // Less is neither told nor enough to be told instead: of many thousand regions few are left.
    let least = (MOSTLY_INSIDE * WORTH_A_WORD * whole).max(1.0);
    let waits = |row: &&IdleRow| cause_ns(row, cause) as f64 >= least && part(row) >= WAITS;
    let told = |row: &&IdleRow| row.region.is_some() || !is_told_by_ranges(findings, row);
    let rows: Vec<&IdleRow> = findings.idle.iter().filter(waits).filter(told).collect();
    let inside = |outer: &IdleRow, inner: &IdleRow| match (&outer.region, &inner.region) {
        (None, Some(_)) => true,
        (Some(outer), Some(inner)) => inner.starts_with(&format!("{outer}/")),
        _ => false,
    };
    let is_told_inside = |outer: &IdleRow| {
        let of_inner: i64 = rows
            .iter()
            .filter(|inner| inner.device == outer.device && inside(outer, inner))
            .map(|inner| cause_ns(inner, cause))
            .max()
            .unwrap_or(0);
        of_inner as f64 >= MOSTLY_INSIDE * cause_ns(outer, cause) as f64
    };
    rows.iter()
        .filter(|row| !is_told_inside(row))
        .map(|row| {
            let name = match &row.region {
                Some(region) => format!("`{region}` keeps the GPU busy"),
                None => format!("GPU {} is busy", row.device),
            };
            let title = format!(
                "{name} {} of its time, and {} it waits for {called}",
                percent(row.busy_share),
                percent(part(row)),
            );
            Recommendation::new(title, advice, evidence(findings, row), cause_ns(row, cause) as f64 / whole)
                .in_region(row.region.as_deref())
        })
        .collect()
}

/// Regions of a device that no other is around: their time, and that in which it is busy.
fn in_ranges(findings: &Findings, device: u32) -> (i64, i64) {
    let is_outermost = |row: &&IdleRow| row.region.as_ref().is_some_and(|path| !path.contains('/'));
    let rows = findings.idle.iter().filter(is_outermost).filter(|row| row.device == device);
    rows.fold((0, 0), |(time, busy), row| {
        (time.saturating_add(time_ns(row)), busy.saturating_add(row.busy_ns))
    })
}

/// Most of what a device does happens in ranges: what is outside, start-up and warm-up, says little about it.
fn is_told_by_ranges(findings: &Findings, device: &IdleRow) -> bool {
    let (_, busy) = in_ranges(findings, device.device);
    busy > 0 && busy >= device.busy_ns / 2
}

fn time_ns(row: &IdleRow) -> i64 {
    row.busy_ns.saturating_add(row.idle_ns)
}

/// Of all devices together: that of ranges where they hold most of the work.
fn time_that_matters_ns(findings: &Findings) -> f64 {
    let time = |row: &IdleRow| match is_told_by_ranges(findings, row) {
        true => in_ranges(findings, row.device).0.min(time_ns(row)),
        false => time_ns(row),
    };
    findings.idle.iter().filter(|row| row.region.is_none()).map(time).sum::<i64>().max(1) as f64
}

/// What has no range, where most has.
pub(super) fn outside(findings: &Findings) -> Vec<Recommendation> {
    let mut all = Vec::new();
    for row in findings.idle.iter().filter(|row| row.region.is_none() && is_told_by_ranges(findings, row)) {
        let (inside, busy_inside) = in_ranges(findings, row.device);
        let outside = time_ns(row).saturating_sub(inside).max(0);
        let part = outside as f64 / time_ns(row).max(1) as f64;
        if part < WAITS {
            continue;
        }
        let title = format!("{} of the time of GPU {} lies outside every range", percent(part), row.device);
        let busy = row.busy_ns.saturating_sub(busy_inside).max(0) as f64 / outside.max(1) as f64;
        let line = format!(
            "{:.2} ms, busy {}: start-up, warm-up, what has no range",
            outside as f64 / 1e6,
            percent(busy)
        );
        let advice = "record only what matters (`nsys.nvtx_capture`), or open a range around the rest to see what it is";
        all.push(Recommendation::new(title, advice, vec![line], part));
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
fn tiny(findings: &Findings, whole: f64) -> Option<Recommendation> {
    let all: u64 = findings.kernels.iter().map(|row| row.statistics.calls).sum();
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
    Some(Recommendation::new(title, advice, top, ns as f64 / whole))
}

/// Copies and communication that nothing runs beside.
fn alone(findings: &Findings, whole: f64) -> Vec<Recommendation> {
    let overlaps = findings.idle.iter().filter_map(|row| Some((row, row.overlap?)));
    let mut all = Vec::new();
    for (row, overlap) in overlaps {
        let mut add = |what: &str, ns: i64, beside_ns: i64, advice: &str| {
            let alone = ns.saturating_sub(beside_ns);
            let title = format!(
                "GPU {} spends {} of its time on {what} while no other kernel runs",
                row.device,
                percent(alone as f64 / row.busy_ns.saturating_add(row.idle_ns).max(1) as f64)
            );
            let line = format!(
                "{:.2} ms of {what}, {:.2} ms of that beside kernels",
                ns as f64 / 1e6,
                beside_ns as f64 / 1e6
            );
            if alone > 0 {
                all.push(Recommendation::new(title, advice, vec![line], alone as f64 / whole));
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
