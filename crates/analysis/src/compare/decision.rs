//! Whether something takes longer than before, and how sure that is.
//!
//! The unit is the process: what repeats within one process shares its luck with memory, clocks and neighbours. Each
//! process gives one number, its logarithm is taken, and the means of both sides are compared by Welch's interval. A
//! verdict needs two things. The interval must clear a margin, so that differences too small to matter are none. And the
//! difference must be rare among all ways to divide the same processes into two groups, which keeps the promise about
//! false alarms for any noise.

use serde::Serialize;

use super::chance::by_chance;
use super::modes::{Modes, modes};
use super::moments::{mean, variance};
use super::student::{exceeded, probability};

/// How often a verdict may be wrong if nothing changed.
pub(super) const RISK: f64 = 0.01;
/// With fewer processes a side, chance alone divides them into slow and quick ones more often than that.
pub const FEWEST: usize = 5;
/// Processes a side that `auto` takes at least: with fewer, what is only a little slower than the margin is missed.
pub const FEWEST_OF_AUTO: usize = 7;
/// Of a large change, this part of it is precise enough: that something is five times as fast is worth no hour.
const PART_OF_CHANGE: f64 = 0.1;
/// More than this is not worth suggesting.
const MOST_SUGGESTED: f64 = 1_000.0;

/// What became of a time, or of anything else of which less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Faster,
    Slower,
    /// Within the margin.
    Same,
    Undecided,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Undecided => "undecided",
        }
    }
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "why")]
pub enum Doubt {
    /// Of one side there are fewer processes than it takes.
    TooFew,
    /// The interval is too wide; about so many processes a side would do, if that is a number worth trying.
    TooNoisy { enough: Option<u64> },
    /// The processes of a side are of two kinds.
    TwoModes { b: bool, modes: Modes, enough: Option<u64> },
}

/// Both sides, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    pub verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// Processes of each side.
    pub processes: [u64; 2],
    /// The geometric means.
    pub values: [f64; 2],
    /// How many times as much as before.
    pub ratio: f64,
    /// With 99 % certainty; none of single processes.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The probability of such an interval if the difference were no more than the margin.
    #[serde(skip)]
    pub(super) risk: f64,
}

impl Decision {
    /// The same about the inverse of what was compared: the verdict stays.
    pub(super) fn inverted(self) -> Self {
        Self {
            values: self.values.map(|value| 1.0 / value),
            ratio: 1.0 / self.ratio,
            low: self.high.map(|high| 1.0 / high),
            high: self.low.map(|low| 1.0 / low),
            ..self
        }
    }
}

/// The differences of the logarithms' means.
struct Welch {
    difference: f64,
    error: f64,
    freedom: f64,
}

impl Welch {
    /// None of single ones.
    fn of(a: &[f64], b: &[f64]) -> Option<Self> {
        if a.len() < 2 || b.len() < 2 {
            return None;
        }
        let (va, vb) = (variance(a) / a.len() as f64, variance(b) / b.len() as f64);
        let all = va + vb;
        let freedom = all * all / (va * va / (a.len() - 1) as f64 + vb * vb / (b.len() - 1) as f64);
        let fewest = (a.len().min(b.len()) - 1) as f64;
        let freedom = if freedom.is_finite() { freedom } else { fewest };
        Some(Self { difference: mean(b) - mean(a), error: all.sqrt(), freedom })
    }

    fn half_width(&self) -> f64 {
        exceeded(RISK / 2.0, self.freedom) * self.error
    }

    /// That a difference of at most the margin looks like this.
    fn risk(&self, margin: f64) -> f64 {
        let beyond = self.difference.abs() - margin;
        match () {
            () if beyond <= 0.0 => 1.0,
            () if self.error <= 0.0 => 0.0,
            () => 2.0 * probability(-beyond / self.error, self.freedom),
        }
    }
}

/// Compares the numbers of two sides, one a process, all greater than zero. `margin` is the part that does not matter.
/// None if a side has none.
pub fn decide(a: &[f64], b: &[f64], margin: f64) -> Option<Decision> {
    let logs = |values: &[f64]| -> Option<Vec<f64>> {
        let usable = values.iter().all(|value| value.is_finite() && *value > 0.0);
        (usable && !values.is_empty()).then(|| values.iter().map(|value| value.ln()).collect())
    };
    let (a, b) = (logs(a)?, logs(b)?);
    let margin = margin.max(0.0).ln_1p();
    let difference = mean(&b) - mean(&a);
    let welch = Welch::of(&a, &b);
    let half = welch.as_ref().map(Welch::half_width);
    let mut decision = Decision {
        verdict: Verdict::Undecided,
        doubt: None,
        processes: [a.len() as u64, b.len() as u64],
        values: [mean(&a).exp(), mean(&b).exp()],
        ratio: difference.exp(),
        low: half.map(|half| (difference - half).exp()),
        high: half.map(|half| (difference + half).exp()),
        risk: welch.as_ref().map_or(1.0, |welch| welch.risk(margin)),
    };
    let Some((welch, half)) = welch.zip(half).filter(|_| a.len().min(b.len()) >= FEWEST) else {
        decision.doubt = Some(Doubt::TooFew);
        return Some(decision);
    };
    let is_clear = difference.abs() - half > margin && by_chance(&a, &b) <= RISK;
    decision.verdict = match () {
        () if is_clear && difference > 0.0 => Verdict::Slower,
        () if is_clear => Verdict::Faster,
        () if difference.abs() + half <= margin => Verdict::Same,
        () => Verdict::Undecided,
    };
    if decision.verdict == Verdict::Undecided {
        decision.doubt = Some(doubt(&a, &b, &welch, margin));
    }
    Some(decision)
}

fn doubt(a: &[f64], b: &[f64], welch: &Welch, margin: f64) -> Doubt {
    let enough = enough(a, b, welch, margin);
    match (modes(a), modes(b)) {
        (Some(modes), _) => Doubt::TwoModes { b: false, modes, enough },
        (None, Some(modes)) => Doubt::TwoModes { b: true, modes, enough },
        (None, None) => Doubt::TooNoisy { enough },
    }
}

/// How many processes a side would decide, if the means and the spread stay as they are.
fn enough(a: &[f64], b: &[f64], welch: &Welch, margin: f64) -> Option<u64> {
    let wanted = (welch.difference.abs() - margin).abs();
    let spread = variance(a) + variance(b);
    let needed = |t: f64| t * t * spread / (wanted * wanted);
    let rough = needed(2.6).max(FEWEST as f64);
    let t = exceeded(RISK / 2.0, (2.0 * rough - 2.0).max(1.0));
    let now = a.len().min(b.len()) as f64;
    // The same number as now is no advice: the spread is not known that well.
    let count = needed(t).ceil().max(now + 2.0);
    (count <= MOST_SUGGESTED).then_some(count as u64)
}

/// How far off the mean of all processes may be, as a part of it: with 99 % certainty. None of fewer than it takes.
pub fn precision(values: &[f64]) -> Option<f64> {
    if values.len() < FEWEST || values.iter().any(|value| !value.is_finite() || *value <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let freedom = (logs.len() - 1) as f64;
    Some((exceeded(RISK / 2.0, freedom) * (variance(&logs) / logs.len() as f64).sqrt()).exp_m1())
}

/// What the times are known well enough by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precise {
    /// Each to the wanted part of itself.
    Each,
    /// To a tenth of what is between them, which is more than that.
    ToChange,
}

/// Whether `auto` ends: the mean of each side is known to the `wanted` part of itself, or of two sides to a tenth of what is
/// between them.
pub fn precise(sides: &[&[f64]], wanted: f64) -> Option<Precise> {
    let log_mean = |side: &[f64]| mean(&side.iter().map(|value| value.ln()).collect::<Vec<_>>());
    let change = match sides {
        [a, b] => (log_mean(a) - log_mean(b)).abs(),
        _ => 0.0,
    };
    let is_known = |wanted: f64| {
        let is_known = |side: &&[f64]| precision(side).is_some_and(|part| part <= wanted);
        sides.iter().all(|side| side.len() >= FEWEST_OF_AUTO && is_known(side))
    };
    match () {
        () if is_known(wanted) => Some(Precise::Each),
        () if is_known(PART_OF_CHANGE * change) => Some(Precise::ToChange),
        () => None,
    }
}

/// Keeps only those verdicts that many tests at once allow (Benjamini and Hochberg): of those that stay, at most one in
/// a hundred is wrong.
pub(super) fn keep_credible(decisions: &mut [&mut Decision]) {
    let mut order: Vec<usize> = (0..decisions.len()).collect();
    order.sort_by(|a, b| decisions[*a].risk.total_cmp(&decisions[*b].risk));
    let all = order.len() as f64;
    let is_below = |(place, at): &(usize, &usize)| decisions[**at].risk <= RISK * (*place + 1) as f64 / all;
    let kept = order.iter().enumerate().filter(is_below).map(|(place, _)| place + 1).max().unwrap_or(0);
    for at in &order[kept..] {
        let decision = &mut *decisions[*at];
        if matches!(decision.verdict, Verdict::Faster | Verdict::Slower) {
            decision.verdict = Verdict::Undecided;
            decision.doubt = Some(Doubt::TooNoisy { enough: None });
        }
    }
}
