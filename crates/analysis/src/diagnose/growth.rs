//! Which place of the program's own code grows, if iterations take longer and longer.

use std::ops::Range;

use trace::Trace;

use crate::time::{OwnPlace, WORTH_A_WORD};

/// Fewer samples of a quarter of the iterations do not show it.
const FEWEST: u64 = 15;
/// A place that so much of the growth of iterations is in is what grows,
const MOST: f64 = 0.5;
/// if it grows so many times as fast as everything else.
const FASTER: f64 = 1.25;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Growth {
    /// Which of the places it is.
    pub(crate) at: usize,
    /// Of an iteration: in the first quarter of them, and in the last.
    pub(crate) ns: [f64; 2],
}

impl Growth {
    /// `places` are of samples that all lie in `iterations`, the largest place first.
    pub(super) fn of(trace: &Trace, iterations: &[Range<i64>], places: &[OwnPlace]) -> Option<Self> {
        let quarter = iterations.len() / 4;
        let (early, late) = (&iterations[..quarter], &iterations[iterations.len() - quarter..]);
        let (ends, begins) = (early.last()?.end, late.first()?.start);
        let counts: Vec<[u64; 2]> = places
            .iter()
            .map(|place| {
                let at = || place.rows.iter().map(|row| trace.stacks.samples.at[*row]);
                [at().filter(|at| *at < ends).count() as u64, at().filter(|at| *at >= begins).count() as u64]
            })
            .collect();
        let all = [0, 1].map(|side| counts.iter().map(|count| count[side]).sum::<u64>());
        let length = |part: &[Range<i64>]| {
            let sum: f64 = part.iter().map(|one| one.end.saturating_sub(one.start) as f64).sum();
            sum / quarter as f64
        };
        let whole = [length(early), length(late)];
        let told = places.iter().take_while(|place| place.line.share >= WORTH_A_WORD).count();
        let found = (0..told).find_map(|at| {
            let ns = [0, 1].map(|side| counts[at][side] as f64 / all[side] as f64 * whole[side]);
            let rest = [whole[0] - ns[0], whole[1] - ns[1]];
            let is_most = ns[1] > ns[0] && ns[1] - ns[0] >= MOST * (whole[1] - whole[0]);
            let is_faster = ns[1] * rest[0] >= FASTER * rest[1] * ns[0];
            (is_most && is_faster).then_some(Self { at, ns })
        });
        found.filter(|_| all.iter().all(|count| *count >= FEWEST))
    }
}
