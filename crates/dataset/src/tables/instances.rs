//! NVTX ranges, one row each.

use trace::{Kind, OPEN};

use super::{of_run, region};
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet, text};

type Column<'a> = column::Column<'a, u32>;

pub(super) fn table<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, u32> {
    let (ranges, trace) = (&source.trace.ranges, source.trace);
    let process = |row: &u32| trace.process_of(ranges.thread[*row as usize]);
    let of = |row: &u32| {
        let is_region = source.attribution.is_region(ranges.domain[*row as usize]);
        is_region.then(|| source.attribution.tree.node_of[*row as usize])
    };
    let mut columns = of_run(texts, move |row: &u32| source.rank(process(row)));
    columns.extend([
        Column::int("instance", "its number in the run", |row| i64::from(*row)).growing(),
        Column::maybe_int("parent", "the push/pop range around it, of the same thread and domain", |row| {
            ranges.parent[*row as usize].map(i64::from)
        }),
        Column::int("process", "the process id", move |row| source.pid(process(row))),
        Column::int("thread", "the thread id", |row| {
            i64::from(trace.threads[ranges.thread[*row as usize] as usize].id)
        }),
        texts.column("domain", "of NVTX", |row: &u32| ranges.domain[*row as usize]),
        texts.column("name", "as the program wrote it", |row: &u32| ranges.name[*row as usize]),
        Column::coded(
            "kind",
            "`push/pop` or `start/end`",
            |row| u32::from(ranges.kind[*row as usize] == Kind::StartEnd),
            |number| text(if number == 0 { Kind::PushPop } else { Kind::StartEnd }.as_str()),
        ),
    ]);
    let about = "its region, as in `regions`; absent for ranges of libraries beside the program's own";
    columns.extend(region(about, texts, of));
    columns.extend([
        Column::int("begin_ns", "since the recording began", |row| source.since(ranges.begin[*row as usize]))
            .growing(),
        Column::maybe_int("duration_ns", "on the host; absent if it never ended", |row| {
            let (begin, end) = (ranges.begin[*row as usize], ranges.end[*row as usize]);
            (end != OPEN).then(|| end.saturating_sub(begin).max(0))
        }),
        Column::real("payload", "a number that came with it", |row| {
            let place = ranges.payload.binary_search_by_key(row, |(range, _)| *range).ok()?;
            Some(ranges.payload[place].1)
        }),
    ]);
    let mut rows: Vec<u32> = (0..ranges.len() as u32).collect();
    rows.sort_by_key(|row| ranges.begin[*row as usize]);
    Sheet { name: "instances", group: ROWS, rows, sorted_by: &["begin_ns"], columns }
}
