//! All advice, ranked, without what is too small to matter.

use counters::Report;

use super::recommendation::{Recommendation, WORTH_A_WORD};
use super::{from_counters, from_timeline};
use crate::findings::Findings;
use crate::kernels::Joined;

/// Nobody follows more advice than this.
const MOST: usize = 12;

/// The largest gain first; time outside all ranges last.
pub fn recommend(findings: &Findings, counters: Option<(&Joined, &Report)>) -> Vec<Recommendation> {
    let mut all = from_timeline::advice(findings);
    if let Some((joined, report)) = counters {
        all.extend(from_counters::advice(findings, joined, report));
    }
    all.retain(|advice| advice.share >= WORTH_A_WORD);
    all.sort_by(|a, b| b.at_stake_ns.cmp(&a.at_stake_ns).then_with(|| a.title.cmp(&b.title)));
    all.truncate(MOST);
    // However large, it is not what the user asked about.
    all.extend(from_timeline::outside(findings));
    all
}
