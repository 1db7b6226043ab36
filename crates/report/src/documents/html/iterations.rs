//! The iterations of a trace that two timelines show side by side.

use analysis::Loop;
use serde_json::{Value, json};
use trace::Trace;

/// Events of one timeline: with twice as many a page still opens at once.
const MOST_EVENTS: usize = 125_000;

/// Some steady iterations around one of the usual length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Iterations {
    /// In the times of the trace.
    pub(super) begin: i64,
    pub(super) end: i64,
    /// When each begins, and when the last one ends, since `begin`.
    marks: Vec<i64>,
    /// The one of the usual length, as an index into `marks`.
    usual: usize,
    /// Of how many.
    all: usize,
}

impl Iterations {
    /// As many as fit. None if the loop has no steady iteration.
    pub(super) fn of(trace: &Trace, main: &Loop) -> Option<Self> {
        let (begins, end) = (main.begins(), main.end());
        let usual_ns = main.period_ns?.p50;
        let until = |at: usize| begins.get(at + 1).copied().unwrap_or(end);
        let distance = |at: &usize| until(*at).saturating_sub(begins[*at]).abs_diff(usual_ns);
        let usual = (0..begins.len()).min_by_key(distance)?;
        let events = events(trace, begins, end);
        let (mut first, mut last, mut shown) = (usual, usual, events[usual]);
        loop {
            let before = first.checked_sub(1).filter(|at| shown + events[*at] <= MOST_EVENTS);
            if let Some(at) = before {
                (first, shown) = (at, shown + events[at]);
            }
            let after = Some(last + 1).filter(|at| *at < begins.len() && shown + events[*at] <= MOST_EVENTS);
            if let Some(at) = after {
                (last, shown) = (at, shown + events[at]);
            }
            if before.is_none() && after.is_none() {
                break;
            }
        }
        let last_end = until(last);
        // The host begins before the device does; a host that is far ahead would push everything else out of view.
        let long = last_end.saturating_sub(begins[first]);
        let on_host = main.begins_on_host().get(first).copied().unwrap_or(begins[first]);
        let begin = on_host.clamp(begins[first].saturating_sub(long), begins[first]);
        let marks = begins[first..=last].iter().copied().chain([last_end]);
        Some(Self {
            begin,
            end: last_end,
            marks: marks.map(|mark| mark.saturating_sub(begin)).collect(),
            usual: usual - first,
            all: begins.len(),
        })
    }

    /// `3 of 400 steady iterations are shown`
    pub(super) fn told(&self) -> String {
        match self.marks.len() - 1 {
            shown if shown == self.all => format!("all {shown} steady iterations"),
            shown => format!("{shown} of {} steady iterations", self.all),
        }
    }

    /// For the script of the page.
    pub(super) fn add_to(&self, timeline: &mut Value) {
        timeline["marks"] = json!(self.marks);
        timeline["usual"] = json!(self.usual);
    }
}

/// How many events begin in each iteration, on devices and on the host.
fn events(trace: &Trace, begins: &[i64], end: i64) -> Vec<usize> {
    let mut events = vec![0; begins.len()];
    let moments = [&trace.activities.begin, &trace.calls.begin, &trace.ranges.begin, &trace.operators.begin];
    for moment in moments.into_iter().flat_map(|moments| moments.iter()).filter(|moment| **moment < end) {
        if let Some(at) = begins.partition_point(|begin| begin <= moment).checked_sub(1) {
            events[at] += 1;
        }
    }
    events
}
