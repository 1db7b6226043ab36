//! How much of an export is read.

use super::export::Export;
use super::timed::{TABLES, TEXTS};
use crate::extent::{Budget, Extent, Weights};
use crate::sqlite::{Database, Finder};

/// Memory for a byte in a file, with all that is found out from it.
const OF_BYTE: u64 = 6;
/// So many places of a table are looked at, at most, to know when its rows happened.
const LOOKED_AT: usize = 2048;

/// As much of it as there is memory for.
pub(super) fn within(database: &Database, budget: Budget) -> Export<'_> {
    let texts = of_pages(database, pages(database, TEXTS).len()).min(budget.bytes() / 2);
    let budget = budget.less(texts);
    let all: Vec<Vec<u32>> = TABLES.iter().map(|(table, _)| pages(database, table)).collect();
    let total = all.iter().fold(0u64, |sum, pages| sum.saturating_add(of_pages(database, pages.len())));
    if total <= budget.bytes() {
        return Export { database, extent: Extent::whole() };
    }
    let mut weights = Weights::default();
    for ((table, time), pages) in TABLES.iter().zip(&all) {
        match time {
            Some(time) => weigh(database, table, time, pages, &mut weights),
            None => weights.add_evenly(of_pages(database, pages.len())),
        }
    }
    Export { database, extent: weights.extent(budget) }
}

fn pages(database: &Database, table: &str) -> Vec<u32> {
    let Some(table) = database.table(table) else { return Vec::new() };
    database.select(table, |_| ()).leaves().pages
}

fn of_pages(database: &Database, pages: usize) -> u64 {
    (pages as u64).saturating_mul(database.page_size()).saturating_mul(OF_BYTE)
}

/// The first row of some pages stands for all until the next of these.
fn weigh(database: &Database, table: &str, time: &str, pages: &[u32], weights: &mut Weights) {
    let Some(found) = database.table(table) else { return };
    let selection = database.select(found, |finder: &mut Finder<'_>| finder.integer(time));
    let step = pages.len().div_ceil(LOOKED_AT).max(1);
    for some in pages.chunks(step) {
        let mut earliest: Option<i64> = None;
        selection.scan(&some[..1], |row, time| {
            earliest = [earliest, row.integer(*time)].into_iter().flatten().min();
        });
        let bytes = of_pages(database, some.len());
        match earliest {
            Some(time) => weights.add(time, bytes),
            None => weights.add_evenly(bytes),
        }
    }
}
