//! What to change, and what that could bring at most: every advice with its numbers.

use counters::Report;
use nvtx::Kind;
use serde::Serialize;

use super::{from_counters, from_timeline};
use crate::attribute::is_library;
use crate::findings::Findings;
use crate::kernels::Joined;

/// What is less of the run's time than this is not worth a word.
pub(super) const WORTH_A_WORD: f64 = 0.03;
/// Ranges that hold less of the work than this are not what the program is about.
const MUCH_OF_THE_WORK: f64 = 0.3;
/// More advice than anybody follows.
const MOST: usize = 12;

/// One advice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// What is wrong, with its number: `decode waits for the host 71 % of its time`.
    pub title: String,
    /// What to do about it.
    pub advice: String,
    /// What it is based on, a line each.
    pub evidence: Vec<String>,
    /// The part of the time that is at stake, 0 to 1.
    pub share: f64,
    /// Of which time that is a part.
    pub of: Whole,
    pub at_stake_ns: i64,
    /// How many times as fast that time could pass if all of it went away.
    pub gain: f64,
    pub region: Option<String>,
    pub kernel: Option<String>,
}

/// What a part is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Whole {
    /// From the first to the last work of the devices.
    Run,
    /// The part of that in which any range is open or has work going on, where they hold much of the work.
    Ranges,
}

impl Whole {
    /// `8 % of the run`
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "the run",
            Self::Ranges => "the time in ranges",
        }
    }
}

/// A whole and how long it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    pub(super) of: Whole,
    pub(super) ns: f64,
}

impl Time {
    pub(super) fn of_run(findings: &Findings) -> Self {
        let devices = findings.idle.iter().filter(|row| row.region.is_none());
        let ns = devices.map(|row| row.busy_ns.saturating_add(row.idle_ns)).sum::<i64>();
        Self { of: Whole::Run, ns: ns.max(1) as f64 }
    }

    /// Of the ranges where they hold much of the work: what is outside, as start-up and warm-up, says little about it.
    pub(super) fn that_matters(findings: &Findings) -> Self {
        let all = findings.kernel_ns();
        let inside: i64 =
            findings.idle.iter().filter_map(|row| row.in_ranges_ns).fold(0, i64::saturating_add);
        let attributed = in_own_ranges(findings, all) as f64;
        match inside > 0 && attributed >= all as f64 * MUCH_OF_THE_WORK {
            true => Self { of: Whole::Ranges, ns: inside as f64 },
            false => Self::of_run(findings),
        }
    }
}

/// Of all kernels' time, what the ranges of a domain or a start/end region have that no library opened.
fn in_own_ranges(findings: &Findings, all_ns: i64) -> i64 {
    let domains = findings.unattributed.domains.iter().filter(|(domain, _)| !is_library(domain));
    let push_pop = domains.map(|(_, outside)| all_ns.saturating_sub(outside.gpu_ns));
    let regions = findings.regions.iter();
    let start_end = regions.filter(|row| row.kind == Kind::StartEnd && !is_library(&row.domain));
    push_pop.chain(start_end.map(|row| row.gpu_inclusive_ns)).max().unwrap_or(0)
}

impl Recommendation {
    /// By Amdahl: what is not at stake stays.
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

/// The most that could be gained first, what has no range last.
pub fn recommend(findings: &Findings, counters: Option<(&Joined, &Report)>) -> Vec<Recommendation> {
    let mut all = from_timeline::advice(findings);
    if let Some((joined, report)) = counters {
        all.extend(from_counters::advice(findings, joined, report));
    }
    all.retain(|advice| advice.share >= WORTH_A_WORD);
    all.sort_by(|a, b| b.at_stake_ns.cmp(&a.at_stake_ns).then_with(|| a.title.cmp(&b.title)));
    all.truncate(MOST);
    // Whatever its size, it is not what was asked about.
    all.extend(from_timeline::outside(findings));
    all
}

pub(super) fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", share * 100.0) } else { format!("{:.0} %", share * 100.0) }
}
