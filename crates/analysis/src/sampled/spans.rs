//! A stretch of time: means of shares and levels, sums of amounts, with what was idle in it.

use trace::{Measure, Quantity, Series};

use super::values::{Estimate, Values};

/// Less of the stretch covered by samples, and nothing is told. Sampling may rest for half of the time.
const FEWEST_COVERED: f64 = 0.3;

/// What was measured from `begin` to `end`.
pub(super) fn over(series: &Series, begin: i64, end: i64) -> Option<Values> {
    let touching = series.touching(begin, end);
    let inside = |at: usize| series.end[at].min(end) - series.begin[at].max(begin);
    let covered: i64 = touching.clone().map(inside).sum();
    if (covered as f64) < FEWEST_COVERED * (end - begin) as f64 || covered <= 0 {
        return None;
    }
    let value = |(quantity, values): &(Quantity, Vec<f32>)| {
        let (mut sum, mut time) = (0.0, 0.0);
        for at in touching.clone().filter(|at| values[*at].is_finite()) {
            let length = (series.end[at] - series.begin[at]).max(1) as f64;
            let part = inside(at).max(0) as f64;
            let value = f64::from(values[at]);
            match quantity.measure() {
                Measure::Share | Measure::Level => sum += value * part,
                Measure::Amount => sum += value * part / length,
                Measure::Flags => return None,
            }
            time += part;
        }
        let mean = match quantity.measure() {
            Measure::Share | Measure::Level => sum / time,
            // As much again in what was not sampled.
            _ => sum * (end - begin) as f64 / time,
        };
        (time > 0.0).then_some((*quantity, Estimate { mean, plus_minus: None }))
    };
    Some(Values(series.columns.iter().filter_map(value).collect()))
}
