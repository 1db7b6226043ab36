//! Values over time, as they are drawn: in stretches in which one sample follows another.

use std::ops::Range;

use trace::{Quantity, Series, SeriesSource};

/// The stretches of rows in which every sample has a number and none is missing.
pub(crate) fn unbroken<'s>(series: &'s Series, values: &'s [f32]) -> impl Iterator<Item = Range<usize>> + 's {
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = (next..values.len()).find(|row| values[*row].is_finite())?;
        let follows = |row: &usize| values[*row].is_finite() && !breaks_before(series, *row);
        let end = (first + 1..values.len()).find(|row| !follows(row)).unwrap_or(values.len());
        next = end;
        Some(first..end)
    })
}

/// Whether something is missing between a sample and the one before it. Samplers are not punctual: only a gap
/// that another two samples would have fitted into is one.
fn breaks_before(series: &Series, row: usize) -> bool {
    let (from, to) = (series.end[row - 1], series.begin[row]);
    let long = series.interval_ns.max(series.end[row - 1].saturating_sub(series.begin[row - 1]));
    let next_lost = series.lost.partition_point(|(_, end)| *end <= from);
    let lost = series.lost.get(next_lost).is_some_and(|(begin, _)| *begin < to);
    lost || (long > 0 && to.saturating_sub(from) > long.saturating_mul(2))
}

/// How long a value holds: until the next sample of its stretch begins, or until the sample ends.
pub(crate) fn holds_until(series: &Series, stretch: &Range<usize>, row: usize) -> i64 {
    if row + 1 < stretch.end { series.begin[row + 1] } else { series.end[row] }
}

/// A title that no other quantity of the same device has.
pub(crate) fn title(all: &[Series], of: &Series, quantity: Quantity) -> String {
    let same = |series: &&Series| series.device == of.device && series.values(quantity).is_some();
    if all.iter().filter(same).count() < 2 {
        return quantity.title().to_owned();
    }
    let source = match of.source {
        SeriesSource::Counters => "counters",
        SeriesSource::Nvml => "NVML",
        SeriesSource::Nsys => "nsys",
        SeriesSource::Kineto => "PyTorch profiler",
    };
    format!("{}, {source}", quantity.title())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_end_where_samples_are_missing() {
        let mut series = Series::new(0, SeriesSource::Counters, &[Quantity::SmActive]);
        series.interval_ns = 10;
        for (begin, value) in
            [(0, 1.0), (10, 2.0), (25, 3.0), (60, 4.0), (70, f32::NAN), (80, 5.0), (90, 6.0), (102, 7.0)]
        {
            series.push(begin, begin + 10, [value]);
        }
        series.lost.push((100, 102));
        let values = series.values(Quantity::SmActive).unwrap_or_default();
        let stretches: Vec<_> = unbroken(&series, values).collect();
        assert_eq!(stretches, [0..3, 3..4, 5..7, 7..8]);
        assert_eq!([0, 1, 2].map(|row| holds_until(&series, &stretches[0], row)), [10, 25, 35]);
    }

    #[test]
    fn samples_of_a_moment_hold_until_the_next() {
        let mut series = Series::new(0, SeriesSource::Nvml, &[Quantity::Power]);
        series.interval_ns = 100;
        [0, 101, 205, 900].iter().for_each(|at| series.push(*at, *at, [300.0]));
        let stretches: Vec<_> =
            unbroken(&series, series.values(Quantity::Power).unwrap_or_default()).collect();
        assert_eq!(stretches, [0..3, 3..4]);
        assert_eq!(holds_until(&series, &stretches[0], 1), 205);
    }
}
