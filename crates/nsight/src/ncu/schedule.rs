//! Whether the replays are as fast as predicted, judged by the first ones.

/// Progress is checked after this fraction of the allowed time, not at once: the first replays take longer
/// than the others.
const PART: f64 = 0.25;
const SOONEST_S: f64 = 10.0;
/// No later than this fraction: the rest must be worth a second start.
const LATEST: f64 = 0.5;
/// Being slightly late is no reason to start again.
const MARGIN: f64 = 1.3;

/// The launches of an invocation, in program order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schedule(Vec<Due>);

/// Seconds, all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Due {
    /// When the program makes it, counted from the first, without replays.
    made: f64,
    /// How long the replays before it take.
    before: f64,
    replays: f64,
}

impl Due {
    fn begun(&self, slowness: f64) -> f64 {
        self.made + self.before * slowness
    }
}

/// This many launches must have started by then, or all of them together take more than the allowed time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Milestone {
    /// After the first one started.
    pub after_s: f64,
    pub begun: u64,
}

impl Schedule {
    /// `launches`: when the program makes each, and what its replays take.
    pub(super) fn of(launches: impl Iterator<Item = (f64, f64)>) -> Self {
        let (mut first, mut before) = (None, 0.0);
        let due = launches.map(|(made, replays)| {
            let due = Due { made: made - *first.get_or_insert(made), before, replays };
            before += replays;
            due
        });
        Self(due.collect())
    }

    /// None if too few are planned, or in too little time, to tell anything before it is over.
    pub fn milestone(&self, allowed_s: f64) -> Option<Milestone> {
        let last = self.0.last()?;
        let fitting = (allowed_s - last.made) / (last.before + last.replays);
        let slowest = fitting.max(1.0) * MARGIN;
        let after_s = (allowed_s * PART).max(SOONEST_S);
        let begun = self.0.iter().filter(|due| due.begun(slowest) <= after_s).count() as u64;
        // The first one tells nothing: the clock starts with it.
        (after_s <= allowed_s * LATEST && begun > 1).then_some(Milestone { after_s, begun })
    }

    /// How many times as long as predicted the replays take, from how many launches have started and
    /// finished after how long.
    pub fn slowness(&self, begun: u64, done: u64, after_s: f64) -> f64 {
        let due = |number: u64| self.0.get(number as usize).or(self.0.last());
        let (Some(latest), Some(next)) = (due(begun.saturating_sub(1)), due(done)) else { return 1.0 };
        // The progress of the current one is unknown.
        let replayed = next.before + if done < begun { next.replays / 2.0 } else { 0.0 };
        if replayed > 0.0 { ((after_s - latest.made) / replayed).max(1.0) } else { 1.0 }
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
    fn what_must_be_begun_by_when() {
        // In 60 s they may be 2.9 times as slow, and the margin: 3.8 s each.
        assert_eq!(twenty().milestone(60.0), Some(Milestone { after_s: 15.0, begun: 4 }));
        assert_eq!(twenty().milestone(21.9), Some(Milestone { after_s: 10.0, begun: 8 }));
        // Too short to begin again, and too few.
        let three = Schedule::of((0..3).map(|launch| (f64::from(launch), 10.0)));
        assert_eq!((twenty().milestone(19.0), three.milestone(60.0)), (None, None));
        assert_eq!(Schedule::default().milestone(60.0), None);
    }

    /// What the program does between its launches is no slowness of ncu.
    #[test]
    fn a_pause_of_the_program() {
        let made = |launch: u32| if launch < 5 { 0.0 } else { 25.0 };
        let schedule = Schedule::of((0..20).map(|launch| (made(launch), 0.78)));
        assert_eq!(schedule.milestone(94.0), Some(Milestone { after_s: 23.5, begun: 5 }));
        assert!((schedule.slowness(6, 5, 25.0 + 4.0) - 4.0 / (4.5 * 0.78)).abs() < 0.3);
    }

    #[test]
    fn how_slow_it_is() {
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}");
        near(twenty().slowness(3, 3, 9.2), 3.0);
        near(twenty().slowness(4, 3, 10.8), 3.0);
        near(twenty().slowness(1, 0, 15.0), 30.0);
        near(twenty().slowness(20, 20, 1.0), 1.0);
        near(Schedule::default().slowness(3, 2, 9.6), 1.0);
    }
}
