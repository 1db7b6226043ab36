//! Numbers about many durations.

use serde::{Serialize, Serializer};

/// In nanoseconds, which documents round to whole ones. `share` is of the total of the table the row stands in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Statistics {
    pub calls: u64,
    pub total_ns: i64,
    #[serde(serialize_with = "rounded")]
    pub mean_ns: f64,
    #[serde(serialize_with = "rounded")]
    pub median_ns: f64,
    pub min_ns: i64,
    pub max_ns: i64,
    /// Of a sample: divided by one less than there are. Zero for a single one.
    #[serde(serialize_with = "rounded")]
    pub std_ns: f64,
    pub share: f64,
}

/// Documents have whole nanoseconds.
pub(crate) fn rounded<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(value.round() as i64)
}

impl Statistics {
    /// None when there are none. The order of `durations` is lost.
    pub fn of(durations: &mut [i64]) -> Option<Self> {
        let (min, max) = (*durations.iter().min()?, *durations.iter().max()?);
        let count = durations.len();
        let total = durations.iter().fold(0i64, |sum, duration| sum.saturating_add(*duration));
        let mean = total as f64 / count as f64;
        let std = deviation(durations);
        Some(Self {
            calls: count as u64,
            total_ns: total,
            mean_ns: mean,
            median_ns: median(durations),
            min_ns: min,
            max_ns: max,
            std_ns: std,
            share: 0.0,
        })
    }
}

/// From whole numbers, so that the order of the durations makes no difference.
fn deviation(durations: &[i64]) -> f64 {
    let count = durations.len() as i128;
    let sum: i128 = durations.iter().map(|duration| i128::from(*duration)).sum();
    // Within what 128 bits hold for as many durations as fit into memory, if none is
    // longer than a century; else it is no duration.
    let squares: Option<i128> = durations.iter().try_fold(0i128, |squares, duration| {
        squares.checked_add(i128::from(*duration).checked_mul(i128::from(*duration))?)
    });
    let spread = squares.and_then(|squares| squares.checked_mul(count)?.checked_sub(sum.checked_mul(sum)?));
    match spread {
        Some(spread) if count > 1 => (spread as f64 / (count * (count - 1)) as f64).sqrt(),
        _ => 0.0,
    }
}

/// Between the two in the middle if the number is even.
fn median(durations: &mut [i64]) -> f64 {
    let (middle, is_even) = (durations.len() / 2, durations.len().is_multiple_of(2));
    let (below, upper, _) = durations.select_nth_unstable(middle);
    let upper = *upper as f64;
    match below.iter().max() {
        Some(lower) if is_even => (*lower as f64 + upper) / 2.0,
        _ => upper,
    }
}

/// The same of any numbers; None when there are none.
pub(crate) fn middle_of(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let lower = if values.len().is_multiple_of(2) { middle.checked_sub(1)? } else { middle };
    Some((values[lower] + values[middle]) / 2.0)
}

/// The smallest value that at least this share, in percent, of all does not exceed; None when there are none.
pub(crate) fn percentile(sorted: &[i64], share: usize) -> Option<i64> {
    sorted.get((sorted.len() * share).div_ceil(100).max(1) - 1).copied()
}

/// Gives each row its share of all.
pub(crate) fn share<T>(rows: &mut [T], statistics: impl Fn(&mut T) -> &mut Statistics) {
    let total: f64 = rows.iter_mut().map(|row| statistics(row).total_ns as f64).sum();
    for row in rows {
        let row = statistics(row);
        row.share = if total > 0.0 { row.total_ns as f64 / total } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_few() {
        let statistics = Statistics::of(&mut [4, 1, 3, 2]).unwrap();
        assert_eq!((statistics.total_ns, statistics.median_ns), (10, 2.5));
        assert_eq!((statistics.min_ns, statistics.max_ns), (1, 4));
        assert!((statistics.std_ns - 1.290_994).abs() < 1e-6);
        let one = Statistics::of(&mut [7]).unwrap();
        assert_eq!((one.median_ns, one.std_ns), (7.0, 0.0));
        assert!(Statistics::of(&mut []).is_none());
    }
}
