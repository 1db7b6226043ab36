//! How many rounds, and the order of each.

use std::time::{SystemTime, UNIX_EPOCH};

/// How many runs of each program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    Exactly(usize),
    /// Until their time is known well enough.
    Auto,
}

/// Numbers by chance, from a seed that is recorded (splitmix64).
#[derive(Debug)]
pub(super) struct Draw {
    seed: u64,
    state: u64,
}

impl Draw {
    pub(super) fn by_clock() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::new(since.as_nanos() as u64)
    }

    fn new(seed: u64) -> Self {
        Self { seed, state: seed }
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}

/// The numbers below `count`, each once.
pub(super) fn shuffled(count: usize, draw: &mut Draw) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, draw.below(at + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_first_about_as_often() {
        let mut draw = Draw::new(7);
        let first = (0..1_000).filter(|_| shuffled(2, &mut draw)[0] == 0).count();
        assert!((440..560).contains(&first), "{first}");
        assert_eq!(shuffled(1, &mut draw), [0]);
    }
}
