//! What devices did, one row each: kernels, copies and fills, and graphs that were recorded as a whole.

use std::io;

use trace::{ActivityKind, HostMemory, NONE, Transfer};

use super::{of_run, region};
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet, text};

type Column<'a> = column::Column<'a, u32>;

pub(super) fn tables<'a>(
    source: &'a Source<'a>,
    texts: &'a Texts<'a>,
    see: &super::See<'_>,
) -> io::Result<()> {
    see(&launches(source, texts))?;
    see(&copies(source, texts))?;
    see(&graphs(source, texts))
}

/// Activities that are meant, in the order in which they began.
fn sorted(source: &Source<'_>, is_meant: impl Fn(usize) -> bool) -> Vec<u32> {
    let begin = &source.trace.activities.begin;
    let mut rows: Vec<u32> = (0..begin.len()).filter(|at| is_meant(*at)).map(|at| at as u32).collect();
    rows.sort_by_key(|at| begin[*at as usize]);
    rows
}

/// What all work has: when, where, and who started it.
fn of_work<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Vec<Column<'a>> {
    let (activities, attribution) = (&source.trace.activities, source.attribution);
    let ranges = &source.trace.ranges;
    let of = |row: &u32| {
        let innermost = source.ranges_around(*row as usize).max_by_key(|range| ranges.begin[*range as usize]);
        innermost.map(|range| attribution.tree.node_of[range as usize])
    };
    let mut columns = of_run(texts, |row: &u32| source.rank(activities.process[*row as usize]));
    columns.extend([
        Column::int("process", "the process id", |row| source.pid(activities.process[*row as usize])),
        Column::int("device", "the GPU's number", |row| source.device(activities.device[*row as usize])),
        Column::int("stream", "the CUDA stream", |row| i64::from(activities.stream[*row as usize])),
        Column::int("begin_ns", "since the recording began", |row| {
            source.since(activities.begin[*row as usize])
        })
        .growing(),
        Column::int("duration_ns", "how long it took", |row| activities.duration(*row as usize)),
        Column::maybe_int("call", "the call that started it, as in `calls`; absent if unknown", |row| {
            Some(attribution.call[*row as usize]).filter(|call| *call != NONE).map(i64::from)
        })
        .growing(),
        Column::flag(
            "other_thread",
            "the calling thread had no range open, and only one other thread had",
            |row| attribution.by_other_thread[*row as usize],
        ),
        Column::flag("in_graph", "it is a node of a CUDA graph", |row| activities.in_graph[*row as usize]),
    ]);
    let about = "the region that started it, as in `regions`: of all domains, the one that was opened last";
    columns.extend(region(about, texts, of));
    columns.push(
        Column::ints(
            "instances",
            "the innermost push/pop ranges it was started in, of each domain, as in `instances`",
            |row, all| all.extend(source.ranges_around(*row as usize).map(i64::from)),
        )
        .growing(),
    );
    columns
}

fn launches<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, u32> {
    let activities = &source.trace.activities;
    let mut columns = of_work(source, texts);
    let launch = |row: &u32| activities.detail[*row as usize];
    columns.extend([
        Column::int("kernel", "the kernel and its shape, as in `kernels`", move |row| i64::from(launch(row))),
        texts.column("name", "of the kernel, with template arguments and parameters", move |row: &u32| {
            activities.launches[launch(row) as usize].name
        }),
    ]);
    let rows = sorted(source, |at| activities.is_shown_kernel(at));
    Sheet { name: "launches", group: ROWS, rows, sorted_by: &["begin_ns"], columns }
}

fn copies<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, u32> {
    let activities = &source.trace.activities;
    let of = |row: &u32| -> &'a Transfer { &activities.transfers[activities.detail[*row as usize] as usize] };
    let mut columns = of_work(source, texts);
    columns.extend([
        Column::text("direction", "`host to device`, `fill`, `migration to device`, …", move |row| {
            text(of(row).direction.as_str())
        }),
        Column::int("bytes", "how much", move |row| i64::try_from(of(row).bytes).unwrap_or(i64::MAX)),
        Column::maybe_text("memory", "of the host: `pinned` or `pageable`; absent if unknown", move |row| {
            match of(row).memory {
                HostMemory::Unknown => None,
                HostMemory::Pinned => Some(text("pinned")),
                HostMemory::Pageable => Some(text("pageable")),
            }
        }),
        Column::flag(
            "by_driver",
            "pages of unified memory that the driver moved: no call asked for it",
            |row| activities.kind[*row as usize] == ActivityKind::Migration,
        ),
    ]);
    let is_copy = |at: usize| !matches!(activities.kind[at], ActivityKind::Kernel | ActivityKind::Graph);
    Sheet { name: "copies", group: ROWS, rows: sorted(source, is_copy), sorted_by: &["begin_ns"], columns }
}

fn graphs<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, u32> {
    let activities = &source.trace.activities;
    let mut columns = of_work(source, texts);
    columns.push(Column::int("graph", "the number of the graph's instance in its process", |row| {
        i64::from(activities.detail[*row as usize])
    }));
    let is_graph = |at: usize| activities.kind[at] == ActivityKind::Graph;
    Sheet { name: "graphs", group: ROWS, rows: sorted(source, is_graph), sorted_by: &["begin_ns"], columns }
}
