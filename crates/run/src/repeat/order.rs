//! How many rounds, and the order of each.

use std::time::{SystemTime, UNIX_EPOCH};

use analysis::compare::Random;

/// How many runs of each program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    Exactly(usize),
    /// Until their time is known well enough.
    Auto,
}

/// To be recorded.
pub(super) fn seed_by_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// The numbers below `count`, each once.
pub(super) fn shuffled(count: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, random.below(at + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_first_about_as_often() {
        let mut random = Random(7);
        let first = (0..1_000).filter(|_| shuffled(2, &mut random)[0] == 0).count();
        assert!((440..560).contains(&first), "{first}");
        assert_eq!(shuffled(1, &mut random), [0]);
    }
}
