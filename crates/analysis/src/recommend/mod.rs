//! What to change, and what that could bring at most: every advice with its numbers.

mod kernels;
mod timeline;

use counters::Report;
use serde::Serialize;

use crate::findings::Findings;
use crate::join::Joined;

/// What is less of the run's time than this is not worth a word.
const WORTH_A_WORD: f64 = 0.03;
/// More advice than anybody follows.
const MOST: usize = 12;

/// One advice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// What is wrong, with its number: `decode waits for the host 71 % of its time`.
    pub title: String,
    /// What to do about it.
    pub advice: String,
    /// What it is told from, a line each.
    pub evidence: Vec<String>,
    /// The part of the time that is at stake, 0 to 1: of the run's; of a region, where most of the work is in
    /// ranges, of theirs.
    pub share: f64,
    /// How many times as fast that could be if all of it went away.
    pub gain: f64,
    pub region: Option<String>,
    pub kernel: Option<String>,
}

impl Recommendation {
    /// By Amdahl: what is not at stake stays.
    fn new(title: String, advice: &str, evidence: Vec<String>, share: f64) -> Self {
        let share = share.clamp(0.0, 0.999);
        Self {
            title,
            advice: advice.to_owned(),
            evidence,
            share,
            gain: 1.0 / (1.0 - share),
            region: None,
            kernel: None,
        }
    }

    #[must_use]
    fn in_region(mut self, region: Option<&str>) -> Self {
        self.region = region.map(str::to_owned);
        self
    }

    #[must_use]
    fn of_kernel(mut self, kernel: &str) -> Self {
        self.kernel = Some(kernel.to_owned());
        self
    }
}

/// The most that could be gained first, what has no range last.
pub fn recommend(findings: &Findings, counters: Option<(&Joined, &Report)>) -> Vec<Recommendation> {
    let mut all = timeline::advice(findings);
    if let Some((joined, report)) = counters {
        all.extend(kernels::advice(findings, joined, report));
    }
    all.retain(|advice| advice.share >= WORTH_A_WORD);
    all.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.title.cmp(&b.title)));
    all.truncate(MOST);
    // Whatever its size, it is not what was asked about.
    all.extend(timeline::outside(findings));
    all
}

/// The time of the devices of a run, busy and idle, all together.
fn device_time_ns(findings: &Findings) -> f64 {
    let devices = findings.idle.iter().filter(|row| row.region.is_none());
    devices.map(|row| row.busy_ns.saturating_add(row.idle_ns)).sum::<i64>().max(1) as f64
}

fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", share * 100.0) } else { format!("{:.0} %", share * 100.0) }
}
