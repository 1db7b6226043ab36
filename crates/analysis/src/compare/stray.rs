//! A run that took far longer, or far less long, than the others of its program.

use serde::Serialize;

/// Fewer do not show what is usual.
const FEWEST: usize = 5;
/// It is off by at least this part,
const OFF: f64 = 0.1;
/// and as many times as far from its neighbour as the others are from each other.
const APART: f64 = 2.0;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stray {
    /// Of the second program.
    pub b: bool,
    /// Counted from 1, in the order in which they ran.
    pub run: u64,
    /// How many times as long as the median of the others.
    pub ratio: f64,
}

/// Of one side, its times in the order of its runs; none of a run that has no such time.
pub(super) fn stray(times: &[Option<f64>], b: bool) -> Option<Stray> {
    let mut sorted: Vec<(f64, usize)> = times
        .iter()
        .enumerate()
        .filter_map(|(at, time)| Some((time.filter(|time| *time > 0.0)?.ln(), at)))
        .collect();
    if sorted.len() < FEWEST {
        return None;
    }
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = sorted.len() - 1;
    let [below, above] = [sorted[1].0 - sorted[0].0, sorted[last].0 - sorted[last - 1].0];
    let (lone, others, gap) = match above >= below {
        true => (sorted[last], &sorted[..last], above),
        false => (sorted[0], &sorted[1..], below),
    };
    let range = others[others.len() - 1].0 - others[0].0;
    let off = lone.0 - others[others.len() / 2].0;
    let is_stray = off.abs() > OFF.ln_1p() && gap > APART * range;
    is_stray.then(|| Stray { b, run: lone.1 as u64 + 1, ratio: off.exp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_far_from_all_others() {
        let found = |times: &[f64]| {
            let times: Vec<Option<f64>> = times.iter().copied().map(Some).collect();
            stray(&times, true).map(|stray| (stray.run, (stray.ratio * 100.0).round()))
        };
        assert_eq!(found(&[10.0, 10.1, 15.0, 10.2, 10.1]), Some((3, 149.0)));
        assert_eq!(found(&[5.0, 10.1, 10.0, 10.2, 10.1]), Some((1, 50.0)));
        // Two are a kind of their own, a wide spread has no strays, and a small difference is none.
        assert_eq!(found(&[10.0, 10.1, 15.0, 15.1, 10.1]), None);
        assert_eq!(found(&[10.0, 11.5, 13.0, 15.0, 12.0]), None);
        assert_eq!(found(&[10.0, 10.0, 10.0, 10.5, 10.0]), None);
        assert_eq!(found(&[10.0, 10.1, 15.0, 10.2]), None);
        let with_gaps = [None, Some(1.0), Some(1.0), None, Some(2.0), Some(1.0), Some(1.0)];
        assert_eq!(stray(&with_gaps, false).map(|stray| stray.run), Some(5));
    }
}
