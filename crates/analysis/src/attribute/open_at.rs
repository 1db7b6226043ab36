//! Which range is open at a moment.

use trace::{OPEN, Trace};

/// The innermost of the push/pop ranges of a thread and domain, which are in the order of their beginnings.
pub(crate) fn open_at(trace: &Trace, ranges: &[u32], time: i64) -> Option<u32> {
    let rows = &trace.ranges;
    let last = ranges.partition_point(|range| rows.begin[*range as usize] <= time).checked_sub(1)?;
    let parent = |range: &u32| rows.parent[*range as usize];
    std::iter::successors(Some(ranges[last]), parent).find(|range| {
        let end = rows.end[*range as usize];
        end == OPEN || end > time
    })
}
