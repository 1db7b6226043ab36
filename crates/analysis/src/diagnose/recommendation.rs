//! A piece of advice: what to change, how much it could gain at most, and the numbers behind it.

use serde::Serialize;

use super::whole::{Time, Whole};

/// Advice about a smaller share of the time is not shown.
pub(super) const WORTH_A_WORD: f64 = 0.03;

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// What is wrong, with its number: `the GPU is busy 14 % of decode; …`.
    pub title: String,
    /// What to do about it.
    pub advice: String,
    /// What it is based on, a line each.
    pub evidence: Vec<String>,
    /// The part of the time that is at stake, 0 to 1.
    pub share: f64,
    /// The time that `share` is a share of.
    pub of: Whole,
    pub at_stake_ns: i64,
    /// The speedup of that time if all that is at stake went away.
    pub gain: f64,
    pub region: Option<String>,
    pub kernel: Option<String>,
}

impl Recommendation {
    /// Amdahl's law: what is not at stake stays.
    pub(super) fn new(
        title: String,
        advice: &str,
        evidence: Vec<String>,
        at_stake_ns: f64,
        whole: Time,
    ) -> Self {
        let share = (at_stake_ns / whole.ns).clamp(0.0, 0.999);
        Self {
            title,
            advice: advice.to_owned(),
            evidence,
            share,
            of: whole.of,
            at_stake_ns: at_stake_ns as i64,
            gain: 1.0 / (1.0 - share),
            region: None,
            kernel: None,
        }
    }

    #[must_use]
    pub(super) fn in_region(mut self, region: Option<&str>) -> Self {
        self.region = region.map(str::to_owned);
        self
    }

    #[must_use]
    pub(super) fn of_kernel(mut self, kernel: &str) -> Self {
        self.kernel = Some(kernel.to_owned());
        self
    }
}

pub(super) fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", share * 100.0) } else { format!("{:.0} %", share * 100.0) }
}
