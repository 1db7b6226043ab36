//! Kernels that take more of one rank's time than of the others'.

use std::collections::BTreeSet;

use serde::Serialize;

use super::part::Part;
use crate::statistics::middle_of;

/// A kernel on all ranks that did the same collectives, from the end of the first to the beginning of the last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BalanceRow {
    pub kernel: String,
    /// How many ranks launched it.
    pub ranks: u64,
    /// All its launches on one rank: of the rank with the least, the middle one, and the most.
    pub least_ns: i64,
    pub middle_ns: i64,
    pub most_ns: i64,
    pub most_rank: u32,
    /// Its launches on the middle rank, and on the one with the most time.
    pub middle_count: u64,
    pub most_count: u64,
}

impl BalanceRow {
    /// What the rank with the most time has more than the middle one.
    pub fn excess_ns(&self) -> i64 {
        self.most_ns - self.middle_ns
    }
}

/// The one with the largest excess first.
pub(super) fn balance(parts: &[Part]) -> Vec<BalanceRow> {
    // A recording that ended sooner has less of everything.
    let most = parts.iter().map(|part| part.collectives.len()).max().unwrap_or(0);
    let alike: Vec<&Part> = parts.iter().filter(|part| part.collectives.len() == most && most > 1).collect();
    if alike.len() < 2 {
        return Vec::new();
    }
    let kernels: BTreeSet<&str> =
        alike.iter().flat_map(|part| part.work.keys().map(String::as_str)).collect();
    let mut rows: Vec<BalanceRow> = kernels.into_iter().filter_map(|kernel| row(kernel, &alike)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.excess_ns()));
    rows
}

fn row(kernel: &str, parts: &[&Part]) -> Option<BalanceRow> {
    let sums = || parts.iter().map(|part| part.work.get(kernel).copied().unwrap_or_default());
    let (most, most_part) =
        sums().zip(parts).max_by_key(|(sum, part)| (sum.ns, std::cmp::Reverse(part.rank)))?;
    Some(BalanceRow {
        kernel: kernel.to_owned(),
        ranks: sums().filter(|sum| sum.count > 0).count() as u64,
        least_ns: sums().map(|sum| sum.ns).min()?,
        middle_ns: middle_of(sums().map(|sum| sum.ns as f64).collect())? as i64,
        most_ns: most.ns,
        most_rank: most_part.rank,
        middle_count: middle_of(sums().map(|sum| sum.count as f64).collect())? as u64,
        most_count: most.count,
    })
}
