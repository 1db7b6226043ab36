//! Who comes last, and how long the others wait for it.

use super::clock::Clock;
use super::matched::Matched;
use super::part::Part;
use crate::statistics::middle_of;

/// Of all waiting for a single rank, the part that one must cause to be called late.
const MOST_OF_IT: f64 = 0.5;
/// Of the time between the first collective and the last; less does not matter.
pub(super) const MATTERS: f64 = 0.005;
/// How probable it may be that some rank comes last so often although all are alike.
const BY_CHANCE: f64 = 0.05;
/// If more than this part of the collectives could not have been as they seem, they are not the same ones.
const IMPOSSIBLE: f64 = 0.05;

/// What a rank does to the others, over all collectives.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Waits {
    pub(super) collectives: u64,
    /// Of those, to which anybody came last by more than the clocks are uncertain.
    pub(super) decided: u64,
    /// How often it would be the last of those if all were alike.
    expected: f64,
    /// How often it was.
    pub(super) last: u64,
    /// How long it waited for the last.
    pub(super) waited_ns: f64,
    /// How long the others waited for it alone.
    pub(super) delays_ns: f64,
}

/// One collective, on the common clock.
#[derive(Debug, Clone)]
pub(super) struct Meeting<'m> {
    /// Its place among all that were matched.
    pub(super) number: usize,
    pub(super) matched: &'m Matched,
    /// When each of its ranks came, in their order.
    pub(super) came: Vec<f64>,
    /// When the last came, and when it was over.
    pub(super) last: f64,
    pub(super) end: f64,
    bound_ns: f64,
}

impl Meeting<'_> {
    pub(super) fn transfer_ns(&self) -> f64 {
        (self.end - self.last).max(0.0)
    }
}

/// In the order of their ends. None if they could not have happened as they seem: nobody leaves before all have come.
pub(super) fn meetings<'m>(
    parts: &[Part],
    matched: &'m [Matched],
    clocks: &[Option<Clock>],
) -> Option<Vec<Meeting<'m>>> {
    let (mut all, mut joint, mut impossible) = (Vec::new(), 0, 0);
    for (number, one) in matched.iter().enumerate() {
        let Some((meeting, ends)) = meet(parts, number, one, clocks) else { continue };
        let first_out = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let last_out = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_possible = meeting.last <= first_out + meeting.bound_ns;
        // What may be between any two ranks has to show that all were in it.
        let is_joint = one.function.is_joint();
        joint += usize::from(is_joint);
        impossible += usize::from(is_joint && !is_possible);
        if is_possible && (is_joint || last_out - first_out <= 4.0 * meeting.bound_ns) {
            all.push(meeting);
        }
    }
    if impossible as f64 > IMPOSSIBLE * joint as f64 {
        return None;
    }
    all.sort_by(|a, b| a.end.total_cmp(&b.end));
    Some(all)
}

fn meet<'m>(
    parts: &[Part],
    number: usize,
    one: &'m Matched,
    clocks: &[Option<Clock>],
) -> Option<(Meeting<'m>, Vec<f64>)> {
    let (mut came, mut ends) = (Vec::with_capacity(one.of.len()), Vec::with_capacity(one.of.len()));
    let mut bound_ns: f64 = 0.0;
    for (part, place) in &one.of {
        let clock = clocks[*part]?;
        let done = parts[*part].collectives[*place];
        came.push(clock.common(done.begin));
        ends.push(clock.common(done.end));
        bound_ns = bound_ns.max(clock.bound_ns);
    }
    let last = came.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let end = middle_of(ends.clone())?;
    Some((Meeting { number, matched: one, came, last: last.min(end), end, bound_ns }, ends))
}

/// By part. The first collective is left out: when a recording begins says nothing about the program.
pub(super) fn waits(parts: usize, meetings: &[Meeting<'_>]) -> Vec<Waits> {
    let mut waits = vec![Waits::default(); parts];
    for meeting in meetings.iter().skip(1) {
        let mut came: Vec<(f64, usize)> =
            meeting.came.iter().zip(&meeting.matched.of).map(|(time, (part, _))| (*time, *part)).collect();
        came.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [.., (next, _), (last, latest)] = came[..] else { continue };
        let is_decided = last - next > meeting.bound_ns;
        for (time, part) in &came {
            let waits = &mut waits[*part];
            waits.collectives += 1;
            waits.waited_ns += last - time;
            if is_decided {
                waits.decided += 1;
                waits.expected += 1.0 / came.len() as f64;
            }
        }
        if is_decided {
            waits[latest].last += 1;
            waits[latest].delays_ns += last - next;
        }
    }
    waits
}

/// The place of the rank that the others wait for, if it is one.
pub(super) fn late(waits: &[Waits], span_ns: f64) -> Option<usize> {
    let all: f64 = waits.iter().map(|waits| waits.delays_ns).sum();
    let (place, worst) = waits.iter().enumerate().max_by(|a, b| a.1.delays_ns.total_cmp(&b.1.delays_ns))?;
    let matters = worst.delays_ns > MATTERS * span_ns && worst.delays_ns >= MOST_OF_IT * all;
    let ranks = waits.iter().filter(|waits| waits.collectives > 0).count();
    let usual = worst.expected / worst.decided.max(1) as f64;
    let chance = ranks as f64 * so_often(worst.last, worst.decided, usual);
    (matters && chance < BY_CHANCE).then_some(place)
}

/// The probability that something of this probability happens so often, or more often.
fn so_often(times: u64, of: u64, probability: f64) -> f64 {
    if !(0.0..1.0).contains(&probability) || probability == 0.0 {
        return 1.0;
    }
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
