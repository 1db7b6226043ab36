//! What overlaps with what on a device.

use serde::Serialize;
use trace::{ActivityKind, Trace};

/// Time in which two kinds of work ran at once on a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Overlap {
    /// Copies and fills, and of that beside kernels.
    pub copy_ns: i64,
    pub copy_beside_kernels_ns: i64,
    /// Communication, and of that beside other kernels.
    pub communication_ns: i64,
    pub communication_beside_kernels_ns: i64,
}

/// Walks every begin and end on a device and adds up overlaps.
pub(crate) fn overlap(trace: &Trace, order: &[u32], communicates: &[bool]) -> Overlap {
    let activities = &trace.activities;
    let alone = |activity: &u32| {
        let at = *activity as usize;
        match activities.kind[at] {
            ActivityKind::Copy | ActivityKind::Fill | ActivityKind::Migration => false,
            ActivityKind::Kernel => !communicates[activities.detail[at] as usize],
            ActivityKind::Graph => true,
        }
    };
    if order.iter().all(alone) {
        return Overlap::default();
    }
    // Copies, communication, other kernels.
    let mut edges: Vec<(i64, i8, u8)> = Vec::with_capacity(order.len() * 2);
    for activity in order {
        let at = *activity as usize;
        let kind = match activities.kind[at] {
            ActivityKind::Copy | ActivityKind::Fill | ActivityKind::Migration => 0,
            ActivityKind::Kernel if communicates[activities.detail[at] as usize] => 1,
            ActivityKind::Kernel | ActivityKind::Graph => 2,
        };
        let (begin, end) = (activities.begin[at], activities.end[at].max(activities.begin[at]));
        edges.extend([(begin, 1, kind), (end, -1, kind)]);
    }
    edges.sort_unstable();
    let mut running = [0i64; 3];
    let mut overlap = Overlap::default();
    let mut before = edges.first().map_or(0, |edge| edge.0);
    for (time, step, kind) in edges {
        let length = time.saturating_sub(before);
        let [copies, communication, kernels] = running.map(|count| count > 0);
        for (counts, sum) in [
            (copies, &mut overlap.copy_ns),
            (copies && (communication || kernels), &mut overlap.copy_beside_kernels_ns),
            (communication, &mut overlap.communication_ns),
            (communication && kernels, &mut overlap.communication_beside_kernels_ns),
        ] {
            if counts {
                *sum = sum.saturating_add(length);
            }
        }
        running[usize::from(kind)] += i64::from(step);
        before = time;
    }
    overlap
}
