//! Operators of a framework, before and after.

use analysis::compare::{Change, Comparison, Fate};

use super::cell::Cell;
use super::changes::{often, part_name, signed};
use super::column::{Column, Kind};
use super::table::{Keys, Table, View};

/// Those of which an iteration has other work, the first `top` of them.
pub(crate) fn operator_changes(comparison: &Comparison, top: usize) -> Table<'_, &Change> {
    let is_worth = |change: &&Change| change.more_ns() != 0.0 || change.fate != Fate::Kept;
    let rows: Vec<&Change> = comparison.operators.iter().filter(is_worth).take(top).collect();
    let columns = vec![
        Column::new(Kind::Name, "operator", "operator", |row: &&Change| part_name(row).into()).found(),
        Column::new(Kind::Text, "often", "works", |row: &&Change| {
            often(row.often).map_or(Cell::None, Into::into)
        })
        .help("kernels, copies and fills that it starts in an iteration"),
        Column::new(Kind::Time, "before_ns", "before", |row: &&Change| Cell::Nanoseconds(row.ns[0])),
        Column::new(Kind::Time, "after_ns", "after", |row: &&Change| Cell::Nanoseconds(row.ns[1])),
        Column::new(Kind::Text, "more_ns", "change", |row: &&Change| signed(row.more_ns()).into()),
        Column::new(Kind::Time, "difference_ns", "change", |row: &&Change| Cell::Nanoseconds(row.more_ns())),
    ];
    let shown = Keys::of(["operator", "often", "before_ns", "after_ns", "more_ns"]);
    let in_page = Keys::of(["operator", "often", "before_ns", "after_ns", "difference_ns"]);
    Table::new("operator_changes", "Operators, by the GPU time of what they start", rows, columns)
        .view(View::Page, in_page)
        .view(View::Screen, shown.clone())
        .view(View::Sheet, shown)
}
