//! Kernels by name and shape.

use super::of_run;
use crate::column;
use crate::source::{Known, Source, Texts};
use crate::write::{ROWS, Sheet, text};

type Column<'a> = column::Column<'a, Row>;

/// Launches of one kernel in one shape, by one process on one device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    launch: u32,
    process: u32,
    device: u16,
    calls: i64,
    total_ns: i64,
    min_ns: i64,
    max_ns: i64,
}

pub(super) fn table<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, Row> {
    let launches = &source.trace.activities.launches;
    let family_of = source.families.numbers_of_launches(source.trace);
    let of = |row: &Row| &launches[row.launch as usize];
    let grid = |axis: usize| move |row: &Row| i64::from(of(row).grid[axis]);
    let block = |axis: usize| move |row: &Row| i64::from(of(row).block[axis]);
    let mut columns = of_run(texts, |row: &Row| source.rank(row.process));
    columns.extend([
        Column::int("kernel", "its number in the run, as in `launches`", |row| i64::from(row.launch)),
        Column::int("process", "the process id", |row| source.pid(row.process)),
        Column::int("device", "the GPU's number", |row| source.device(row.device)),
        Column::text("name", "with template arguments and parameters", move |row| texts.name(of(row).name)),
        Column::text("short_name", "the bare function name", move |row| texts.name(of(row).short_name)),
        Column::text("family", "what it does: `gemm`, `attention`, `norm`, …", move |row| {
            text(source.families.family(family_of[row.launch as usize]).to_string())
        }),
        Column::int("grid_x", "blocks of the grid", grid(0)),
        Column::int("grid_y", "blocks of the grid", grid(1)),
        Column::int("grid_z", "blocks of the grid", grid(2)),
        Column::int("block_x", "threads of a block", block(0)),
        Column::int("block_y", "threads of a block", block(1)),
        Column::int("block_z", "threads of a block", block(2)),
        Column::int("registers", "of a thread", move |row| i64::from(of(row).registers)),
        Column::int("static_shared_bytes", "shared memory of a block", move |row| {
            i64::from(of(row).static_shared)
        }),
        Column::int("dynamic_shared_bytes", "shared memory of a block", move |row| {
            i64::from(of(row).dynamic_shared)
        }),
        Column::int("calls", "how often it ran", |row| row.calls),
        Column::int("total_ns", "the time of all of them", |row| row.total_ns),
        Column::int("min_ns", "the shortest", |row| row.min_ns),
        Column::int("max_ns", "the longest", |row| row.max_ns),
    ]);
    Sheet { name: "kernels", group: ROWS, rows: rows(source), sorted_by: &["kernel"], columns }
}

fn rows(source: &Source<'_>) -> Vec<Row> {
    let activities = &source.trace.activities;
    let mut places: Known<(u32, u32, u16), usize> = Known::default();
    let mut rows: Vec<Row> = Vec::new();
    // Most launches are of the process and on the device that the last one like it was.
    let mut last_place = vec![usize::MAX; activities.launches.len()];
    for activity in (0..activities.len()).filter(|at| activities.is_shown_kernel(*at)) {
        let (launch, process) = (activities.detail[activity], activities.process[activity]);
        let (device, ns) = (activities.device[activity], activities.duration(activity));
        let last = last_place[launch as usize];
        let is_like_it = rows.get(last).is_some_and(|row| (row.process, row.device) == (process, device));
        let place = match is_like_it {
            true => last,
            false => *places.entry((launch, process, device)).or_insert_with(|| {
                rows.push(Row { launch, process, device, calls: 0, total_ns: 0, min_ns: ns, max_ns: ns });
                rows.len() - 1
            }),
        };
        last_place[launch as usize] = place;
        let row = &mut rows[place];
        row.calls += 1;
        row.total_ns = row.total_ns.saturating_add(ns);
        row.min_ns = row.min_ns.min(ns);
        row.max_ns = row.max_ns.max(ns);
    }
    rows.sort_by_key(|row| (row.launch, row.process, row.device));
    rows
}
