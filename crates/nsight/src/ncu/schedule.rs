//! Whether the replays are as fast as was foreseen, told by the first of them.

/// A look at how far it is comes after this part of the time that is allowed, and not at once:
/// the first replays take longer than the others.
const PART: f64 = 0.25;
const SOONEST_S: f64 = 10.0;
/// No later than this part: what is left must be worth a second start.
const LATEST: f64 = 0.5;
/// To be a little late is no reason to begin again.
const MARGIN: f64 = 1.3;

/// When each launch of an invocation is to be done, in seconds after the first one was begun.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schedule(Vec<f64>);

/// So many launches must be done by then, or all of them take more than the time that is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Milestone {
    pub after_s: f64,
    pub launches: u64,
}

impl Schedule {
    /// `launches`: when the program makes each, and what its replays take.
    pub(super) fn of(launches: impl Iterator<Item = (f64, f64)>) -> Self {
        let (mut first, mut replays) = (None, 0.0);
        let done = launches.map(|(made_s, replays_s)| {
            replays += replays_s;
            made_s - *first.get_or_insert(made_s) + replays
        });
        Self(done.collect())
    }

    /// None where so few are planned, or in so little time, that nothing can be told before it is over.
    pub fn milestone(&self, allowed_s: f64) -> Option<Milestone> {
        let after_s = (allowed_s * PART).max(SOONEST_S);
        let slowest = allowed_s / self.0.last()? * MARGIN;
        let launches = self.0.iter().filter(|due| **due * slowest <= after_s).count() as u64;
        (after_s <= allowed_s * LATEST && launches > 0).then_some(Milestone { after_s, launches })
    }

    /// How many times as long as foreseen it takes, if so many are done after so long.
    pub fn slowness(&self, done: u64, after_s: f64) -> f64 {
        let last = self.0.get((done as usize).saturating_sub(1)).or(self.0.last());
        last.map_or(1.0, |due| after_s / due).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty launches, a second of replays each, and the program makes ten a second.
    fn twenty() -> Schedule {
        Schedule::of((0..20).map(|launch| (5.0 + f64::from(launch) * 0.1, 1.0)))
    }

    #[test]
    fn what_must_be_done_by_when() {
        // All are due after 21.9 s; in 60 s of time they may be 2.7 times as slow, and the margin.
        let milestone = twenty().milestone(60.0).unwrap();
        assert_eq!(milestone, Milestone { after_s: 15.0, launches: 3 });
        assert_eq!(twenty().milestone(21.9).unwrap(), Milestone { after_s: 10.0, launches: 7 });
        // Too short to begin again, and too few.
        let three = Schedule::of((0..3).map(|launch| (f64::from(launch), 1.0)));
        assert_eq!((twenty().milestone(19.0), three.milestone(60.0)), (None, None));
        assert_eq!(Schedule::default().milestone(60.0), None);
    }

    #[test]
    fn how_slow_it_is() {
        assert!((twenty().slowness(3, 9.6) - 3.0).abs() < 1e-9);
        assert!((twenty().slowness(0, 15.0) - 15.0).abs() < 1e-9);
        assert!((twenty().slowness(20, 1.0) - 1.0).abs() < 1e-9, "not faster than foreseen");
        assert!((Schedule::default().slowness(3, 9.6) - 1.0).abs() < 1e-9);
    }
}
