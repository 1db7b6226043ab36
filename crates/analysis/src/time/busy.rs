//! When any device had work.

use trace::{ActivityKind, Trace};

/// Stretches in order and apart.
pub(crate) struct Busy(pub(super) Vec<(i64, i64)>);

impl Busy {
    /// From the first work to the last.
    pub(crate) fn span(&self) -> Option<std::ops::Range<i64>> {
        self.0.first().zip(self.0.last()).map(|(first, last)| first.0..last.1)
    }

    pub(crate) fn contains(&self, at: i64) -> bool {
        let next = self.0.partition_point(|(begin, _)| *begin <= at);
        next.checked_sub(1).is_some_and(|before| self.0[before].1 > at)
    }
}

/// Of all devices together; also work that was left out of the trace.
pub(crate) fn busy(trace: &Trace) -> Busy {
    let activities = &trace.activities;
    let of_program = |row: &usize| activities.kind[*row] != ActivityKind::Migration;
    let work =
        (0..activities.len()).filter(of_program).map(|row| (activities.begin[row], activities.end[row]));
    Busy(Trace::windows_of(work.chain(trace.left_out.iter().flatten().copied()).collect()))
}
