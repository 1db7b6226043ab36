//! One clock for all ranks.
//!
//! Nobody leaves a collective before everybody has come, and all leave it at about the same time. So the ends of one
//! collective on two ranks differ by the difference of their clocks, and by what the network makes of it. Over many
//! collectives that gives the difference of the clocks, how it grows, and how well both are known.

use std::collections::BTreeMap;

use super::matched::Matched;
use super::part::Part;
use crate::statistics::middle_of;

/// Fewer collectives than this say nothing about how a difference grows.
const ENOUGH_FOR_DRIFT: usize = 16;
/// Nor do collectives that lie closer together.
const LONG_ENOUGH_NS: i64 = 500_000_000;
/// The drift of no clock; a result beyond it comes from something else.
const MOST_DRIFT: f64 = 500e-6;

/// From the clock of a rank to the common one, which is that of the first rank and counts from one of its collectives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Clock {
    /// A time on this clock, and the same on the common one.
    at: i64,
    common_at: f64,
    /// What the common clock counts from.
    base: i64,
    /// By how much it gains on the common one, in each unit of time.
    pub(super) drift: f64,
    /// How far the ends of collectives lie from that, 95 of 100 of them.
    pub(super) bound_ns: f64,
}

impl Clock {
    pub(super) fn common(&self, time: i64) -> f64 {
        self.common_at + time.saturating_sub(self.at) as f64 * (1.0 - self.drift)
    }

    /// By how much it is ahead of the first rank's, in the middle of what was recorded.
    pub(super) fn offset_ns(&self) -> i64 {
        self.at.saturating_sub(self.base).saturating_sub(self.common_at.round() as i64)
    }
}

/// From the times of a trace to the common clock, for one rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommonClock {
    pub rank: u32,
    clock: Clock,
    moved_by: i64,
}

impl CommonClock {
    pub(super) fn of(part: &Part, clock: Clock) -> Self {
        Self { rank: part.rank, clock, moved_by: part.moved_by }
    }

    /// Counts from one of the collectives of the first rank.
    pub fn common(&self, time: i64) -> i64 {
        self.clock.common(time.saturating_sub(self.moved_by)).round() as i64
    }
}

/// By part; None for those that share no collective with others.
pub(super) fn clocks(parts: &[Part], matched: &[Matched]) -> Vec<Option<Clock>> {
    let mut clocks: Vec<Option<Clock>> = vec![None; parts.len()];
    let Some(first) = matched.iter().flat_map(|one| one.of.iter().map(|(part, _)| *part)).min() else {
        return clocks;
    };
    // By part, the collectives that say something about its clock.
    let joint = matched.iter().any(|one| one.function.is_joint());
    let mut usable: Vec<Vec<&Matched>> = vec![Vec::new(); parts.len()];
    for one in matched.iter().filter(|one| one.function.is_joint() || !joint) {
        one.of.iter().for_each(|(part, _)| usable[*part].push(one));
    }
    let base = parts[first].collectives.first().map_or(0, |one| one.end);
    clocks[first] = Some(Clock { at: base, common_at: 0.0, base, drift: 0.0, bound_ns: 0.0 });
    let mut reached = vec![first];
    while let Some(known) = reached.pop() {
        let Some(reference) = clocks[known] else { continue };
        let mut pairs: BTreeMap<usize, Vec<(i64, f64)>> = BTreeMap::new();
        for one in &usable[known] {
            let Some(place) = one.on(known) else { continue };
            let common = reference.common(parts[known].collectives[place].end);
            for (other, place) in one.of.iter().filter(|(other, _)| clocks[*other].is_none()) {
                pairs.entry(*other).or_default().push((parts[*other].collectives[*place].end, common));
            }
        }
        for (other, mut pairs) in pairs {
            pairs.sort_by_key(|(theirs, _)| *theirs);
            if let Some(clock) = fit(&pairs, base) {
                let bound_ns = clock.bound_ns.hypot(reference.bound_ns);
                clocks[other] = Some(Clock { bound_ns, ..clock });
                reached.push(other);
            }
        }
    }
    clocks
}

/// From times by a clock, and by the common one.
fn fit(pairs: &[(i64, f64)], base: i64) -> Option<Clock> {
    let (first, last) = (pairs.first()?.0, pairs.last()?.0);
    let at = first.saturating_add(last.saturating_sub(first) / 2);
    let since = |time: i64| time.saturating_sub(at) as f64;
    let differences: Vec<f64> = pairs.iter().map(|(theirs, common)| common - since(*theirs)).collect();
    let mut drift = 0.0;
    if pairs.len() >= ENOUGH_FOR_DRIFT && last.saturating_sub(first) >= LONG_ENOUGH_NS {
        // Each with one half of the recording later: the median of those slopes is not moved by a few collectives that
        // ended oddly.
        let half = pairs.len() / 2;
        let slopes = (0..pairs.len() - half).filter_map(|from| {
            let passed = since(pairs[from + half].0) - since(pairs[from].0);
            (passed > 0.0).then(|| (differences[from] - differences[from + half]) / passed)
        });
        drift = middle_of(slopes.collect()).filter(|slope| slope.abs() <= MOST_DRIFT).unwrap_or(0.0);
    }
    let straight: Vec<f64> =
        pairs.iter().zip(&differences).map(|((theirs, _), common)| common + drift * since(*theirs)).collect();
    let common_at = middle_of(straight.clone())?;
    let mut away: Vec<f64> = straight.iter().map(|common| (common - common_at).abs()).collect();
    away.sort_by(f64::total_cmp);
    // Of few, the furthest is not far enough.
    let few = 1.0 + 2.0 / away.len() as f64;
    let bound_ns = away[(away.len() * 95).div_ceil(100).clamp(1, away.len()) - 1] * few;
    Some(Clock { at, common_at, base, drift, bound_ns: bound_ns.max(1.0) })
}
