//! How probable a difference is by chance alone: if it made none which of the two a process belongs to, any other way
//! to divide all processes would show as large a difference as often as not. This holds for any noise, also for a
//! machine that has two speeds.

/// If there are more ways to divide them, some are drawn.
const MOST_WAYS: u64 = 20_000;

/// The share of the ways to divide all values into two groups of these sizes whose means differ at least as much.
pub(super) fn by_chance(a: &[f64], b: &[f64]) -> f64 {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let total: f64 = all.iter().sum();
    let count = all.len() as f64;
    let off = |sum: f64| (sum - total * a.len() as f64 / count).abs();
    // Sums in another order differ a little.
    let scale: f64 = all.iter().map(|value| value.abs()).sum();
    let least = off(a.iter().sum()) - scale * 1e-12;
    match ways(all.len(), a.len()) {
        Some(ways) => {
            let mut as_far = 0u64;
            each_choice(&all, a.len(), |sum| as_far += u64::from(off(sum) >= least));
            as_far as f64 / ways as f64
        }
        None => {
            let mut random = Random(0x5eed);
            let mut shuffled = all;
            let mut as_far = 1u64;
            for _ in 1..MOST_WAYS {
                for at in 0..a.len() {
                    let other = at + random.below(shuffled.len() - at);
                    shuffled.swap(at, other);
                }
                as_far += u64::from(off(shuffled[..a.len()].iter().sum()) >= least);
            }
            as_far as f64 / MOST_WAYS as f64
        }
    }
}

/// None if there are too many.
fn ways(all: usize, some: usize) -> Option<u64> {
    let mut ways = 1u64;
    for at in 0..some as u64 {
        ways = ways * (all as u64 - at) / (at + 1);
        if ways > MOST_WAYS {
            return None;
        }
    }
    Some(ways)
}

/// The sum of every choice of `some` of all values.
fn each_choice(all: &[f64], some: usize, mut see: impl FnMut(f64)) {
    fn choose(all: &[f64], some: usize, sum: f64, see: &mut impl FnMut(f64)) {
        if some == 0 {
            return see(sum);
        }
        for at in 0..=all.len() - some {
            choose(&all[at + 1..], some - 1, sum + all[at], see);
        }
    }
    choose(all, some, 0.0, &mut see);
}

/// The same numbers for the same seed, so that the same runs have the same verdict (splitmix64).
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit.max(1) as u64) as usize
    }

    /// From 0 to 1.
    #[cfg(test)]
    pub(crate) fn part(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_are_counted() {
        // Of 20 ways to take three of six, only this one and its opposite differ as much.
        assert!((by_chance(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0]) - 0.1).abs() < 1e-12);
        assert!((by_chance(&[1.0, 1.0], &[1.0, 1.0]) - 1.0).abs() < 1e-12);
        assert_eq!((ways(6, 3), ways(10, 5), ways(30, 15)), (Some(20), Some(252), None));
    }

    /// What is drawn agrees with what is counted.
    #[test]
    fn what_is_drawn_is_about_right() {
        let values: Vec<f64> = (0..20).map(|at| f64::from((at * 37) % 101)).collect();
        let (a, b) = values.split_at(10);
        let drawn = by_chance(a, b);
        let total: f64 = values.iter().sum();
        let least = (a.iter().sum::<f64>() - total / 2.0).abs() - 1e-9;
        let (mut as_far, mut ways) = (0u32, 0u32);
        each_choice(&values, 10, |sum| {
            ways += 1;
            as_far += u32::from((sum - total / 2.0).abs() >= least);
        });
        let counted = f64::from(as_far) / f64::from(ways);
        assert_eq!(ways, 184_756);
        assert!((drawn - counted).abs() < 0.015, "{drawn}, {counted}");
    }
}
