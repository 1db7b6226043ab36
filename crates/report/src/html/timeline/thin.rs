//! Long lanes with fewer pieces: of every few events the longest stays, and what lies between
//! two that stay becomes one piece that says how many it stands for.

use super::track::Span;

/// A page with more is slow to open.
pub(super) const MOST_EVENTS: u64 = 250_000;
/// A lane as short as this is left alone.
const SHORT: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    One(Span),
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

impl Piece {
    pub(super) fn extent(&self) -> (i64, i64) {
        match self {
            Self::One(span) => (span.begin, span.end),
            Self::Many(many) => (many.begin, many.end),
        }
    }
}

/// How many events share a bucket so that no more than `most` pieces are left; one when all fit.
pub(super) fn bucket(events: u64, most: u64) -> usize {
    // A bucket leaves two pieces: the longest and the rest.
    if events <= most { 1 } else { 2 * events.div_ceil(most) as usize }
}

/// Keeps the longest of each bucket of consecutive events.
pub(super) fn thin(lane: Vec<Span>, bucket: usize) -> Vec<Piece> {
    if bucket < 2 || lane.len() <= SHORT {
        return lane.into_iter().map(Piece::One).collect();
    }
    let mut pieces = Vec::with_capacity(2 * lane.len() / bucket + 2);
    let mut rest: Option<Many> = None;
    for events in lane.chunks(bucket) {
        let duration = |span: &Span| span.end.saturating_sub(span.begin);
        // Of equals the first.
        let longest = (0..events.len()).rev().max_by_key(|at| duration(&events[*at]));
        for (at, span) in events.iter().enumerate() {
            if Some(at) == longest {
                pieces.extend(rest.take().map(Piece::Many));
                pieces.push(Piece::One(*span));
                continue;
            }
            let many = rest.get_or_insert(Many { begin: span.begin, end: span.end, count: 0, busy_ns: 0 });
            many.end = span.end;
            many.count += 1;
            many.busy_ns = many.busy_ns.saturating_add(duration(span));
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
        let lane: Vec<Span> = (0..1_000)
            .map(|at| Span {
                begin: at * 10,
                end: at * 10 + if at % 10 == 3 { 9 } else { 2 },
                what: at as u32,
                region: None,
                lead: None,
                open: false,
            })
            .collect();
        let pieces = thin(lane.clone(), 10);
        let (mut ones, mut left, mut busy, mut last) = (0, 0, 0, 0);
        for piece in &pieces {
            assert!(piece.extent().0 >= last, "in order and apart");
            last = piece.extent().1;
            match piece {
                Piece::One(span) => {
                    ones += 1;
                    assert_eq!(span.what % 10, 3);
                }
                Piece::Many(many) => (left, busy) = (left + many.count, busy + many.busy_ns),
            }
        }
        assert_eq!((ones, left, busy), (100, 900, 1_800));
        assert_eq!(thin(lane, 1).len(), 1_000);
        assert!(pieces.len() as u64 <= 2 * 1_000 / 10 + 1);
    }

    #[test]
    fn buckets() {
        assert_eq!([10, 100, 101, 1_000].map(|events| bucket(events, 100)), [1, 1, 4, 20]);
    }
}
