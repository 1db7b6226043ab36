//! What sampling cost the program: its iterations with it, and in the pauses without it.

use serde::Serialize;

use crate::loop_::Loop;

/// Of fewer pauses with iterations in them nothing is said.
const FEWEST_PAUSES: usize = 5;
/// In all of them together.
const FEWEST_ITERATIONS: f64 = 5.0;
/// Iterations that differ more from the others around a pause have another reason.
const ODD: f64 = 0.3;
/// Starting and stopping takes a moment, which is neither.
const EDGE_NS: i64 = 5_000_000;

/// How many times as long an iteration takes with sampling as without, with 95 % certainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SamplingCost {
    pub factor: f64,
    pub low: f64,
    pub high: f64,
    /// In which iterations, or parts of them, ran.
    pub pauses: u64,
}

/// An iteration.
struct Iteration {
    /// The logarithm of its time.
    log: f64,
    /// The part of it that was in pauses.
    paused: f64,
    /// The pause that it is nearest to. A loop may get slower with time: only those around the same one are compared.
    around: usize,
}

/// None if there were too few pauses in the steady iterations to tell.
pub(super) fn sampling_cost(pauses: &[(i64, i64)], main: &Loop) -> Option<SamplingCost> {
    let begins = &main.steady.on_device;
    let ends = begins.iter().skip(1).copied().chain([main.steady.end]);
    let spans: Vec<(i64, i64)> =
        begins.iter().copied().zip(ends).filter(|(begin, end)| begin < end).collect();
    slope(&iterations(pauses, &spans))
}

fn iterations(pauses: &[(i64, i64)], spans: &[(i64, i64)]) -> Vec<Iteration> {
    let middles: Vec<i64> = pauses.windows(2).map(|pair| pair[0].1 + (pair[1].0 - pair[0].1) / 2).collect();
    let mut found = Vec::new();
    for (begin, end) in spans {
        let first = pauses.partition_point(|pause| pause.1 + EDGE_NS < *begin);
        let touched = pauses[first..].iter().take_while(|pause| pause.0 - EDGE_NS < *end);
        let (mut paused, mut edge) = (0, false);
        for pause in touched {
            paused += (pause.1.min(*end) - pause.0.max(*begin)).max(0);
            let has = |moment: i64| (begin - EDGE_NS..end + EDGE_NS).contains(&moment);
            // Short iterations at an edge are of neither kind; long ones are of both.
            edge |= (has(pause.0) || has(pause.1)) && end - begin < 4 * EDGE_NS;
        }
        let around = middles.partition_point(|middle| middle <= begin);
        let length = (end - begin) as f64;
        if !edge {
            found.push(Iteration { log: length.ln(), paused: paused as f64 / length, around });
        }
    }
    found
}

/// A line through all of them: how much longer they are with sampling. Iterations around a pause are alike, so that the
/// error is that of pauses.
fn slope(iterations: &[Iteration]) -> Option<SamplingCost> {
    // By pause: how far off their means iterations and their paused parts are.
    let groups: Vec<Vec<(f64, f64)>> =
        iterations.chunk_by(|one, next| one.around == next.around).filter_map(centered).collect();
    let all = || groups.iter().flatten();
    let spread: f64 = all().map(|(paused, _)| paused * paused).sum();
    if groups.len() < FEWEST_PAUSES || spread < FEWEST_ITERATIONS / 2.0 {
        return None;
    }
    let slope = all().map(|(paused, off)| paused * off).sum::<f64>() / spread;
    let part = |group: &Vec<(f64, f64)>| {
        group.iter().map(|(paused, off)| paused * (off - slope * paused)).sum::<f64>().powi(2)
    };
    let count = groups.len() as f64;
    let error = (groups.iter().map(part).sum::<f64>() * count / (count - 1.0)).sqrt() / spread;
    // Student's, by a simple bound.
    let wide = 1.96 + 2.6 / (count - 1.0);
    let factor = |slope: f64| (-slope).exp();
    Some(SamplingCost {
        factor: factor(slope),
        low: factor(slope + wide * error),
        high: factor(slope - wide * error),
        pauses: groups.len() as u64,
    })
}

/// None of a pause that no iteration lies in.
fn centered(group: &[Iteration]) -> Option<Vec<(f64, f64)>> {
    let usual = median(&group.iter().map(|one| one.log).collect::<Vec<_>>());
    let kept: Vec<&Iteration> = group.iter().filter(|one| (one.log - usual).abs() <= ODD).collect();
    let count = kept.len() as f64;
    let mean = |value: &dyn Fn(&Iteration) -> f64| kept.iter().map(|one| value(one)).sum::<f64>() / count;
    let (log, paused) = (mean(&|one| one.log), mean(&|one| one.paused));
    (paused > 0.0).then(|| kept.iter().map(|one| (one.paused - paused, one.log - log)).collect())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Iterations of about `length`, `cost` times as long while sampled, with noise, for `seconds`; pauses of 100 ms.
    fn made(length: f64, cost: f64, noise: f64, seconds: i64, seed: u64) -> Option<SamplingCost> {
        let pauses: Vec<(i64, i64)> =
            (0..seconds / 2).map(|at| (at * 2000 * MS + 1900 * MS, at * 2000 * MS + 2000 * MS)).collect();
        let mut state = seed;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as f64 / u64::MAX as f64
        };
        let (mut at, mut spans) = (0, Vec::new());
        while at < seconds * 1000 * MS {
            // The sum of some is nearly normal.
            let normal: f64 = (0..12).map(|_| random()).sum::<f64>() - 6.0;
            let mut left = length * (noise * normal).exp();
            let begin = at;
            while left > 0.0 {
                let rests = pauses.iter().find(|pause| (pause.0..pause.1).contains(&at));
                let speed = if rests.is_some() { 1.0 } else { 1.0 / cost };
                let next = pauses.iter().flat_map(|pause| [pause.0, pause.1]).find(|edge| *edge > at);
                let room = next.map_or(f64::MAX, |next| (next - at) as f64 * speed);
                let step = left.min(room);
                at += (step / speed).ceil() as i64;
                left -= step;
            }
            spans.push((begin, at));
        }
        slope(&iterations(&pauses, &spans))
    }

    #[test]
    fn a_cost_that_was_planted_is_found() {
        for (length, cost) in [(3e6, 1.05), (3e6, 1.0), (30e6, 1.05), (30e6, 1.2), (150e6, 1.1)] {
            let found = made(length, cost, 0.02, 120, 88_172_645_463_325_252).unwrap();
            assert!((found.factor - cost).abs() < 0.03, "{length} {cost} {found:?}");
            assert!(found.low <= cost && cost <= found.high, "{length} {cost} {found:?}");
            assert!(found.high - found.low < 0.12, "{length} {cost} {found:?}");
        }
    }

    /// The interval holds what is true about as often as it says.
    #[test]
    fn intervals_hold_the_truth() {
        let held = (1..=200u64).filter(|seed| {
            let found = made(10e6, 1.02, 0.03, 40, seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)).unwrap();
            found.low <= 1.02 && 1.02 <= found.high
        });
        let held = held.count();
        assert!(held >= 184, "{held} of 200");
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(made(3e6, 1.05, 0.02, 6, 7), None);
        assert_eq!(slope(&[]), None);
    }
}
