//! How long everything would take if one rank were not late: the collectives again, with other times between them.
//!
//! A rank makes progress unless it does nothing but wait in a collective. It is ready for a collective when it has made as
//! much progress as it had when it was ready for it; a collective is over for all when the last has come and the transfer is
//! done; and who waited for it goes on only then. With nothing changed that gives the recorded time again, which is checked.

use std::collections::VecDeque;

use super::clock::Clock;
use super::late::Meeting;
use super::matched::Matched;
use super::part::Part;
use crate::statistics::middle_of;

/// A replay that misses the recorded time by more than this part explains nothing.
const FAITHFUL: f64 = 0.05;
/// A collective that holds nobody up for longer than this is waited for by nobody.
const HOLDS_UP_NS: i64 = 2_000;

/// A collective of one rank.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Progress since it was ready for the one before.
    progress: f64,
    /// Progress from then until the end of this one, beyond which everything waits for it; None if nothing waits.
    beside: Option<f64>,
}

/// The time that all would save if a rank took no longer between collectives than the middle one of the others. None if
/// the recorded times do not follow from the collectives.
pub(super) fn saved(
    parts: &[Part],
    matched: &[Matched],
    clocks: &[Option<Clock>],
    meetings: &[Option<Meeting>],
    late: usize,
) -> Option<f64> {
    let steps: Vec<Vec<Option<Step>>> = (0..parts.len()).map(|part| steps(parts, matched, part)).collect();
    let starts: Vec<f64> = (0..parts.len()).map(|part| start(parts, matched, clocks, part)).collect();
    let transfers: Vec<f64> =
        meetings.iter().map(|meeting| meeting.map_or(0.0, |one| one.end - one.last)).collect();
    let ends = |of: &[Vec<Option<Step>>]| replay(of, &starts, &transfers);
    let recorded = span(meetings.iter().flatten().map(|meeting| meeting.end))?;
    let again = span(ends(&steps).into_iter())?;
    if recorded <= 0.0 || (again / recorded - 1.0).abs() > FAITHFUL {
        return None;
    }
    let mut changed = steps.clone();
    for (at, one) in matched.iter().enumerate() {
        let others = one.of.iter().filter(|(part, _)| *part != late);
        let usual = middle_of(others.filter_map(|(part, _)| Some(steps[*part][at]?.progress)).collect());
        if let (Some(step), Some(usual)) = (&mut changed[late][at], usual) {
            step.progress = step.progress.min(usual);
        }
    }
    Some((again - span(ends(&changed).into_iter())?).max(0.0))
}

fn span(times: impl Iterator<Item = f64>) -> Option<f64> {
    let (first, last) = times
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), time| (first.min(time), last.max(time)));
    (first <= last).then_some(last - first)
}

/// When a rank comes to its first collective: nothing before it is replayed.
fn start(parts: &[Part], matched: &[Matched], clocks: &[Option<Clock>], part: usize) -> f64 {
    let first = matched.iter().find_map(|one| one.on(part));
    first.zip(clocks[part]).map_or(0.0, |(place, clock)| clock.common(parts[part].collectives[place].begin))
}

/// By collective, what the part does before it.
fn steps(parts: &[Part], matched: &[Matched], part: usize) -> Vec<Option<Step>> {
    let mut before: Option<i64> = None;
    let step = |one: &Matched| {
        let done = parts[part].collectives[one.on(part)?];
        let progress = before.map_or(0, |before| done.ready_at.saturating_sub(before)).max(0) as f64;
        before = Some(done.ready_at);
        let beside = done.ended_at.saturating_sub(done.ready_at).max(0) as f64;
        Some(Step { progress, beside: (done.exposed_ns > HOLDS_UP_NS).then_some(beside) })
    };
    matched.iter().map(step).collect()
}

/// Where a rank is.
#[derive(Clone)]
struct At {
    time: f64,
    progress: f64,
    /// Progress beyond which everything waits until a time.
    held: VecDeque<(f64, f64)>,
    /// When its last collective is over: its stream does one after the other.
    free: f64,
}

impl At {
    /// When it has made more progress.
    fn advance(&mut self, by: f64) {
        let target = self.progress + by;
        while let Some((level, until)) = self.held.front().copied().filter(|(level, _)| *level < target) {
            self.held.pop_front();
            let level = level.max(self.progress);
            self.time = (self.time + level - self.progress).max(until);
            self.progress = level;
        }
        self.time += target - self.progress;
        self.progress = target;
    }
}

/// When each collective is over.
fn replay(steps: &[Vec<Option<Step>>], starts: &[f64], transfers: &[f64]) -> Vec<f64> {
    let start =
        |time: &f64| At { time: *time, progress: 0.0, held: VecDeque::new(), free: f64::NEG_INFINITY };
    let mut ranks: Vec<At> = starts.iter().map(start).collect();
    let mut ends = Vec::with_capacity(transfers.len());
    for (at, transfer) in transfers.iter().enumerate() {
        let mut last = f64::NEG_INFINITY;
        for (rank, steps) in ranks.iter_mut().zip(steps) {
            if let Some(step) = steps[at] {
                rank.advance(step.progress);
                last = last.max(rank.time).max(rank.free);
            }
        }
        let end = last + transfer;
        for (rank, steps) in ranks.iter_mut().zip(steps) {
            if let Some(step) = steps[at] {
                rank.free = end;
                rank.held.extend(step.beside.map(|beside| (rank.progress + beside, end)));
            }
        }
        ends.push(end);
    }
    ends
}
