//! Warm-up apart from the steady iterations.

/// An iteration is slow when it takes so much longer than the median of the last half.
const SLOWER: f64 = 1.1;
/// And so many times the spread of that half.
const SPREADS: f64 = 5.0;

/// Of many iterations, warm-up is over well before half of them: what goes on longer is not warm-up, but a machine that
/// became quicker, or a program that does less.
const MANY: usize = 20;
const OVER: f64 = 0.8;

/// How many iterations at the beginning are slower than the steady ones: those before the first that is not.
/// At least half of all are steady.
pub(crate) fn warm_up(durations: &[i64]) -> usize {
    let (first, last) = durations.split_at(durations.len() / 2);
    // What takes longer even than a slow first half is warm-up as well.
    before_steady(durations, last).or_else(|| before_steady(durations, first)).unwrap_or(0)
}

/// By what is usual in some of them. None if it is not over in time.
fn before_steady(durations: &[i64], some: &[i64]) -> Option<usize> {
    let usual = median(some)?;
    let spread =
        median(&some.iter().map(|duration| (duration - usual).abs()).collect::<Vec<_>>()).unwrap_or(0);
    let slow = (usual as f64 * SLOWER).max(usual as f64 + SPREADS * spread as f64);
    let most = durations.len() / 2;
    // One that is quick by chance, between slow ones, is warm-up as well.
    let last = durations[..most].iter().rposition(|duration| *duration as f64 > slow);
    let slow_so_far =
        |end: usize| durations[..end].iter().filter(|duration| **duration as f64 > slow).count();
    let is_over = |end: &usize| durations.len() < MANY || (*end as f64) < OVER * most as f64;
    let mostly_slow = last.map(|last| last + 1).filter(|end| slow_so_far(*end) * 2 > *end);
    let all_slow = durations[..most].iter().take_while(|duration| **duration as f64 > slow).count();
    mostly_slow.filter(is_over).or(Some(all_slow).filter(is_over))
}

pub(crate) fn median(values: &[i64]) -> Option<i64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones() {
        assert_eq!(warm_up(&[270, 40, 39, 40, 41, 40]), 1);
        assert_eq!(warm_up(&[270, 90, 39, 60, 41, 40, 40, 40, 40, 40]), 4);
        assert_eq!(warm_up(&[40, 40, 40, 40]), 0);
        // It grows, and one in the middle is slow.
        assert_eq!(warm_up(&[40, 41, 42, 90, 43, 44, 45, 46, 47, 48]), 0);
        assert_eq!(warm_up(&[]), 0);
        // The machine is busy with something else for the first half of the time.
        let noisy: Vec<i64> = (0..128).map(|at| if at < 63 { 60 + at % 3 } else { 40 + at % 2 }).collect();
        assert_eq!(warm_up(&noisy), 0);
        let compiled: Vec<i64> = [30_000].into_iter().chain(noisy.iter().copied()).collect();
        assert_eq!(warm_up(&compiled), 1);
        let tuned: Vec<i64> = (0..128).map(|at| if at < 40 { 60 + at % 3 } else { 40 + at % 2 }).collect();
        assert_eq!(warm_up(&tuned), 40);
    }
}
