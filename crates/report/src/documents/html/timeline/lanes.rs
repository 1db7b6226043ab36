//! Puts overlapping events into separate lanes: nested events end up ordered by depth.

/// Deeper than this a timeline is a wall.
const MOST_LANES: usize = 64;

/// Lanes of events, each in order and without overlap, and how many events found no place. `extent` tells when one
/// begins and ends.
pub(super) fn lanes(mut events: Vec<u32>, extent: impl Fn(u32) -> (i64, i64)) -> (Vec<Vec<u32>>, u64) {
    // The outer one first if two begin together.
    let order = |event: &u32| {
        let (begin, end) = extent(*event);
        (begin, std::cmp::Reverse(end))
    };
    if !events.is_sorted_by_key(order) {
        events.sort_by_key(order);
    }
    let mut lanes: Vec<Vec<u32>> = Vec::new();
    let mut ends: Vec<i64> = Vec::new();
    let mut left_out = 0;
    for event in events {
        let (begin, end) = extent(event);
        match ends.iter().position(|until| *until <= begin) {
            Some(at) => {
                lanes[at].push(event);
                ends[at] = end;
            }
            None if lanes.len() < MOST_LANES => {
                lanes.push(vec![event]);
                ends.push(end);
            }
            None => left_out += 1,
        }
    }
    (lanes, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_by_depth_and_overlapping_apart() {
        let spans = [(0, 100), (0, 40), (10, 20), (40, 90), (50, 60), (100, 110)];
        let (found, left_out) = lanes((0..6).collect(), |event| spans[event as usize]);
        let begin = |event: &u32| spans[*event as usize].0;
        let found: Vec<Vec<i64>> = found.iter().map(|lane| lane.iter().map(begin).collect()).collect();
        assert_eq!(found, [vec![0, 100], vec![0, 40], vec![10, 50]]);
        assert_eq!(left_out, 0);
        let (found, left_out) = lanes((0..100).collect(), |event| (i64::from(event), 1_000));
        assert_eq!((found.len(), left_out), (64, 36));
    }
}
