//! Warm-up apart from the steady iterations.

/// An iteration is slow when it takes so much longer than the median of the last half.
const SLOWER: f64 = 1.1;
/// And so many times the spread of that half.
const SPREADS: f64 = 5.0;

/// Of many iterations, warm-up is over well before half of them: what goes on longer is not warm-up, but a machine that
/// became quicker, or a program that does less.
const MANY: usize = 20;
const OVER: f64 = 0.8;

/// Iterations grow if the last quarter takes so many times as long as the first, and the later one of two is mostly the
/// longer one.
const GROWTH: f64 = 1.25;
const IN_ORDER: f64 = 0.7;
const FEWEST_OF_GROWTH: usize = 20;

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

/// The medians of the first and the last quarter, if iterations take longer and longer. None if that may be chance.
pub(crate) fn growth(durations: &[i64]) -> Option<[i64; 2]> {
    if durations.len() < FEWEST_OF_GROWTH {
        return None;
    }
    let quarter = |number: usize| {
        let place = |part: usize| durations.len() * part / 4;
        median(&durations[place(number)..place(number + 1)])
    };
    let [first, second, third, last] = [quarter(0)?, quarter(1)?, quarter(2)?, quarter(3)?];
    let rises = first < second && second < third && third < last;
    let grows = rises && last as f64 >= GROWTH * first as f64 && order(durations) >= IN_ORDER;
    grows.then_some([first, last])
}

/// How well the order in which they come is that of their lengths: 1 if it is the same, 0 if there is no connection.
fn order(durations: &[i64]) -> f64 {
    let mut by_length: Vec<usize> = (0..durations.len()).collect();
    by_length.sort_by_key(|at| durations[*at]);
    let apart = |(rank, at): (usize, &usize)| (rank as f64 - *at as f64).powi(2);
    let sum: f64 = by_length.iter().enumerate().map(apart).sum();
    let count = durations.len() as f64;
    1.0 - 6.0 * sum / (count * (count * count - 1.0))
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
    fn longer_and_longer() {
        let noise = |at: i64| (at * 7919) % 13 - 6;
        let grows: Vec<i64> = (0..160).map(|at| 100 + at / 2 + noise(at)).collect();
        let [first, last] = growth(&grows).unwrap_or_default();
        assert!((105..115).contains(&first) && (165..175).contains(&last), "{first} {last}");
        // The same lengths in another order, a machine that is slow for a while, and too little to matter.
        let shuffled: Vec<i64> = (0..160).map(|at| grows[(at * 77) % 160]).collect();
        assert_eq!(growth(&shuffled), None);
        let slow: Vec<i64> =
            (0..160).map(|at| if (120..150).contains(&at) { 160 } else { 100 } + noise(at)).collect();
        assert_eq!(growth(&slow), None);
        assert_eq!(growth(&(0..160).map(|at| 100 + at / 10).collect::<Vec<_>>()), None);
        assert_eq!(growth(&[1, 2, 3, 4]), None);
    }

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
