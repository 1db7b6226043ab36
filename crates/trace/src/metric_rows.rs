//! Metrics that come one value at a time, in any order → a series for each device.

use std::collections::BTreeMap;

use crate::model::{Quantity, Series, SeriesSource};

/// A column of a future series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Metric {
    /// As the file counts devices.
    pub(crate) device: i64,
    pub(crate) quantity: Quantity,
}

/// What the time of a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stamp {
    Begin,
    End,
}

/// Values with their times → a series for each device, with the number that the file gives it.
pub(crate) fn series(
    mut rows: Vec<(i64, Metric, f32)>,
    source: SeriesSource,
    stamp: Stamp,
) -> Vec<(i64, Series)> {
    rows.sort_unstable_by_key(|(time, metric, _)| (metric.device, *time, metric.quantity));
    let mut quantities: BTreeMap<i64, Vec<Quantity>> = BTreeMap::new();
    for (_, metric, _) in &rows {
        let known = quantities.entry(metric.device).or_default();
        if let Err(place) = known.binary_search(&metric.quantity) {
            known.insert(place, metric.quantity);
        }
    }
    let of_device = |(device, quantities): (i64, Vec<Quantity>)| {
        let begin = rows.partition_point(|(_, metric, _)| metric.device < device);
        let end = rows.partition_point(|(_, metric, _)| metric.device <= device);
        let mut series = Series::new(0, source, &quantities);
        fill(&mut series, &rows[begin..end], stamp);
        (device, series)
    };
    quantities.into_iter().map(of_device).collect()
}

/// Values of one time are one sample. It reaches to its neighbor, unless that is further away than usual.
fn fill(series: &mut Series, rows: &[(i64, Metric, f32)], stamp: Stamp) {
    let samples: Vec<&[(i64, Metric, f32)]> = rows.chunk_by(|one, next| one.0 == next.0).collect();
    let time = |sample: &[(i64, Metric, f32)]| sample[0].0;
    let usual = usual_step(samples.windows(2).map(|two| time(two[1]).saturating_sub(time(two[0]))));
    series.interval_ns = usual;
    let quantities: Vec<Quantity> = series.columns.iter().map(|(quantity, _)| *quantity).collect();
    for (at, sample) in samples.iter().enumerate() {
        let neighbor = match stamp {
            Stamp::Begin => samples.get(at + 1),
            Stamp::End => at.checked_sub(1).map(|before| &samples[before]),
        };
        let away = neighbor.map(|neighbor| time(neighbor).saturating_sub(time(sample)).saturating_abs());
        let long = away.filter(|away| *away <= usual.saturating_mul(2)).unwrap_or(usual);
        let (begin, end) = match stamp {
            Stamp::Begin => (time(sample), time(sample).saturating_add(long)),
            Stamp::End => (time(sample).saturating_sub(long), time(sample)),
        };
        let value = |quantity: &Quantity| {
            let found = sample.iter().find(|(_, metric, _)| metric.quantity == *quantity);
            found.map_or(f32::NAN, |(_, _, value)| *value)
        };
        series.push(begin, end, quantities.iter().map(value));
    }
}

/// The median; 0 of none.
fn usual_step(steps: impl Iterator<Item = i64>) -> i64 {
    let mut steps: Vec<i64> = steps.collect();
    let middle = steps.len() / 2;
    if steps.is_empty() { 0 } else { *steps.select_nth_unstable(middle).1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_time_are_one_sample() {
        let metric = |device, quantity| Metric { device, quantity };
        let (active, clock) = (Quantity::SmActive, Quantity::SmClock);
        // Not in order, one value missing, and a gap.
        let rows = vec![
            (300, metric(0, active), 30.0),
            (100, metric(0, active), 10.0),
            (100, metric(1, active), 50.0),
            (200, metric(0, clock), 1_980.0),
            (200, metric(0, active), 20.0),
            (100, metric(0, clock), 1_755.0),
            (900, metric(0, active), 90.0),
        ];
        let all = series(rows.clone(), SeriesSource::Nsys, Stamp::End);
        assert_eq!(all.iter().map(|(device, _)| *device).collect::<Vec<_>>(), [0, 1]);
        let first = &all[0].1;
        assert_eq!((first.interval_ns, first.source), (100, SeriesSource::Nsys));
        assert_eq!(
            (first.begin.clone(), first.end.clone()),
            (vec![0, 100, 200, 800], vec![100, 200, 300, 900])
        );
        assert_eq!(first.values(active), Some([10.0, 20.0, 30.0, 90.0].as_slice()));
        let clocks = first.values(clock).unwrap_or_default();
        assert_eq!((&clocks[..2], clocks[2].is_nan()), ([1_755.0, 1_980.0].as_slice(), true));
        assert_eq!((all[1].1.len(), all[1].1.interval_ns), (1, 0));
        let first = &series(rows, SeriesSource::Kineto, Stamp::Begin)[0].1;
        assert_eq!(
            (first.begin.clone(), first.end.clone()),
            (vec![100, 200, 300, 900], vec![200, 300, 400, 1_000])
        );
    }
}
