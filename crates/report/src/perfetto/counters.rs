//! What a device is busy with, as counters over time.

use std::io;

use trace::{ActivityKind, Trace};

use super::lanes::Times;
use super::packets::{Count, Packets};
use super::tracks::{Place, Subject};

/// What is counted: its name, and the unit where it is no plain number.
pub(crate) const KINDS: [(ActivityKind, &str, Option<&str>); 3] = [
    (ActivityKind::Kernel, "kernels running", None),
    (ActivityKind::Graph, "graphs running", None),
    (ActivityKind::Copy, "copied", Some("GB/s")),
];

/// Draws each counter that ever counts something. `streams` are the rows of one device.
pub(crate) fn draw<'r>(
    packets: &mut Packets<'_>,
    trace: &Trace,
    times: Times,
    group: u64,
    streams: impl Iterator<Item = &'r [u32]> + Clone,
) -> io::Result<()> {
    for (rank, (kind, name, unit)) in KINDS.into_iter().enumerate() {
        let mut changes = changes(trace, times, kind, streams.clone().flatten());
        if changes.is_empty() {
            continue;
        }
        changes.sort_unstable();
        let place = Place { name, parent: Some(group), rank: rank as u64 };
        let track = packets.track(Subject::Counter { unit }, place)?;
        let mut value = 0i64;
        let mut told = 0;
        for (at, (time, change)) in changes.iter().enumerate() {
            value = value.saturating_add(*change);
            let last = changes.get(at + 1).is_none_or(|(next, _)| next != time);
            if last && value != told {
                told = value;
                let whole = value.max(0) as u64;
                let count =
                    if unit.is_some() { Count::Real(whole as f64 / 1e9) } else { Count::Whole(whole) };
                packets.count(track, *time, count)?;
            }
        }
    }
    Ok(())
}

/// When a count rises and falls again, and by how much. Copies count their bytes in a
/// second, whole so that what rises falls again.
fn changes<'r>(
    trace: &Trace,
    times: Times,
    kind: ActivityKind,
    rows: impl Iterator<Item = &'r u32>,
) -> Vec<(u64, i64)> {
    let activities = &trace.activities;
    let mut changes = Vec::new();
    for row in rows.map(|row| *row as usize).filter(|row| activities.kind[*row] == kind) {
        let span = times.span(row as u32, activities.begin[row], activities.end[row]);
        let duration = span.end - span.begin;
        if duration == 0 {
            continue;
        }
        let weight = match kind {
            ActivityKind::Copy => {
                let bytes = activities.transfers[activities.detail[row] as usize].bytes;
                // More than any device moves, and far from where sums would overflow.
                (u128::from(bytes) * 1_000_000_000 / u128::from(duration)).min(1 << 50) as i64
            }
            _ => 1,
        };
        changes.push((span.begin, weight));
        changes.push((span.end, -weight));
    }
    changes
}
