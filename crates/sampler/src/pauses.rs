//! Sampling rests for a part of the time, so that its cost shows: iterations of the program with it and without it. By
//! the clock alone, so that all samplers rest together without having to talk to each other.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// From one pause to the next.
const PERIOD_NS: u64 = 2_000_000_000;
/// More cannot be rested: then there would be no samples to speak of.
const MOST: f64 = 0.5;

/// The part of the time in which nothing is sampled; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pauses(f64);

impl Pauses {
    /// `part`: 0 for none.
    pub fn of(part: f64) -> Self {
        Self(if part.is_finite() { part.clamp(0.0, MOST) } else { 0.0 })
    }

    fn length_ns(self) -> u64 {
        (PERIOD_NS as f64 * Self::of(self.0).0) as u64
    }

    /// At this moment of the monotonic clock.
    pub(crate) fn rests(self, monotonic: u64) -> bool {
        monotonic % PERIOD_NS >= PERIOD_NS - self.length_ns()
    }

    /// Until that changes.
    pub(crate) fn next(self, monotonic: u64) -> Duration {
        let (at, begins) = (monotonic % PERIOD_NS, PERIOD_NS - self.length_ns());
        Duration::from_nanos(if at < begins { begins - at } else { PERIOD_NS - at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_time() {
        let none = Pauses::default();
        let some = Pauses::of(0.05);
        let moments = (0..4000).map(|at| at * 1_000_000);
        assert_eq!(moments.clone().filter(|at| none.rests(*at)).count(), 0);
        assert_eq!(moments.clone().filter(|at| some.rests(*at)).count(), 200);
        for at in moments {
            let next = some.next(at).as_nanos() as u64;
            assert_ne!(some.rests(at), some.rests(at + next), "{at} {next}");
            assert_eq!(some.rests(at), some.rests(at + next - 1), "{at} {next}");
        }
        assert_eq!((Pauses::of(7.0), Pauses::of(f64::NAN)), (Pauses::of(0.5), none));
    }
}
