//! Operations that several ranks do together, where the profiler told more of them than a kernel's name.

use std::collections::HashMap;

use trace::NONE;

use super::of_run;
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet};

type Column<'a> = column::Column<'a, Row>;

/// What was told, and its kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    told: u32,
    activity: Option<u32>,
}

pub(super) fn table<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, Row> {
    let (told, activities) = (&source.trace.collectives, &source.trace.activities);
    let process = |row: &Row| told.process[row.told as usize];
    let number = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let mut columns = of_run(texts, move |row: &Row| source.rank(process(row)));
    columns.extend([
        Column::int("process", "the process id", move |row| source.pid(process(row))),
        Column::text("function", "as the framework calls it: `allreduce`", |row| {
            texts.name(told.function[row.told as usize])
        }),
        Column::text("group", "the name of the ranks that take part; empty if unknown", |row| {
            texts.name(told.group[row.told as usize])
        }),
        Column::int("group_size", "how many those are; 0 if unknown", |row| {
            i64::from(told.group_size[row.told as usize])
        }),
        Column::int("bytes_in", "that go in on this rank", move |row| {
            number(told.bytes_in[row.told as usize])
        }),
        Column::int("bytes_out", "that come out", move |row| number(told.bytes_out[row.told as usize])),
        Column::maybe_int("begin_ns", "of its kernel, since the recording began", |row| {
            row.activity.map(|activity| source.since(activities.begin[activity as usize]))
        }),
        Column::maybe_int("duration_ns", "of its kernel", |row| {
            row.activity.map(|activity| activities.duration(activity as usize))
        }),
    ]);
    Sheet { name: "collectives", group: ROWS, rows: rows(source), sorted_by: &[], columns }
}

fn rows(source: &Source<'_>) -> Vec<Row> {
    let (told, activities) = (&source.trace.collectives, &source.trace.activities);
    let wanted: HashMap<(u32, u32), u32> = (0..told.len())
        .map(|row| ((told.process[row], told.correlation[row]), row as u32))
        .filter(|((_, correlation), _)| *correlation != NONE)
        .collect();
    let mut kernels: HashMap<u32, u32> = HashMap::new();
    if !wanted.is_empty() {
        for activity in (0..activities.len()).filter(|at| activities.is_shown_kernel(*at)) {
            let key = (activities.process[activity], activities.correlation[activity]);
            if let Some(row) = wanted.get(&key) {
                kernels.entry(*row).or_insert(activity as u32);
            }
        }
    }
    (0..told.len() as u32).map(|told| Row { told, activity: kernels.get(&told).copied() }).collect()
}
