//! Whether the clock of the SMs stayed what it was.

use std::ops::Range;

use serde::Serialize;
use trace::{Quantity, Series};

/// A change of less is none.
const CHANGED: f64 = 0.05;
/// Of fewer samples nothing is said.
const FEWEST: usize = 20;
/// A device with less to do, in percent, may run at any clock.
const BUSY: f32 = 50.0;

/// From where to where a clock went, without the most extreme twentieth on either side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClockRange {
    pub low_mhz: f64,
    pub high_mhz: f64,
}

/// The clock in those of some samples in which the device had work; None if it is not known.
pub(crate) fn busy_clocks(series: &Series, samples: Range<usize>) -> Option<Vec<f32>> {
    let clock = series.values(Quantity::SmClock).or_else(|| series.values(Quantity::SmClockReported))?;
    let active = series.values(Quantity::GpuActive);
    let is_busy = |at: &usize| active.is_none_or(|active| active[*at] >= BUSY) && clock[*at] > 0.0;
    Some(samples.filter(is_busy).map(|at| clock[at]).collect())
}

/// None if the clock stayed the same while the device had work, or is not known.
pub(super) fn changed_clock(series: &Series, begin: i64, end: i64) -> Option<ClockRange> {
    let mut seen = busy_clocks(series, series.touching(begin, end))?;
    if seen.len() < FEWEST {
        return None;
    }
    seen.sort_by(f32::total_cmp);
    let at = |part: usize| f64::from(seen[(seen.len() - 1) * part / 20]);
    let (low_mhz, high_mhz) = (at(1), at(19));
    (high_mhz - low_mhz > CHANGED * high_mhz).then_some(ClockRange { low_mhz, high_mhz })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::SeriesSource;

    fn range(clocks: impl Iterator<Item = (f32, f32)>) -> Option<ClockRange> {
        let quantities = [Quantity::SmClock, Quantity::GpuActive];
        let mut series = Series::new(0, SeriesSource::Counters, &quantities);
        for (at, (clock, active)) in clocks.enumerate() {
            series.push(at as i64 * 10, at as i64 * 10 + 10, [clock, active]);
        }
        changed_clock(&series, 0, 1_000_000)
    }

    #[test]
    fn only_while_there_is_work() {
        assert_eq!(range((0..100).map(|at| (1980.0 - at as f32 / 10.0, 90.0))), None);
        let halved = range((0..100).map(|at| (if at < 50 { 1980.0 } else { 1410.0 }, 90.0)));
        assert_eq!(halved, Some(ClockRange { low_mhz: 1410.0, high_mhz: 1980.0 }));
        assert_eq!(range((0..100).map(|at| if at < 50 { (1980.0, 90.0) } else { (345.0, 1.0) })), None);
        assert_eq!(range((0..10).map(|at| (200.0 * at as f32, 90.0))), None);
        // A single moment is no change.
        assert_eq!(range((0..100).map(|at| (if at == 3 { 900.0 } else { 1980.0 }, 90.0))), None);
    }
}
