//! What ncu measured of kernels, before and after.

use analysis::compare::{Comparison, CountersChange, Fate};

use super::cell::Cell;
use super::changes::shape;
use super::column::{Column, Kind};
use super::table::{Keys, Table, View};
use crate::units::fixed;

/// Points of a peak from which on a level is worth a word.
const LEAST_POINTS: f64 = 1.0;
/// Levels that are told of one kernel.
const MOST_LEVELS: usize = 3;

/// The first `top` of them.
pub(crate) fn counter_changes(comparison: &Comparison, top: usize) -> Table<'_, &CountersChange> {
    let rows: Vec<&CountersChange> = comparison.counters.iter().take(top).collect();
    let time = |change: &&CountersChange, side: usize| change.ns[side].map_or(Cell::None, Cell::Nanoseconds);
    let columns = vec![
        Column::new(Kind::Name, "kernel", "kernel", |row: &&CountersChange| {
            let whole = row.shown().map_or("", |kernel| kernel.name.as_str());
            Cell::name(kernel_name(row), whole)
        })
        .found(),
        Column::new(Kind::Text, "grid", "grid", |row: &&CountersChange| {
            row.shown().map_or(Cell::None, |kernel| shape(kernel.grid).into())
        }),
        Column::new(Kind::Time, "before_ns", "before", move |row: &&CountersChange| time(row, 0))
            .help("one launch under ncu: replayed alone, not as in the program"),
        Column::new(Kind::Time, "after_ns", "after", move |row: &&CountersChange| time(row, 1)),
        Column::new(Kind::Text, "limit", "limited by", |row: &&CountersChange| limit(row).into()),
        Column::new(Kind::Text, "levels", "of the peak", |row: &&CountersChange| levels(row).into())
            .help("the levels that changed the most, by at least one point"),
    ];
    let shown = Keys::of(["kernel", "grid", "before_ns", "after_ns", "limit", "levels"]);
    Table::new("counter_changes", "Kernels under ncu", rows, columns)
        .view(View::Page, shown.clone())
        .view(View::Screen, shown.clone())
        .view(View::Sheet, shown)
}

fn kernel_name(change: &CountersChange) -> String {
    let name = change.shown().map_or("", |kernel| kernel.short_name.as_str());
    match (change.fate, &change.kernel) {
        (Fate::New, _) => format!("{name} (new)"),
        (Fate::Vanished, _) => format!("{name} (gone)"),
        (Fate::Renamed | Fate::Replaced, [Some(before), _]) => format!("{name} (was {})", before.short_name),
        (Fate::Reshaped, [Some(before), _]) => format!("{name} (grid was {})", shape(before.grid)),
        _ => name.to_owned(),
    }
}

/// `DRAM`, or `DRAM → L2`
fn limit(change: &CountersChange) -> String {
    match change.limit {
        [Some(before), Some(after)] if before != after => {
            format!("{} → {}", before.as_str(), after.as_str())
        }
        [before, after] => after.or(before).map_or("", |limit| limit.as_str()).to_owned(),
    }
}

/// `DRAM 91.2 → 45.0 %, L2 40.1 → 30.5 %`
fn levels(change: &CountersChange) -> String {
    let told = |level: &analysis::compare::LevelChange| {
        let (before, after) = level.percent[0].zip(level.percent[1])?;
        let name = level.level.as_str();
        let is_worth = (after - before).abs() >= LEAST_POINTS;
        is_worth.then(|| format!("{name} {} → {} %", fixed(before, 1), fixed(after, 1)))
    };
    change.levels.iter().filter_map(told).take(MOST_LEVELS).collect::<Vec<_>>().join(", ")
}
