//! Kernels, all launches of a name together.

use std::collections::HashMap;

use analysis::{Analysis, KernelRow, MoreRows, Shape, SteadyState};
use trace::Selection;

use super::cell::Cell;
use super::column::{self, Kind};
use super::known::{COUNTERS, Known, NOT_MEASURED, by_kernel, by_sampled_kernel, counter_columns};
use super::place::{is_split, process_called, three};
use super::table::{Keys, More, Table, View};
use crate::page::Page;
use crate::units::{counted, duration};

type Column<'p> = column::Column<'p, Row<'p>>;

/// A kernel, and what counters say about it.
#[derive(Debug)]
pub(crate) struct Row<'p> {
    kernel: &'p KernelRow,
    /// By which a reader tells it from others.
    label: String,
    known: Option<Known>,
}

/// What tells kernels apart, by their names.
pub(crate) fn kernel_labels(analysis: &Analysis) -> HashMap<&str, String> {
    let steady = analysis.steady.iter().flat_map(|steady| &steady.kernels);
    trace::apart(analysis.kernels.iter().chain(steady).map(|kernel| kernel.name.as_str()))
}

/// Of the whole recording.
pub(crate) fn kernels<'p>(page: &Page<'p>, analysis: &'p Analysis) -> Table<'p, Row<'p>> {
    let more = more(analysis.more_kernels, analysis.kernel_ns());
    table(page, analysis, "kernels", "Kernels by name", &analysis.kernels).more(more)
}

/// Of the steady iterations; none where nothing repeats.
pub(crate) fn steady_kernels<'p>(page: &Page<'p>, analysis: &'p Analysis) -> Option<Table<'p, Row<'p>>> {
    let steady = analysis.steady.as_ref()?;
    let more = more(steady.more_kernels, steady.kernel_ns());
    let caption = "Kernels by name, in the steady iterations";
    Some(table(page, analysis, "steady_kernels", caption, &steady.kernels).more(more))
}

/// Those that a reader meets first, and of which time they are: of the steady iterations, unless the whole
/// recording is asked for.
pub(crate) fn headline_kernels<'p>(page: &Page<'p>, analysis: &'p Analysis) -> (Table<'p, Row<'p>>, String) {
    let steady = steady_kernels(page, analysis).zip(analysis.steady.as_ref()).filter(|_| !page.whole);
    match steady {
        Some((table, steady)) => (table, format!("in the {}", steady_of(steady))),
        None if analysis.selected.is_some() || analysis.steady.is_some() => {
            (kernels(page, analysis), of_selection(analysis).to_owned())
        }
        None => (kernels(page, analysis), String::new()),
    }
}

/// Of which time something is that is not about steady iterations.
fn of_selection(analysis: &Analysis) -> &'static str {
    match analysis.selected {
        Some(Selection::Ranges) => "inside the selected ranges",
        Some(Selection::Load) => "while the load ran",
        None => "in the whole recording",
    }
}

/// ``57 steady iterations of `:step` ``
pub(crate) fn steady_of(steady: &SteadyState) -> String {
    let region = steady.region.as_ref().map(|region| format!(" of `{region}`")).unwrap_or_default();
    format!("{}{region}", counted(steady.iterations, "steady iteration"))
}

fn table<'p>(
    page: &Page<'p>,
    analysis: &'p Analysis,
    id: &'static str,
    caption: &'static str,
    kernels: &'p [KernelRow],
) -> Table<'p, Row<'p>> {
    let joined = page.insight.joined.as_ref();
    let known = joined.map(by_kernel).unwrap_or_default();
    let sampled = analysis.sampled.as_ref().map(by_sampled_kernel).unwrap_or_default();
    let labels = kernel_labels(analysis);
    let row = |kernel: &'p KernelRow| {
        let shape = kernel.shape.map(|shape| (shape.grid, shape.block));
        let counted = known.get(&(kernel.name.as_str(), shape)).filter(|known| known.is_known());
        // Samples know no shapes.
        let sampled = || sampled.get(kernel.name.as_str()).filter(|_| shape.is_none());
        let label = labels.get(kernel.name.as_str()).cloned().unwrap_or_default();
        Row { kernel, label, known: counted.or_else(sampled).cloned() }
    };
    let rows: Vec<Row<'p>> = kernels.iter().map(row).collect();
    let (split, shaped) = (is_split(analysis), kernels.iter().any(|row| row.shape.is_some()));
    Table::new(id, caption, rows, columns())
        .absent(NOT_MEASURED)
        .sorted("total_ns")
        .view(
            View::Page,
            Keys::of(["name", "share", "total_ns", "calls", "mean_ns", "median_ns", "min_ns", "max_ns"])
                .and(["family"])
                .when(joined.is_some() || !sampled.is_empty(), COUNTERS)
                .when(shaped, ["shape"])
                .when(analysis.scope.by_process, ["process"])
                .when(!analysis.recordings.is_empty(), ["origin"])
                .when(analysis.scope.by_device, ["device"]),
        )
        .view(
            View::Screen,
            Keys::of(["share", "total_ns", "calls", "mean_ns", "median_ns"])
                .when(split, ["process_called", "device"])
                .when(shaped, ["launch"])
                .and(["family", "name"]),
        )
        .view(
            View::Sheet,
            Keys::of(["share", "total_ns", "calls", "mean_ns", "median_ns", "min_ns", "max_ns", "std_ns"])
                .and(["process", "device", "family", "name"]),
        )
        .view(View::Summary, Keys::of(["share", "total_ns", "calls", "limited_by", "name"]))
        .view(View::Stakeholder, Keys::of(["name", "calls", "total_ns", "mean_ns", "share", "limited_by"]))
}

fn columns<'p>() -> Vec<Column<'p>> {
    let mut columns = vec![
        Column::new(Kind::Name, "name", "kernel", |row| Cell::name(row.label.as_str(), &row.kernel.name))
            .found(),
        Column::new(Kind::Name, "short_name", "short name", |row| (&row.kernel.short_name).into()),
        Column::new(Kind::Text, "family", "family", |row| row.kernel.family.as_str().into()),
        Column::new(Kind::Text, "grid", "grid", |row| row.kernel.shape.map(|shape| three(shape.grid)).into()),
        Column::new(Kind::Text, "block", "block", |row| {
            row.kernel.shape.map(|shape| three(shape.block)).into()
        }),
        Column::new(Kind::Id, "process", "process", |row| row.kernel.place.process.into()),
        Column::new(Kind::Id, "device", "GPU", |row| row.kernel.place.device.into()),
        Column::new(Kind::Count, "calls", "calls", |row| row.kernel.statistics.calls.into()),
        Column::new(Kind::Time, "total_ns", "total", |row| row.kernel.statistics.total_ns.into()),
        Column::new(Kind::Time, "mean_ns", "mean", |row| Cell::Nanoseconds(row.kernel.statistics.mean_ns)),
        Column::new(Kind::Time, "median_ns", "median", |row| {
            Cell::Nanoseconds(row.kernel.statistics.median_ns)
        }),
        Column::new(Kind::Time, "min_ns", "min", |row| row.kernel.statistics.min_ns.into()),
        Column::new(Kind::Time, "max_ns", "max", |row| row.kernel.statistics.max_ns.into()),
        Column::new(Kind::Time, "std_ns", "std", |row| Cell::Nanoseconds(row.kernel.statistics.std_ns)),
        Column::new(Kind::Share, "share", "share", |row| row.kernel.statistics.share.into())
            .help("of total kernel time"),
        Column::new(Kind::Id, "rank", "rank", |row| row.kernel.place.origin.rank.into()),
        Column::new(Kind::Id, "recording", "recording", |row| row.kernel.place.origin.recording.into()),
        Column::new(Kind::Text, "origin", "recording", |row| row.kernel.place.origin.called().into())
            .for_people(),
        Column::new(Kind::Id, "process_called", "process", |row| {
            process_called(row.kernel.place.process, row.kernel.place.origin).into()
        })
        .for_people(),
        Column::new(Kind::Text, "shape", "grid / block", |row| {
            row.kernel.shape.map(|shape| format!("{} / {}", three(shape.grid), three(shape.block))).into()
        })
        .for_people(),
        Column::new(Kind::Text, "launch", "grid x block", |row| row.kernel.shape.as_ref().map(launch).into())
            .for_people(),
    ];
    columns.extend(counter_columns(|row: &Row<'p>| row.known.as_ref()));
    columns
}

/// `(64,1,1) x (256,1,1)`
fn launch(shape: &Shape) -> String {
    let three = |numbers: [u32; 3]| format!("({})", numbers.map(|number| number.to_string()).join(","));
    format!("{} x {}", three(shape.grid), three(shape.block))
}

/// `kernel_ns` is the time of all.
fn more(more: Option<MoreRows>, kernel_ns: i64) -> Option<More> {
    more.map(|more| More {
        rows: more.rows,
        of: "kernel",
        named: "name",
        sums: vec![
            ("calls", more.calls.into()),
            ("total_ns", more.total_ns.into()),
            ("share", (more.total_ns as f64 / kernel_ns.max(1) as f64).into()),
        ],
        told: format!(": {}, {}", counted(more.calls, "call"), duration(more.total_ns as f64)),
    })
}
