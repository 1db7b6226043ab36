//! Calls of the CUDA runtime and driver.

use super::of_run;
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet};

type Column<'a> = column::Column<'a, u32>;

pub(super) fn table<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, u32> {
    let calls = &source.trace.calls;
    let thread = |row: &u32| calls.thread[*row as usize];
    let mut columns = of_run(texts, move |row: &u32| source.rank(source.trace.process_of(thread(row))));
    columns.extend([
        Column::int("call", "its number in the run", |row| i64::from(*row)).growing(),
        Column::int("process", "the process id", move |row| source.pid(source.trace.process_of(thread(row)))),
        Column::int("thread", "the thread id", move |row| {
            i64::from(source.trace.threads[thread(row) as usize].id)
        }),
        texts.column("name", "of the function", |row: &u32| calls.name[*row as usize]),
        Column::int("begin_ns", "since the recording began", |row| source.since(calls.begin[*row as usize]))
            .growing(),
        Column::int("duration_ns", "how long it took", |row| {
            calls.end[*row as usize].saturating_sub(calls.begin[*row as usize]).max(0)
        }),
    ]);
    let mut rows: Vec<u32> = (0..calls.len() as u32).collect();
    rows.sort_by_key(|row| calls.begin[*row as usize]);
    Sheet { name: "calls", group: ROWS, rows, sorted_by: &["begin_ns"], columns }
}
