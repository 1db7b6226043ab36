//! Whether processes are of two kinds, quick ones and slow ones.

use serde::Serialize;

use super::moments::{mean, variance};

/// The kinds are as many of their own spreads apart.
const SPREADS: f64 = 6.0;
/// And at least so much.
const APART: f64 = 0.02;
/// Of each kind.
const FEWEST: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Modes {
    pub quick: u64,
    pub slow: u64,
    /// How many times as long the slow ones take.
    pub ratio: f64,
}

/// From logarithms.
pub(super) fn modes(logs: &[f64]) -> Option<Modes> {
    let mut sorted = logs.to_vec();
    sorted.sort_by(f64::total_cmp);
    let splits = FEWEST..=sorted.len().checked_sub(FEWEST)?;
    let gap = |at: &usize| sorted[*at] - sorted[at - 1];
    let split = splits.max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (quick, slow) = sorted.split_at(split);
    let apart = mean(slow) - mean(quick);
    let within =
        (quick.len() as f64 * variance(quick) + slow.len() as f64 * variance(slow)) / sorted.len() as f64;
    let are_two = apart > APART.ln_1p() && apart > SPREADS * within.sqrt();
    are_two.then(|| Modes { quick: quick.len() as u64, slow: slow.len() as u64, ratio: apart.exp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_kinds_or_one() {
        let found = modes(&[0.0, 0.001, 0.002, 0.1, 0.101]).unwrap();
        assert_eq!((found.quick, found.slow), (3, 2));
        assert!((found.ratio - 1.104).abs() < 0.001, "{found:?}");
        assert_eq!(modes(&[0.0, 0.01, 0.02, 0.03, 0.04, 0.05]), None);
        // One that is off is no kind.
        assert_eq!(modes(&[0.0, 0.001, 0.002, 0.003, 0.2]), None);
        assert_eq!(modes(&[0.0, 0.1]), None);
        assert_eq!(modes(&[]), None);
    }
}
