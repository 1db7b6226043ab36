//! CUDA graphs: each one, and what runs inside them by the regions in which it was captured.

use analysis::{Analysis, CapturedRow, CudaGraphs, GraphRow, MoreRows};

use super::cell::Cell;
use super::column::{self, Kind};
use super::table::{Keys, More, Table, View};
use crate::units::{counted, duration};

/// Nodes of graphs by capture path.
pub(crate) fn captured(analysis: &Analysis) -> Table<'_, &CapturedRow> {
    let graphs = analysis.cuda_graphs.as_ref();
    let rows = graphs.map(|graphs| graphs.captured.iter().collect()).unwrap_or_default();
    let more = graphs.and_then(|graphs| graphs.more_captured);
    Table::new(
        "captured",
        "Inside CUDA graphs: by the region in which it was captured",
        rows,
        captured_columns(),
    )
    .more(more.map(|more| left_out(more, "region", "kernel")))
    .view(
        View::Page,
        Keys::of([
            "path",
            "share",
            "gpu_ns",
            "ns_a_replay",
            "kernels_a_replay",
            "replays",
            "gpu_exclusive_ns",
        ])
        .and(["copy_ns", "longest_kernel"]),
    )
    .view(
        View::Screen,
        Keys::of(["indented", "replays", "kernels_a_replay", "ns_a_replay", "gpu_ns", "share"]),
    )
    .view(View::Summary, Keys::of(["path", "replays", "kernels_a_replay", "ns_a_replay", "share"]))
}

fn captured_columns<'p>() -> Vec<column::Column<'p, &'p CapturedRow>> {
    type Column<'p> = column::Column<'p, &'p CapturedRow>;
    vec![
        Column::new(Kind::Name, "path", "captured in", |row| (&row.path).into()).found(),
        Column::new(Kind::Name, "domain", "domain", |row| (&row.domain).into()),
        Column::new(Kind::Count, "depth", "depth", |row| row.depth.into()),
        Column::new(Kind::Count, "replays", "replays", |row| row.replays.into())
            .help("graph launches in which any of it ran, as far as their kernels were recorded"),
        Column::new(Kind::Count, "kernels", "kernels", |row| row.kernels.into()),
        Column::new(Kind::Count, "kernels_exclusive", "own kernels", |row| row.kernels_exclusive.into()),
        Column::new(Kind::Time, "gpu_ns", "GPU time", |row| row.gpu_ns.into()).help("of kernels"),
        Column::new(Kind::Time, "gpu_exclusive_ns", "own GPU time", |row| row.gpu_exclusive_ns.into())
            .help("without inner regions"),
        Column::new(Kind::Count, "copies", "copies", |row| row.copies.into()),
        Column::new(Kind::Time, "copy_ns", "copies and fills", |row| row.copy_ns.into()),
        Column::new(Kind::Number(1), "kernels_a_replay", "kernels a replay", |row| {
            row.kernels_a_replay.into()
        }),
        Column::new(Kind::Time, "ns_a_replay", "time a replay", |row| Cell::Nanoseconds(row.ns_a_replay))
            .help("of kernels"),
        Column::new(Kind::Share, "share", "share", |row| row.share.into())
            .help("of the time of all kernels inside graphs"),
        Column::new(Kind::Name, "longest_kernel", "longest kernel", |row| row.longest_kernel.as_ref().into())
            .found(),
        Column::new(Kind::Name, "indented", "captured in", |row| {
            format!("{}{}", "  ".repeat(row.depth as usize), row.path).into()
        })
        .for_people(),
    ]
}

/// Graphs, as they are launched.
pub(crate) fn cuda_graphs(analysis: &Analysis) -> Table<'_, &GraphRow> {
    let graphs = analysis.cuda_graphs.as_ref();
    let rows = graphs.map(|graphs| graphs.graphs.iter().collect()).unwrap_or_default();
    let more = graphs.and_then(|graphs| graphs.more_graphs);
    let is_any = |has: fn(&GraphRow) -> bool| graphs.is_some_and(|graphs| graphs.graphs.iter().any(has));
    // Every row has these: a graph is recorded as a whole, kernel by kernel, or now this way and now that.
    let times = ["launches", "total_ns", "median_ns"];
    let by_node = is_any(|row| row.by_node.is_some());
    let keys = Keys::of(["graph", "region"])
        .when(is_any(|row| row.captured_in.is_some()), ["captured_in"])
        .and(times)
        .when(by_node && is_any(|row| row.whole.is_some()), ["recorded"])
        .when(by_node, ["kernels", "kernel_ns"]);
    Table::new("cuda_graphs", "CUDA graphs", rows, graph_columns())
        .absent("–")
        .more(more.map(|more| left_out(more, "graph", "launch")))
        .view(View::Page, keys.clone())
        .view(View::Screen, keys)
        .view(View::Summary, Keys::of(["graph", "region"]).and(times))
}

fn graph_columns<'p>() -> Vec<column::Column<'p, &'p GraphRow>> {
    type Column<'p> = column::Column<'p, &'p GraphRow>;
    vec![
        Column::new(Kind::Id, "graph", "graph", |row| row.graph.into()),
        Column::new(Kind::Id, "process", "process", |row| row.process.into()),
        Column::new(Kind::Name, "region", "launched in", |row| row.region.as_ref().into()).found(),
        Column::new(Kind::Name, "captured_in", "captured in", |row| row.captured_in.as_ref().into()).found(),
        Column::new(Kind::Count, "whole_launches", "launches", |row| {
            row.whole.map(|times| times.calls).into()
        })
        .help("recorded as a whole"),
        Column::new(Kind::Time, "whole_total_ns", "total", |row| {
            row.whole.map(|times| times.total_ns).into()
        }),
        Column::new(Kind::Time, "whole_median_ns", "median", |row| {
            row.whole.map(|times| times.median_ns).map(Cell::Nanoseconds).into()
        }),
        Column::new(Kind::Count, "node_launches", "launches kernel by kernel", |row| {
            row.by_node.map(|times| times.calls).into()
        })
        .help("of which every kernel was recorded; that makes them longer"),
        Column::new(Kind::Time, "node_total_ns", "total kernel by kernel", |row| {
            row.by_node.map(|times| times.total_ns).into()
        }),
        Column::new(Kind::Time, "node_median_ns", "median kernel by kernel", |row| {
            row.by_node.map(|times| times.median_ns).map(Cell::Nanoseconds).into()
        }),
        Column::new(Kind::Count, "launches", "launches", |row| row.launches().into()).for_people(),
        Column::new(Kind::Time, "total_ns", "total", |row| row.total_ns().into()).for_people(),
        Column::new(Kind::Time, "median_ns", "median", |row| {
            row.whole.or(row.by_node).map(|times| times.median_ns).map(Cell::Nanoseconds).into()
        })
        .help("of the launches that were recorded as a whole, if there are any: kernel by kernel, a launch takes longer")
        .for_people(),
        Column::new(Kind::Text, "recorded", "recorded", |row| {
            match (&row.whole, &row.by_node) {
                (Some(_), Some(_)) => "both ways",
                (Some(_), None) => "as a whole",
                (None, _) => "kernel by kernel",
            }
            .into()
        })
        .for_people(),
        Column::new(Kind::Number(1), "kernels", "kernels a launch", |row| {
            row.by_node.map(|_| row.kernels).into()
        }),
        Column::new(Kind::Time, "kernel_ns", "their time", |row| {
            row.by_node.map(|_| Cell::Nanoseconds(row.kernel_ns)).into()
        }),
    ]
}

fn left_out(more: MoreRows, of: &'static str, what: &str) -> More {
    More {
        rows: more.rows,
        of,
        named: "path",
        sums: Vec::new(),
        told: format!(": {}, {}", counted(more.calls, what), duration(more.total_ns as f64)),
    }
}

/// What the tables of capture paths cannot tell, a sentence each.
pub(crate) fn not_captured(analysis: &Analysis) -> Vec<String> {
    let Some(graphs) = &analysis.cuda_graphs else { return Vec::new() };
    let CudaGraphs { outside, outside_ns, unseen, unseen_ns, .. } = *graphs;
    let of = |count: u64, ns: i64| {
        format!("{} in CUDA graphs ({})", counted(count, "kernel"), duration(ns as f64))
    };
    let mut sentences = Vec::new();
    if outside > 0 && !graphs.captured.is_empty() {
        sentences
            .push(format!("{} ran that had been captured while no range was open", of(outside, outside_ns)));
    }
    if unseen > 0 && !analysis.regions.is_empty() {
        sentences
            .push(format!("of {} it is not known in which range they were captured", of(unseen, unseen_ns)));
    }
    sentences
}
