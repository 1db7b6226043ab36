//! The time covered by ranges, where overlaps count once.

use trace::{NONE, OPEN, Trace};

use crate::attribute::Attribution;

/// From the beginning of each range to its end or that of its last work, in their order and apart from each other.
pub(crate) fn times_of_ranges(trace: &Trace, attribution: &Attribution) -> Vec<(i64, i64)> {
    let ranges = &trace.ranges;
    let end = |end: &i64| if *end == OPEN { trace.end } else { *end };
    let mut until: Vec<i64> = ranges.end.iter().map(end).collect();
    for plane in &attribution.planes {
        for (innermost, end) in plane.range.iter().zip(&trace.activities.end) {
            let mut range = Some(*innermost).filter(|range| *range != NONE);
            while let Some(here) = range {
                let until = &mut until[here as usize];
                *until = (*until).max(*end);
                range = ranges.parent[here as usize];
            }
        }
    }
    let is_region = |range: &usize| !attribution.libraries.leaves_out(ranges.domain[*range]);
    let times = (0..ranges.len()).filter(is_region).map(|range| (ranges.begin[range], until[range]));
    Trace::windows_of(times.collect())
}

/// How much of them lies in a stretch of time.
pub(crate) fn within(apart: &[(i64, i64)], (from, to): (i64, i64)) -> i64 {
    let inside = |(begin, end): &(i64, i64)| (*end).min(to).saturating_sub((*begin).max(from)).max(0);
    apart.iter().map(inside).fold(0, i64::saturating_add)
}
