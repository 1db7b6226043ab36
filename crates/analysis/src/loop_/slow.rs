//! Iterations that take much longer than usual: something else happens in them, a checkpoint or an evaluation.

use serde::Serialize;

use super::steady::median;

/// An iteration that takes longer than this many usual ones has something else in it.
const USUAL: i64 = 2;
/// Fewer of them do not show that they come again and again,
const FEWEST_AGAIN: usize = 3;
/// and one that takes so many times as long as they do is something else.
const ALIKE: f64 = 1.5;

/// The slow ones of the steady iterations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SlowIterations {
    pub iterations: u64,
    /// All of them together, and its part of the time of all steady iterations.
    pub time_ns: i64,
    pub share: f64,
    pub p50_ns: i64,
}

impl SlowIterations {
    /// None if there is none.
    pub(super) fn of(durations: &[i64]) -> Option<Self> {
        let usual = median(durations)?;
        let slow: Vec<i64> = durations.iter().copied().filter(|one| is_slow(*one, usual)).collect();
        let sum = |some: &[i64]| some.iter().fold(0i64, |sum, one| sum.saturating_add(*one));
        let time_ns = sum(&slow);
        let share = time_ns as f64 / sum(durations).max(1) as f64;
        median(&slow).map(|p50_ns| Self { iterations: slow.len() as u64, time_ns, share, p50_ns })
    }
}

/// Whether an iteration takes much longer than a usual one.
pub(crate) fn is_slow(duration: i64, usual: i64) -> bool {
    duration > usual.saturating_mul(USUAL)
}

/// How many of the first iterations are warm-up, of those that look like it: what comes again and again happens in the first
/// iteration as well, and is no warm-up.
pub(super) fn only_at_first(durations: &[i64], warm_up: usize) -> usize {
    let (first, steady) = durations.split_at(warm_up);
    let Some(usual) = median(steady) else { return warm_up };
    let slow: Vec<i64> = steady.iter().copied().filter(|one| is_slow(*one, usual)).collect();
    let in_a_row =
        steady.chunk_by(|a, b| is_slow(*a, usual) == is_slow(*b, usual)).filter(|row| is_slow(row[0], usual));
    let longest = in_a_row.map(<[i64]>::len).max().unwrap_or(0);
    let Some(again) = median(&slow).filter(|_| slow.len() >= FEWEST_AGAIN && longest >= warm_up) else {
        return warm_up;
    };
    let is_one_of_them = |one: &i64| is_slow(*one, usual) && *one as f64 <= ALIKE * again as f64;
    if first.iter().all(is_one_of_them) { 0 } else { warm_up }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_and_how_much() {
        let mut durations = vec![10; 90];
        durations.extend([200; 10]);
        let slow = SlowIterations::of(&durations);
        let expected =
            SlowIterations { iterations: 10, time_ns: 2_000, share: 2_000.0 / 2_900.0, p50_ns: 200 };
        assert_eq!(slow, Some(expected));
        assert_eq!(SlowIterations::of(&[10, 11, 12, 19, 20]), None);
        assert_eq!(SlowIterations::of(&[]), None);
    }

    #[test]
    fn what_comes_again_is_no_warm_up() {
        // Every tenth iteration, beginning with the first.
        let every_tenth: Vec<i64> = (0..60).map(|at| if at % 10 == 0 { 200 + at } else { 10 }).collect();
        assert_eq!(only_at_first(&every_tenth, 1), 0);
        // A first one that takes far longer than those, and a single one later.
        let compiled: Vec<i64> = [900].into_iter().chain(every_tenth[1..].iter().copied()).collect();
        assert_eq!(only_at_first(&compiled, 1), 1);
        let once: Vec<i64> = (0..60).map(|at| if at % 50 == 0 { 200 } else { 10 }).collect();
        assert_eq!(only_at_first(&once, 1), 1);
        // Several slow ones in a row, which never come like that again.
        let row: Vec<i64> = (0..60).map(|at| if at < 4 || at % 10 == 0 { 200 } else { 10 }).collect();
        assert_eq!(only_at_first(&row, 4), 4);
        assert_eq!(only_at_first(&[10, 10], 0), 0);
    }
}
