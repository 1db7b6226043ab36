//! Iterations of the loops.

use analysis::Loop;

use super::{maybe, of_run};
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet};

type Column<'a> = column::Column<'a, Row>;

#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    of: usize,
    iteration: usize,
    begin: i64,
    end: i64,
}

pub(super) fn table<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, Row> {
    let loops = &source.analysis.loops;
    let of = |row: &Row| -> &'a Loop { &loops[row.of] };
    let mut columns = of_run(texts, move |row: &Row| of(row).origin.rank.map(i64::from));
    columns.extend([
        Column::int("loop", "the first is the main loop, 0", |row| row.of as i64),
        Column::int("process", "the process id", move |row| i64::from(of(row).process)),
        Column::maybe_text(
            "region",
            "of an iteration; absent if the loop was found by its launches",
            move |row| maybe(of(row).region.as_deref()),
        ),
        Column::int("iteration", "from 0 on", |row| row.iteration as i64).growing(),
        Column::flag("warm_up", "one of the slow ones at the beginning", move |row| {
            (row.iteration as u64) < of(row).warm_up
        }),
        Column::int("begin_ns", "since the recording began; on the device if it has work there", |row| {
            source.since(row.begin)
        })
        .growing(),
        Column::int("duration_ns", "up to the next one", |row| row.end.saturating_sub(row.begin).max(0)),
    ]);
    let rows = loops.iter().enumerate().flat_map(|(number, of)| {
        let begins: Vec<i64> = of.all_begins().collect();
        let ends: Vec<i64> = begins.iter().skip(1).copied().chain([of.end()]).collect();
        let both = begins.into_iter().zip(ends).enumerate();
        both.map(move |(iteration, (begin, end))| Row { of: number, iteration, begin, end })
    });
    Sheet {
        name: "iterations",
        group: ROWS,
        rows: rows.collect(),
        sorted_by: &["loop", "iteration"],
        columns,
    }
}
