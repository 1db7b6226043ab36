//! Which slices can share a track: those that nest, and those that do not overlap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trace::{OPEN, Trace};

/// Perfetto drops what is nested deeper than 512 slices; what nests deeper than this is
/// pushed and never popped.
const DEEPEST: usize = 128;

/// Times in Perfetto's way: from the begin of the trace, none before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) begin: i64,
    pub(crate) end: i64,
}

/// Something that took time. `row` says what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) row: u32,
    /// It had not ended when the recording did.
    pub(crate) open: bool,
}

impl Times {
    pub(crate) fn of(trace: &Trace) -> Self {
        // What is sampled may begin before the first event, and end behind the last.
        let series = trace.series.iter();
        let ends = series.filter_map(|series| Some((*series.begin.first()?, *series.end.last()?)));
        let at = &trace.stacks.samples.at;
        let stacks = at.iter().min().copied().zip(at.iter().max().copied());
        let events = (!trace.is_empty() || ends.clone().chain(stacks).next().is_none())
            .then_some((trace.begin, trace.end));
        let all = || ends.clone().chain(stacks).chain(events);
        let begin = all().map(|(begin, _)| begin).min().unwrap_or_default();
        Self { begin, end: all().map(|(_, end)| end).max().unwrap_or_default().max(begin) }
    }

    pub(crate) fn at(self, time: i64) -> u64 {
        time.saturating_sub(self.begin).max(0) as u64
    }

    pub(crate) fn span(self, row: u32, begin: i64, end: i64) -> Span {
        let open = end == OPEN;
        let begin = self.at(begin);
        let end = self.at(if open { self.end } else { end });
        Span { begin, end: end.max(begin), row, open }
    }

    /// Rows in the order in which slices are put on tracks: as they begin, longer ones first.
    pub(crate) fn spans(self, rows: &mut [u32], begins: &[i64], ends: &[i64]) -> impl Iterator<Item = Span> {
        let span = move |row: &u32| self.span(*row, begins[*row as usize], ends[*row as usize]);
        let key = |row: &u32| {
            let span = span(row);
            (span.begin, Reverse(span.end))
        };
        if !rows.is_sorted_by_key(key) {
            rows.sort_by_key(key);
        }
        rows.iter().map(span)
    }
}

/// What comes next on a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Begin {
        lane: usize,
        span: Span,
    },
    End {
        lane: usize,
        time: u64,
    },
    /// Nothing but its begin is known, and it cannot be nested.
    Mark {
        span: Span,
    },
}

/// Puts spans on lanes, as they begin. Lane 0 holds what nests, if that is wanted; each other one
/// what does not overlap.
pub(crate) fn lanes<E>(
    spans: impl Iterator<Item = Span>,
    nested: bool,
    mut step: impl FnMut(Step) -> Result<(), E>,
) -> Result<(), E> {
    let mut stack: Vec<Span> = Vec::new();
    let mut flat = FlatLanes { next: usize::from(nested), ..FlatLanes::default() };
    for span in spans {
        if nested {
            while let Some(open) = stack.pop_if(|open| ended(open, &span)) {
                step(Step::End { lane: 0, time: open.end })?;
            }
            let deep = stack.len() >= DEEPEST;
            if !deep && stack.last().is_none_or(|open| span.end <= open.end) {
                stack.push(span);
                step(Step::Begin { lane: 0, span })?;
                continue;
            }
            if deep && span.open {
                step(Step::Mark { span })?;
                continue;
            }
        }
        let lane = flat.take(&span);
        step(Step::Begin { lane, span })?;
        step(Step::End { lane, time: span.end })?;
    }
    while let Some(open) = stack.pop() {
        step(Step::End { lane: 0, time: open.end })?;
    }
    Ok(())
}

/// Whether one span is over when the other begins. One that takes no time does not hold
/// what begins with it, unless it is older.
fn ended(open: &mut Span, next: &Span) -> bool {
    open.end < next.begin || open.end == next.begin && open.begin < next.begin
}

/// Always the first lane that is free.
#[derive(Debug, Default)]
struct FlatLanes {
    next: usize,
    free: BinaryHeap<Reverse<usize>>,
    busy: BinaryHeap<Reverse<(u64, usize)>>,
}

impl FlatLanes {
    fn take(&mut self, span: &Span) -> usize {
        while let Some(Reverse((_, lane))) =
            self.busy.peek().copied().filter(|Reverse((end, _))| *end <= span.begin)
        {
            self.busy.pop();
            self.free.push(Reverse(lane));
        }
        let lane = self.free.pop().map_or(self.next, |Reverse(lane)| lane);
        self.next = self.next.max(lane + 1);
        self.busy.push(Reverse((span.end, lane)));
        lane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(begin, end)` → lane and depth on it.
    fn placed(spans: &[(u64, u64)], nested: bool) -> Vec<(usize, usize)> {
        let mut depths = vec![0usize; spans.len() + 1];
        let mut places = Vec::new();
        let spans = spans.iter().map(|&(begin, end)| Span { begin, end, row: 0, open: false });
        let done: Result<(), ()> = lanes(spans, nested, |step| {
            match step {
                Step::Begin { lane, .. } => {
                    places.push((lane, depths[lane]));
                    depths[lane] += 1;
                }
                Step::End { lane, .. } => depths[lane] -= 1,
                Step::Mark { .. } => {}
            }
            Ok(())
        });
        assert_eq!((done, depths.iter().sum::<usize>()), (Ok(()), 0), "all that began has ended");
        places
    }

    #[test]
    fn what_nests_shares_a_lane() {
        assert_eq!(placed(&[(0, 10), (0, 5), (5, 10), (10, 12)], true), [(0, 0), (0, 1), (0, 1), (0, 0)]);
        // The second outlasts the first; the fourth fits again.
        assert_eq!(placed(&[(0, 10), (5, 15), (6, 14), (7, 9)], true), [(0, 0), (1, 0), (2, 0), (0, 1)]);
        // No time at all: at the end of one, inside one, and twice at once.
        assert_eq!(
            placed(&[(0, 5), (5, 5), (5, 5), (6, 8), (6, 6)], true),
            [(0, 0), (0, 0), (0, 1), (0, 0), (0, 1)]
        );
    }

    #[test]
    fn what_overlaps_does_not() {
        assert_eq!(placed(&[(0, 4), (1, 3), (3, 9), (4, 5)], false), [(0, 0), (1, 0), (1, 0), (0, 0)]);
        assert_eq!(placed(&[(5, 9), (5, 5), (5, 5)], false), [(0, 0), (1, 0), (1, 0)]);
    }

    #[test]
    fn what_is_never_popped_ends_as_marks() {
        let spans = (0..1_000).map(|row| Span { begin: u64::from(row), end: 5_000, row, open: true });
        let (mut begun, mut marks) = (0, 0);
        let done: Result<(), ()> = lanes(spans, true, |step| {
            begun += usize::from(matches!(step, Step::Begin { lane: 0, .. }));
            marks += usize::from(matches!(step, Step::Mark { .. }));
            Ok(())
        });
        assert_eq!((done, begun, marks), (Ok(()), DEEPEST, 1_000 - DEEPEST));
    }
}
