//! Who comes last, and how long the others wait for it.

use super::clock::Clock;
use super::matched::Matched;
use super::part::Part;
use crate::statistics::middle_of;

/// Of all waiting for a single rank, the part that one must cause to be called late.
const MOST_OF_IT: f64 = 0.5;
/// Of the time between the first collective and the last; less does not matter.
const MATTERS: f64 = 0.005;
/// How probable it may be that some rank comes last so often although all are alike.
const BY_CHANCE: f64 = 0.05;

/// What a rank does to the others, over all collectives.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Waits {
    pub(super) collectives: u64,
    /// Of those, to which anybody came last by more than the clocks are uncertain.
    pub(super) decided: u64,
    /// How often it was the last to come, by more than the clocks are uncertain.
    pub(super) last: u64,
    /// How long it waited for the last.
    pub(super) waited_ns: f64,
    /// By how much everybody would be faster if it came with the last of the others.
    pub(super) delays_ns: f64,
}

/// One collective, on the common clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Meeting {
    /// When the last came, and when it was over.
    pub(super) last: f64,
    pub(super) end: f64,
}

/// By part; and by collective, None if a clock is not known.
pub(super) fn waits(
    parts: &[Part],
    matched: &[Matched],
    clocks: &[Option<Clock>],
) -> (Vec<Waits>, Vec<Option<Meeting>>) {
    let mut waits = vec![Waits::default(); parts.len()];
    let meetings = matched.iter().map(|one| meet(parts, one, clocks, &mut waits)).collect();
    (waits, meetings)
}

fn meet(parts: &[Part], one: &Matched, clocks: &[Option<Clock>], waits: &mut [Waits]) -> Option<Meeting> {
    let mut came: Vec<(f64, usize)> = Vec::new();
    let mut ends: Vec<f64> = Vec::new();
    let mut bound: f64 = 0.0;
    for (part, place) in &one.of {
        let clock = clocks[*part]?;
        let done = parts[*part].collectives[*place];
        came.push((clock.common(done.begin), *part));
        ends.push(clock.common(done.end));
        bound = bound.max(clock.bound_ns);
    }
    came.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (last, latest) = *came.last()?;
    let next = came.get(came.len().checked_sub(2)?)?.0;
    for (time, part) in &came {
        let waits = &mut waits[*part];
        waits.collectives += 1;
        waits.decided += u64::from(last - next > bound);
        waits.waited_ns += last - time;
    }
    waits[latest].delays_ns += last - next;
    waits[latest].last += u64::from(last - next > bound);
    let end = middle_of(ends)?;
    Some(Meeting { last: last.min(end), end })
}

/// The place of the rank that the others wait for, if it is one.
pub(super) fn late(waits: &[Waits], span_ns: f64) -> Option<usize> {
    let all: f64 = waits.iter().map(|waits| waits.delays_ns).sum();
    let (place, worst) = waits.iter().enumerate().max_by(|a, b| a.1.delays_ns.total_cmp(&b.1.delays_ns))?;
    let matters = worst.delays_ns > MATTERS * span_ns && worst.delays_ns >= MOST_OF_IT * all;
    let ranks = waits.iter().filter(|waits| waits.collectives > 0).count();
    let chance = ranks as f64 * so_often(worst.last, worst.decided, 1.0 / ranks.max(1) as f64);
    (matters && chance < BY_CHANCE).then_some(place)
}

/// The probability that something of this probability happens so often, or more often.
fn so_often(times: u64, of: u64, probability: f64) -> f64 {
    // From the logarithm of each term, as the factors are far apart.
    let mut term = of as f64 * (1.0 - probability).ln();
    let mut sum = 0.0;
    for happened in 0..=of {
        if happened >= times {
            sum += term.exp();
        }
        let left = (of - happened) as f64;
        term += (left / (happened + 1) as f64).ln() + (probability / (1.0 - probability)).ln();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances() {
        for (times, of, probability, chance) in [
            (5, 8, 0.125, 0.001_229),
            (1, 1, 0.5, 0.5),
            (0, 3, 0.5, 1.0),
            (60, 60, 0.125, 0.0),
            (2, 2, 0.5, 0.25),
        ] {
            assert!(
                (so_often(times, of, probability) - chance).abs() < 1e-5,
                "{}",
                so_often(times, of, probability)
            );
        }
    }
}
