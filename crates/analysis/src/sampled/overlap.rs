//! Which work ran in which sample.

use trace::{ActivityKind, Series, Trace};

/// A sample and the work in it.
pub(super) struct Shared<'s> {
    /// Its place in the series.
    pub(super) sample: usize,
    pub(super) length: i64,
    /// Activities, and how long each ran in the sample.
    pub(super) work: &'s [(u32, i64)],
    /// How long any of them ran.
    pub(super) busy: i64,
}

/// Goes through the samples of a device in which something ran.
pub(super) fn each_sample(trace: &Trace, series: &Series, mut see: impl FnMut(Shared<'_>)) {
    let activities = &trace.activities;
    let is_work = |at: &u32| {
        let at = *at as usize;
        activities.device[at] == series.device && activities.kind[at] != ActivityKind::Migration
    };
    let mut order: Vec<u32> = (0..activities.len() as u32).filter(is_work).collect();
    order.sort_by_key(|at| activities.begin[*at as usize]);
    let mut waiting = order.into_iter().peekable();
    let mut running: Vec<u32> = Vec::new();
    let mut work: Vec<(u32, i64)> = Vec::new();
    for sample in 0..series.len() {
        let (begin, end) = (series.begin[sample], series.end[sample]);
        while let Some(next) = waiting.next_if(|at| activities.begin[*at as usize] < end) {
            running.push(next);
        }
        running.retain(|at| activities.end[*at as usize] > begin);
        work.clear();
        let (mut busy, mut until) = (0, begin);
        // They are in the order in which they began.
        for at in &running {
            let (from, to) =
                (activities.begin[*at as usize].max(begin), activities.end[*at as usize].min(end));
            if to > from {
                work.push((*at, to - from));
                busy += (to - from.max(until)).max(0);
                until = until.max(to);
            }
        }
        if !work.is_empty() && end > begin {
            see(Shared { sample, length: end - begin, work: &work, busy });
        }
    }
}
