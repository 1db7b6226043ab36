//! The run itself, one row.

use super::{maybe, of_run};
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet, text};

type Column<'a> = column::Column<'a, ()>;

pub(super) fn table<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> Sheet<'a, ()> {
    let (run, trace, analysis) = (source.run, source.trace, source.analysis);
    let mut columns = of_run(texts, |()| source.only_rank());
    columns.extend([
        Column::text("name", "what runs of one kind share: the program's name, or the file's", |()| {
            text(&run.name)
        }),
        Column::time("begun", "when the recording began, UTC; absent if unknown", |()| run.begun),
        Column::maybe_text("node", "the machine it ran on", |()| maybe(run.node.as_deref())),
        Column::text("source", "what the timeline was read from", |()| text(&trace.source)),
        Column::text("gpus", "the models of the GPUs, each once", |()| {
            let mut models: Vec<&str> = trace.devices.iter().filter_map(|of| of.name.as_deref()).collect();
            models.sort_unstable();
            models.dedup();
            text(models.join(", "))
        }),
        Column::int("devices", "GPUs in the recording", |()| trace.devices.len() as i64),
        Column::int("processes", "in the recording", |()| trace.processes.len() as i64),
        Column::int("span_ns", "from the first event to the last", |()| analysis.span_ns),
        Column::int("kernels", "how many ran", |()| {
            i64::try_from(analysis.kernel_calls()).unwrap_or(i64::MAX)
        }),
        Column::int("kernel_ns", "their time", |()| analysis.kernel_ns()),
        Column::flag("lost", "something is missing from the recording", |()| {
            !analysis.unread.is_empty() || analysis.diagnostics.iter().any(|said| said.lost)
        }),
        Column::maybe_text("command", "the program's command, if Rangefinder started it", |()| {
            maybe(run.command.as_deref())
        }),
        Column::text("rangefinder", "the version that exported it", |()| text(env!("CARGO_PKG_VERSION"))),
    ]);
    Sheet { name: "runs", group: ROWS, rows: vec![()], sorted_by: &[], columns }
}
