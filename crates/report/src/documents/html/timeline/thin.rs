//! Long lanes with fewer pieces: of every few events the longest stays, and what lies between
//! two that stay becomes one piece that says how many it stands for.

use super::span::Span;

/// A page with more is slow to open.
pub(super) const MOST_EVENTS: usize = 250_000;
/// However many lanes there are.
const SHORTEST: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<One = Span> {
    One(One),
    Many(Many),
}

/// Events that are not shown one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Many {
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) count: u64,
    pub(super) busy_ns: i64,
}

impl<One> Piece<One> {
    /// The same, with each single event replaced.
    pub(super) fn map<Other>(self, of: impl FnOnce(One) -> Other) -> Piece<Other> {
        match self {
            Self::One(one) => Piece::One(of(one)),
            Self::Many(many) => Piece::Many(many),
        }
    }
}

impl Piece {
    pub(super) fn extent(&self) -> (i64, i64) {
        match self {
            Self::One(span) => (span.begin, span.end),
            Self::Many(many) => (many.begin, many.end),
        }
    }
}

/// How many pieces the fullest lanes may have so that all have no more than `most`; what is
/// shorter stays as it is.
pub(super) fn longest_lane(mut lanes: Vec<usize>, most: usize) -> usize {
    lanes.sort_unstable();
    let mut left = most;
    for (at, events) in lanes.iter().enumerate() {
        let fair = left / (lanes.len() - at);
        if *events > fair {
            return fair.max(SHORTEST);
        }
        left -= events;
    }
    usize::MAX
}

/// How many events in a row share a bucket; one where all are shown. A bucket leaves two pieces:
/// the longest and the rest.
pub(super) fn bucket(events: usize, longest: usize) -> usize {
    if events <= longest { 1 } else { 2 * events.div_ceil(longest) }
}

/// Keeps the longest of each bucket of consecutive events; `extent` tells when one begins and ends.
pub(super) fn thin(lane: Vec<u32>, longest: usize, extent: impl Fn(u32) -> (i64, i64)) -> Vec<Piece<u32>> {
    let bucket = bucket(lane.len(), longest);
    if bucket < 2 {
        return lane.into_iter().map(Piece::One).collect();
    }
    let mut pieces = Vec::with_capacity(2 * lane.len() / bucket + 2);
    let mut rest: Option<Many> = None;
    let duration = |(begin, end): (i64, i64)| end.saturating_sub(begin);
    for events in lane.chunks(bucket) {
        // The first of equals.
        let longest = (0..events.len()).rev().max_by_key(|at| duration(extent(events[*at])));
        for (at, event) in events.iter().enumerate() {
            if Some(at) == longest {
                pieces.extend(rest.take().map(Piece::Many));
                pieces.push(Piece::One(*event));
                continue;
            }
            let (begin, end) = extent(*event);
            let many = rest.get_or_insert(Many { begin, end, count: 0, busy_ns: 0 });
            many.end = end;
            many.count += 1;
            many.busy_ns = many.busy_ns.saturating_add(duration((begin, end)));
        }
    }
    pieces.extend(rest.map(Piece::Many));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_stay_and_the_rest_is_counted() {
        let lane: Vec<u32> = (0..1_000).collect();
        let extent = |event: u32| {
            let begin = i64::from(event) * 10;
            (begin, begin + if event % 10 == 3 { 9 } else { 2 })
        };
        let pieces = thin(lane.clone(), 200, extent);
        let (mut ones, mut left, mut busy, mut last) = (0, 0, 0, 0);
        for piece in &pieces {
            let (begin, end) = match piece {
                Piece::One(event) => extent(*event),
                Piece::Many(many) => (many.begin, many.end),
            };
            assert!(begin >= last, "in order and apart");
            last = end;
            match piece {
                Piece::One(event) => {
                    ones += 1;
                    assert_eq!(event % 10, 3);
                }
                Piece::Many(many) => (left, busy) = (left + many.count, busy + many.busy_ns),
            }
        }
        assert_eq!((ones, left, busy), (100, 900, 1_800));
        assert_eq!(thin(lane, 1_000, extent).len(), 1_000);
        assert!(pieces.len() <= 201);
    }

    #[test]
    fn full_lanes_give_way_first() {
        assert_eq!(longest_lane(vec![10, 2_000, 50], 100_000), usize::MAX);
        assert_eq!(longest_lane(vec![9_000, 100, 20_000, 400], 10_500), 5_000);
        assert_eq!([400, 5_000, 9_000].map(|events| bucket(events, 5_000)), [1, 1, 4]);
    }
}
