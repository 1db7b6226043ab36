//! CUPTI's time → the host's.

/// Pairs of nanoseconds since 1970 and of `CLOCK_MONOTONIC`.
#[derive(Debug, Default)]
pub(super) struct EpochClock {
    pairs: Vec<(i64, i64)>,
}

impl EpochClock {
    pub(super) fn add(&mut self, epoch: i64, monotonic: i64) {
        self.pairs.push((epoch, monotonic));
    }

    pub(super) fn sort(&mut self) {
        self.pairs.sort_unstable();
    }

    /// Evenly between two pairs; beyond them, as far off as the nearest.
    pub(super) fn monotonic(&self, epoch: i64) -> Option<i64> {
        let next = self.pairs.partition_point(|(at, _)| *at <= epoch);
        let off = |(at, monotonic): (i64, i64)| epoch.saturating_sub(at).saturating_add(monotonic);
        match (next.checked_sub(1).map(|before| self.pairs[before]), self.pairs.get(next)) {
            (Some(before), Some(after)) => {
                let share = (epoch - before.0) as f64 / after.0.saturating_sub(before.0).max(1) as f64;
                let passed = (after.1.saturating_sub(before.1) as f64 * share).round() as i64;
                Some(before.1.saturating_add(passed))
            }
            (Some(before), None) => Some(off(before)),
            (None, after) => after.map(|after| off(*after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_pairs_time_goes_evenly() {
        let mut clock = EpochClock::default();
        assert_eq!(clock.monotonic(5), None);
        clock.add(2_000, 210);
        clock.add(1_000, 100);
        clock.sort();
        assert_eq!(clock.monotonic(1_000), Some(100));
        assert_eq!(clock.monotonic(1_500), Some(155));
        assert_eq!(clock.monotonic(900), Some(0));
        assert_eq!(clock.monotonic(2_010), Some(220));
    }
}
