//! What was found, what each capture was, and what the recording says about itself.

use analysis::{Finding, Gain, GainOf, Sureness};
use record::VerdictRecord;

use super::{maybe, of_run};
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet, text};

type Column<'a> = column::Column<'a, usize>;

pub(super) fn findings<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, usize> {
    let of = |row: &usize| -> &'a Finding { &source.findings[*row] };
    let gain = move |row: &usize| -> Option<&'a Gain> { of(row).gain.as_ref() };
    let mut columns = of_run(texts, |_: &usize| source.only_rank());
    columns.extend([
        Column::int("number", "the first to look at is 1", |row| *row as i64 + 1),
        Column::text("cause", "`launch-bound`, `sync`, …", move |row| text(of(row).cause.as_str())),
        Column::text("title", "one sentence", move |row| text(&of(row).title)),
        Column::text("advice", "what to do; empty if there is nothing to do", move |row| {
            text(&of(row).advice)
        }),
        Column::text("evidence", "what it rests on, a line each", move |row| {
            text(of(row).evidence.join("\n"))
        }),
        Column::text("confidence", "`shown`, `likely` or `possible`", move |row| {
            text(match of(row).confidence {
                Sureness::Shown => "shown",
                Sureness::Likely => "likely",
                Sureness::Possible => "possible",
            })
        }),
        Column::maybe_int("device", "the GPU's number", move |row| of(row).device.map(i64::from)),
        Column::maybe_text("region", "where it is", move |row| maybe(of(row).place.region.as_deref())),
        Column::maybe_text("kernel", "the kernel it is about", move |row| {
            maybe(of(row).place.kernel.as_deref())
        }),
        Column::maybe_text("line", "the place in the program", move |row| {
            maybe(of(row).place.line.as_deref())
        }),
        Column::real("gain", "how many times as fast it would be without", move |row| {
            Some(gain(row)?.factor)
        }),
        Column::real("gain_low", "at least", move |row| Some(gain(row)?.low)),
        Column::real("gain_high", "at most", move |row| Some(gain(row)?.high)),
        Column::maybe_text("gain_of", "`iteration` or `total`", move |row| {
            gain(row).map(|gain| match gain.of {
                GainOf::Iteration => text("iteration"),
                GainOf::Total => text("total"),
            })
        }),
        Column::maybe_int("now_ns", "that time now", move |row| Some(gain(row)?.now_ns)),
        Column::maybe_int("then_ns", "and without the cause", move |row| Some(gain(row)?.then_ns)),
        Column::int(
            "time_ns",
            "the time that it is about, of all steady iterations or before them",
            move |row| of(row).time_ns,
        ),
    ]);
    let rows = (0..source.findings.len()).collect();
    Sheet { name: "findings", group: ROWS, rows, sorted_by: &["number"], columns }
}

pub(super) fn verdicts<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, usize> {
    let of = |row: &usize| -> &'a VerdictRecord { &source.verdicts[*row] };
    let mut columns = of_run(texts, |_: &usize| source.only_rank());
    columns.extend([
        Column::text("tool", "`nsys`, `ncu`, `tracer` or `torch`", move |row| text(of(row).tool.as_str())),
        Column::text("outcome", "`captured`, `partial`, `missed` or `failed`", move |row| {
            text(of(row).verdict.outcome.as_str())
        }),
        Column::maybe_text("cause", "why it is not `captured`", move |row| {
            of(row).verdict.cause.map(|cause| text(cause.as_str()))
        }),
        Column::text("text", "one sentence", move |row| text(&of(row).verdict.text)),
        Column::maybe_text("remedy", "what to do", move |row| maybe(of(row).verdict.remedy.as_deref())),
    ]);
    Sheet {
        name: "verdicts",
        group: ROWS,
        rows: (0..source.verdicts.len()).collect(),
        sorted_by: &[],
        columns,
    }
}

pub(super) fn diagnostics<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, usize> {
    let rows = &source.analysis.diagnostics;
    let mut columns = of_run(texts, |_: &usize| source.only_rank());
    columns.extend([
        Column::text("text", "what the reader of the recording says", |row| text(&rows[*row].text)),
        Column::flag("lost", "something is missing from the recording", |row| rows[*row].lost),
    ]);
    Sheet { name: "diagnostics", group: ROWS, rows: (0..rows.len()).collect(), sorted_by: &[], columns }
}
