//! When something changed, in a long row of runs.
//!
//! The row is divided where both parts differ the most, then each part again. A place that was chosen because it looks
//! like a change does so by chance more often than a place that was named before: how often, the same runs in another
//! order tell, each divided at its own best place. How much it changed, and whether that is more than the margin, is
//! decided as for two sides of a comparison.

use super::chance::Random;
use super::decision::{Decision, FEWEST, RISK, Verdict, decide, keep_credible};

/// Orders that are tried: the least probability that can be told is one in so many.
const ORDERS: usize = 2_000;

/// The first run of a new level, by its place in the row, and the level before it against its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub at: usize,
    pub decision: Decision,
}

/// The changes in each of several rows, one number a run, in the order of time. What is only clear because many rows were
/// looked at is left out.
pub fn steps(rows: &[Vec<f64>], margin: f64) -> Vec<Vec<Step>> {
    let mut found: Vec<Vec<Step>> = rows.iter().map(|row| of_row(row, margin)).collect();
    for (row, steps) in rows.iter().zip(&mut found) {
        // The place was chosen among so many.
        let places = (row.len() + 1).saturating_sub(2 * FEWEST).max(1) as f64;
        steps.iter_mut().for_each(|step| step.decision.risk = (step.decision.risk * places).min(1.0));
    }
    // A row without a change was looked at, too.
    let without = found.iter().filter(|steps| steps.is_empty()).count();
    let mut none: Vec<Decision> = (0..without).filter_map(|_| unchanged()).collect();
    let mut all: Vec<&mut Decision> = found.iter_mut().flatten().map(|step| &mut step.decision).collect();
    all.extend(&mut none);
    keep_credible(&mut all);
    for steps in &mut found {
        steps.retain(is_clear);
    }
    found
}

/// Of which nothing can be told.
fn unchanged() -> Option<Decision> {
    Some(Decision { risk: 1.0, ..decide(&[1.0], &[1.0], 0.0)? })
}

fn is_clear(step: &Step) -> bool {
    matches!(step.decision.verdict, Verdict::Slower | Verdict::Faster)
}

fn of_row(row: &[f64], margin: f64) -> Vec<Step> {
    if row.iter().any(|value| !value.is_finite() || *value <= 0.0) {
        return Vec::new();
    }
    let logs: Vec<f64> = row.iter().map(|value| value.ln()).collect();
    let mut bounds = vec![0, row.len()];
    divide(&logs, 0, &mut bounds);
    bounds.sort_unstable();
    // A part may lie between two others that are alike; and what does not clear the margin is no change.
    loop {
        let decided: Vec<Step> = bounds
            .windows(3)
            .filter_map(|part| {
                let decision = decide(&row[part[0]..part[1]], &row[part[1]..part[2]], margin)?;
                Some(Step { at: part[1], decision })
            })
            .collect();
        let weakest = decided
            .iter()
            .filter(|step| !is_clear(step))
            .min_by(|a, b| a.decision.ratio.ln().abs().total_cmp(&b.decision.ratio.ln().abs()));
        match weakest.map(|step| step.at) {
            Some(at) => bounds.retain(|bound| *bound != at),
            None => return decided,
        }
    }
}

/// Adds the places at which this part of the row, which begins at `first`, changes.
fn divide(part: &[f64], first: usize, bounds: &mut Vec<usize>) {
    let mut left = vec![(first, part)];
    while let Some((first, part)) = left.pop() {
        let Some((at, _)) = best(part).filter(|(_, apart)| chosen_by_chance(part, *apart) <= RISK) else {
            continue;
        };
        bounds.push(first + at);
        let (before, after) = part.split_at(at);
        left.extend([(first, before), (first + at, after)]);
    }
}

/// Where both parts differ the most for their lengths, and how much. None of a row that is too short to divide.
fn best(part: &[f64]) -> Option<(usize, f64)> {
    let (count, total) = (part.len() as f64, part.iter().sum::<f64>());
    let (mut sum, mut best) = (0.0, None);
    for (at, value) in part.iter().enumerate() {
        if (FEWEST..=part.len().saturating_sub(FEWEST)).contains(&at) {
            let before = at as f64;
            let apart = (sum - total * before / count).abs() / (before * (count - before) / count).sqrt();
            if best.is_none_or(|(_, most)| apart > most) {
                best = Some((at, apart));
            }
        }
        sum += value;
    }
    best
}

/// The share of the orders of these runs whose best place is as good as this.
fn chosen_by_chance(part: &[f64], apart: f64) -> f64 {
    let mut shuffled = part.to_vec();
    let mut random = Random(0x5eed);
    // Sums in another order differ a little.
    let scale: f64 = part.iter().map(|value| value.abs()).sum();
    let least = apart - scale * 1e-12;
    let mut as_good = 1_usize;
    let enough = (RISK * ORDERS as f64) as usize;
    for _ in 1..ORDERS {
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, random.below(at + 1));
        }
        as_good += usize::from(best(&shuffled).is_some_and(|(_, apart)| apart >= least));
        if as_good > enough {
            break;
        }
    }
    as_good as f64 / ORDERS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around `level` with this much noise, as of a machine.
    fn noisy(random: &mut Random, levels: &[(usize, f64)], noise: f64) -> Vec<f64> {
        let mut row = Vec::new();
        for (count, level) in levels {
            row.extend((0..*count).map(|_| {
                let sum: f64 = (0..12).map(|_| random.part()).sum();
                level * (1.0 + noise * (sum - 6.0))
            }));
        }
        row
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        let mut random = Random(7);
        let (mut found, mut near) = (0, 0);
        for _ in 0..100 {
            let row = noisy(&mut random, &[(60, 100.0), (40, 106.0)], 0.02);
            let steps = of_row(&row, 0.01);
            found += usize::from(steps.len() == 1 && steps[0].decision.verdict == Verdict::Slower);
            near += usize::from(steps.first().is_some_and(|step| step.at.abs_diff(60) <= 2));
        }
        assert!(found >= 97 && near >= 90, "{found} found, {near} near");
    }

    #[test]
    fn one_up_and_one_down() {
        let mut random = Random(3);
        let row = noisy(&mut random, &[(30, 10.0), (30, 12.0), (30, 9.0)], 0.02);
        let steps = of_row(&row, 0.01);
        let told: Vec<(usize, Verdict)> = steps.iter().map(|step| (step.at, step.decision.verdict)).collect();
        assert_eq!(told, [(30, Verdict::Slower), (60, Verdict::Faster)]);
        let first = &steps[0].decision;
        assert!(
            first.low.is_some_and(|low| low < 1.2) && first.high.is_some_and(|high| high > 1.2),
            "{first:?}"
        );
    }

    /// The promise about false alarms, though the place is chosen.
    #[test]
    fn no_change_is_none() {
        let mut random = Random(11);
        let alarms = (0..400).filter(|_| !of_row(&noisy(&mut random, &[(80, 5.0)], 0.03), 0.0).is_empty());
        let alarms = alarms.count();
        assert!(alarms <= 8, "{alarms} of 400");
    }

    /// Nor in many rows at once; and one that changes is still found among them.
    #[test]
    fn many_rows_are_looked_at() {
        let mut random = Random(13);
        let mut rows: Vec<Vec<f64>> = (0..300).map(|_| noisy(&mut random, &[(60, 5.0)], 0.03)).collect();
        rows.push(noisy(&mut random, &[(30, 5.0), (30, 5.5)], 0.03));
        let found = steps(&rows, 0.0);
        let changed: Vec<usize> = (0..rows.len()).filter(|row| !found[*row].is_empty()).collect();
        assert!(changed.contains(&300) && changed.len() <= 2, "{changed:?}");
    }

    #[test]
    fn what_is_too_small_or_too_few_is_none() {
        let mut random = Random(5);
        assert_eq!(of_row(&noisy(&mut random, &[(50, 100.0), (50, 101.0)], 0.002), 0.02), []);
        assert_eq!(of_row(&[1.0; 200], 0.01), []);
        assert_eq!(of_row(&[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0], 0.01), []);
        assert_eq!(of_row(&[], 0.01), []);
        assert_eq!(of_row(&[1.0, f64::NAN, -1.0], 0.01), []);
        // A slow run is no change.
        let mut row = noisy(&mut random, &[(60, 10.0)], 0.01);
        row[30] = 20.0;
        assert_eq!(of_row(&row, 0.01), []);
    }
}
