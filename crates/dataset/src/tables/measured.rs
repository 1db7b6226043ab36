//! What ncu measured: one row for each metric of each result.

use std::cell::RefCell;

use counters::{Kernel, Subject, Value};
use parquet::data_type::ByteArray;

use super::of_run;
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet, text};

type Column<'a> = column::Column<'a, Row>;

pub(super) type Row = (u32, u32);
/// The text of the last result that was asked for.
type Last = RefCell<Option<(u32, ByteArray)>>;

pub(super) fn table<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, Row> {
    let results = source.counters.map(|report| report.results.as_slice()).unwrap_or_default();
    let result = |row: &Row| &results[row.0 as usize];
    let metric = move |row: &Row| &result(row).metrics[row.1 as usize];
    let kernel = move |row: &Row| match &result(row).subject {
        Subject::Kernel(kernel) => Some(kernel),
        _ => None,
    };
    // A kernel has hundreds of metrics, and one name.
    let (name, short_name): (Last, Last) = Default::default();
    let shared = move |last: &Last, row: &Row, of: fn(&Kernel) -> &String| {
        let kernel = kernel(row)?;
        let mut last = last.borrow_mut();
        match &*last {
            Some((result, name)) if *result == row.0 => Some(name.clone()),
            _ => Some(last.insert((row.0, text(of(kernel)))).1.clone()),
        }
    };
    let mut columns = of_run(texts, |_: &Row| source.only_rank());
    columns.extend([
        Column::int("result", "its number among all results", |row| i64::from(row.0)),
        Column::maybe_int("device", "the GPU's number", move |row| result(row).device.map(i64::from)),
        Column::maybe_text("name", "of the kernel; absent if a range or a graph was measured", move |row| {
            shared(&name, row, |kernel| &kernel.name)
        }),
        Column::maybe_text("short_name", "the bare function name", move |row| {
            shared(&short_name, row, |kernel| &kernel.short_name)
        }),
        Column::text("metric", "as ncu calls it", move |row| {
            text(source.counters.map_or("", |report| report.metric_names.name(metric(row).name)))
        }),
        Column::real("value", "absent of a text", move |row| metric(row).value.as_ref()?.as_f64()),
        Column::maybe_text("text", "of a metric that is no number", move |row| match &metric(row).value {
            Some(Value::Text(value)) => Some(text(value)),
            _ => None,
        }),
    ]);
    let all = (0u32..).zip(results);
    let rows = all.flat_map(|(at, result)| (0..result.metrics.len() as u32).map(move |metric| (at, metric)));
    Sheet { name: "counters", group: ROWS, rows: rows.collect(), sorted_by: &["result"], columns }
}
