//! How well samples tell the share of a place.

/// Of a normal distribution, 99 % lies within so many deviations.
const CERTAIN: f64 = 2.576;
/// Fewer iterations do not show how much they differ.
const FEWEST: usize = 8;

/// The part of the samples that are in a place, and where it lies with 99 % certainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    pub(crate) samples: u64,
    pub(crate) likely: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Share {
    /// Of groups of samples, those in the place and all: of each iteration, because the samples of one are alike.
    pub(crate) fn of(groups: &[(u64, u64)]) -> Option<Self> {
        let (inside, samples) =
            groups.iter().fold((0, 0), |(inside, all), group| (inside + group.0, all + group.1));
        if samples == 0 {
            return None;
        }
        let (all, likely) = (samples as f64, inside as f64 / samples as f64);
        let single = likely * (1.0 - likely);
        let groups: Vec<&(u64, u64)> = groups.iter().filter(|group| group.1 > 0).collect();
        let worth = match variance(&groups, likely) {
            Some(variance) if groups.len() >= FEWEST && variance > 0.0 => (single / variance).min(all),
            _ => all,
        };
        // Wilson's interval.
        let square = CERTAIN * CERTAIN / worth.max(1.0);
        let middle = (likely + square / 2.0) / (1.0 + square);
        let half = (square * single + square * square / 4.0).sqrt() / (1.0 + square);
        Some(Self { samples, likely, low: (middle - half).max(0.0), high: (middle + half).min(1.0) })
    }

    /// If besides, so large a part of all could not be seen: none of it may be in the place, or all.
    pub(crate) fn among_unseen(self, part: f64) -> Self {
        let seen = 1.0 - part;
        Self { low: self.low * seen, high: self.high * seen + part, ..self }
    }

    /// A part of it.
    pub(crate) fn times(self, part: f64) -> Self {
        Self { likely: self.likely * part, low: self.low * part, high: self.high * part, ..self }
    }
}

/// Of the share, as far as groups differ.
fn variance(groups: &[&(u64, u64)], likely: f64) -> Option<f64> {
    let all: f64 = groups.iter().map(|(_, all)| *all as f64).sum();
    let off = |(inside, all): &&(u64, u64)| (*inside as f64 - likely * *all as f64).powi(2);
    let count = groups.len() as f64;
    (groups.len() > 1).then(|| count / (count - 1.0) * groups.iter().map(off).sum::<f64>() / (all * all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Random;

    /// The truth is known: how often does it lie outside?
    #[test]
    fn the_true_share_lies_in_the_interval() {
        let mut random = Random(11);
        // Iterations, samples of each, and how much the share of single ones differs.
        for (iterations, samples, differs) in [(40, 5, 0.0), (200, 3, 0.0), (30, 20, 0.3), (300, 1, 0.0)] {
            for truth in [0.3, 0.5, 0.75] {
                let mut missed = 0;
                for _ in 0..1_000 {
                    let groups: Vec<(u64, u64)> = (0..iterations)
                        .map(|_| {
                            let here = truth + differs * (random.part() - 0.5);
                            let inside = (0..samples).filter(|_| random.part() < here).count();
                            (inside as u64, samples)
                        })
                        .collect();
                    let share = Share::of(&groups).expect("there are samples");
                    assert!(share.low <= share.likely && share.likely <= share.high);
                    missed += u32::from(!(share.low..=share.high).contains(&truth));
                }
                assert!(missed <= 30, "{missed} of 1000 for {truth} by {iterations} x {samples}");
            }
        }
    }

    #[test]
    fn what_was_not_seen_may_be_anywhere() {
        let share = Share::of(&[(400, 1000)]).expect("there are samples");
        let wider = share.among_unseen(0.25);
        assert!((wider.low - 0.75 * share.low).abs() < 1e-9);
        assert!((wider.high - (0.75 * share.high + 0.25)).abs() < 1e-9);
        assert_eq!(share.among_unseen(0.0), share);
    }

    #[test]
    fn more_samples_tell_more_and_iterations_that_differ_less() {
        let width = |groups: &[(u64, u64)]| {
            let share = Share::of(groups).expect("there are samples");
            share.high - share.low
        };
        assert!(width(&[(6, 10); 40]) < 0.6 * width(&[(6, 10); 10]));
        let mut apart = [(0, 10); 40];
        apart[..24].fill((10, 10));
        assert!(width(&apart) > 2.0 * width(&[(6, 10); 40]));
        assert_eq!(Share::of(&[(0, 0)]), None);
    }
}
