//! Values over time.

use trace::{Series, SeriesSource};

use super::of_run;
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet, text};

type Column<'a> = column::Column<'a, Row>;

/// Which of the series, which quantity, which sample.
pub(super) type Row = (u32, u32, u32);

pub(super) fn table<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, Row> {
    let of = |row: &Row| -> &'a Series { &source.trace.series[row.0 as usize] };
    let quantity = move |row: &Row| of(row).columns[row.1 as usize].0;
    let mut columns = of_run(texts, |_: &Row| source.only_rank());
    columns.extend([
        Column::int("device", "the GPU's number", move |row| source.device(of(row).device)),
        Column::text("source", "`counters`, `nvml`, `nsys` or `kineto`", move |row| {
            text(match of(row).source {
                SeriesSource::Counters => "counters",
                SeriesSource::Nvml => "nvml",
                SeriesSource::Nsys => "nsys",
                SeriesSource::Kineto => "kineto",
            })
        }),
        Column::text("quantity", "`sm_active`, `power`, …", move |row| text(quantity(row).name())),
        Column::text("unit", "of the value", move |row| text(quantity(row).unit())),
        Column::int("begin_ns", "of the sample, since the recording began", move |row| {
            source.since(of(row).begin[row.2 as usize])
        })
        .growing(),
        Column::int("duration_ns", "of the sample; 0 of a moment", move |row| {
            let (begin, end) = (of(row).begin[row.2 as usize], of(row).end[row.2 as usize]);
            end.saturating_sub(begin).max(0)
        }),
        Column::real("value", "absent if it was not measured", move |row| {
            let value = of(row).columns[row.1 as usize].1[row.2 as usize];
            Some(f64::from(value)).filter(|value| value.is_finite())
        }),
    ]);
    let mut rows = Vec::new();
    for (at, series) in (0u32..).zip(&source.trace.series) {
        for quantity in 0..series.columns.len() as u32 {
            rows.extend((0..series.len() as u32).map(|sample| (at, quantity, sample)));
        }
    }
    Sheet { name: "series", group: ROWS, rows, sorted_by: &[], columns }
}
