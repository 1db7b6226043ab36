//! Spans that overlap in lanes of their own: what is nested comes out by its depth.

use super::track::Span;

/// Deeper than this a timeline is a wall.
const MOST_LANES: usize = 64;

/// Lanes, each in order and without overlap, and how many spans found no place.
pub(super) fn lanes(mut spans: Vec<Span>) -> (Vec<Vec<Span>>, u64) {
    // The outer one first where two begin together.
    let order = |span: &Span| (span.begin, std::cmp::Reverse(span.end));
    if !spans.is_sorted_by_key(order) {
        spans.sort_by_key(order);
    }
    let mut lanes: Vec<Vec<Span>> = Vec::new();
    let mut left_out = 0;
    for span in spans {
        let free = |lane: &Vec<Span>| lane.last().is_none_or(|last| last.end <= span.begin);
        match lanes.iter().position(free) {
            Some(at) => lanes[at].push(span),
            None if lanes.len() < MOST_LANES => lanes.push(vec![span]),
            None => left_out += 1,
        }
    }
    (lanes, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: i64, end: i64) -> Span {
        Span { begin, end, what: 0, region: None, lead: None, open: false }
    }

    #[test]
    fn nested_by_depth_and_overlapping_apart() {
        let spans = [(0, 100), (0, 40), (10, 20), (40, 90), (50, 60), (100, 110)];
        let (found, left_out) = lanes(spans.map(|(begin, end)| span(begin, end)).to_vec());
        let found: Vec<Vec<i64>> =
            found.iter().map(|lane| lane.iter().map(|span| span.begin).collect()).collect();
        assert_eq!(found, [vec![0, 100], vec![0, 40], vec![10, 50]]);
        assert_eq!(left_out, 0);
        let (found, left_out) = lanes((0..100).map(|at| span(at, 1_000)).collect());
        assert_eq!((found.len(), left_out), (64, 36));
    }
}
