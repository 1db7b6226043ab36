//! How long everything would take if one rank were not late: the collectives again, with other times between them.
//!
//! A rank makes progress unless it does nothing but wait in a collective. It is ready for a collective when it has made as
//! much progress as it had when it was ready for it; a collective is over for all when the last has come and the transfer is
//! done; and who waited for it goes on only then. With nothing changed that gives the recorded time again, which is checked.

use std::collections::VecDeque;

use super::clock::Clock;
use super::late::Meeting;
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
    meetings: &[Meeting<'_>],
    clocks: &[Option<Clock>],
    late: usize,
) -> Option<f64> {
    let steps = steps(parts, meetings);
    let starts = starts(parts, meetings, clocks);
    let recorded = span(meetings.iter().map(|meeting| meeting.end))?;
    let again = span(replay(meetings, &steps, &starts).into_iter())?;
    if recorded <= 0.0 || (again / recorded - 1.0).abs() > FAITHFUL {
        return None;
    }
    let mut changed = steps.clone();
    for ((meeting, steps), changed) in meetings.iter().zip(&steps).zip(&mut changed) {
        let of = &meeting.matched.of;
        let others = of.iter().zip(steps).filter(|((part, _), _)| *part != late);
        let usual = middle_of(others.map(|(_, step)| step.progress).collect());
        let own = of.iter().position(|(part, _)| *part == late);
        if let (Some(own), Some(usual)) = (own, usual) {
            changed[own].progress = changed[own].progress.min(usual);
        }
    }
    Some((again - span(replay(meetings, &changed, &starts).into_iter())?).max(0.0))
}

fn span(times: impl Iterator<Item = f64>) -> Option<f64> {
    let (first, last) = times
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), time| (first.min(time), last.max(time)));
    (first <= last).then_some(last - first)
}

/// By part, when it comes to its first collective: nothing before that is replayed.
fn starts(parts: &[Part], meetings: &[Meeting<'_>], clocks: &[Option<Clock>]) -> Vec<f64> {
    let mut starts = vec![None; parts.len()];
    for (part, place) in meetings.iter().flat_map(|meeting| &meeting.matched.of) {
        let clock = clocks[*part];
        let begin = || clock.map(|clock| clock.common(parts[*part].collectives[*place].begin));
        starts[*part] = starts[*part].or_else(begin);
    }
    starts.into_iter().map(|start| start.unwrap_or(0.0)).collect()
}

/// By collective, what each of its ranks does before it.
fn steps(parts: &[Part], meetings: &[Meeting<'_>]) -> Vec<Vec<Step>> {
    let mut before: Vec<Option<i64>> = vec![None; parts.len()];
    let mut step = |part: usize, place: usize| {
        let done = parts[part].collectives[place];
        let progress = before[part].map_or(0, |before| done.ready_at.saturating_sub(before)).max(0) as f64;
        before[part] = Some(done.ready_at);
        let beside = done.ended_at.saturating_sub(done.ready_at).max(0) as f64;
        Step { progress, beside: (done.exposed_ns > HOLDS_UP_NS).then_some(beside) }
    };
    meetings
        .iter()
        .map(|meeting| meeting.matched.of.iter().map(|(part, place)| step(*part, *place)).collect())
        .collect()
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
fn replay(meetings: &[Meeting<'_>], steps: &[Vec<Step>], starts: &[f64]) -> Vec<f64> {
    let start =
        |time: &f64| At { time: *time, progress: 0.0, held: VecDeque::new(), free: f64::NEG_INFINITY };
    let mut ranks: Vec<At> = starts.iter().map(start).collect();
    let over = |(meeting, steps): (&Meeting<'_>, &Vec<Step>)| {
        let mut last = f64::NEG_INFINITY;
        for ((part, _), step) in meeting.matched.of.iter().zip(steps) {
            let rank = &mut ranks[*part];
            rank.advance(step.progress);
            last = last.max(rank.time).max(rank.free);
        }
        let end = last + meeting.transfer_ns();
        for ((part, _), step) in meeting.matched.of.iter().zip(steps) {
            let rank = &mut ranks[*part];
            rank.free = end;
            rank.held.extend(step.beside.map(|beside| (rank.progress + beside, end)));
        }
        end
    };
    meetings.iter().zip(steps).map(over).collect()
}
