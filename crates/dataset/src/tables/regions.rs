//! Regions, with what they add up to.

use std::io;

use analysis::{GpuRegion, each_region};

use super::{maybe, of_run};
use crate::column;
use crate::source::{Source, Texts};
use crate::write::{ROWS, Sheet, text};

type Column<'a> = column::Column<'a, Row>;

/// Bytes of paths that are in memory at once.
const AT_ONCE: usize = 64 << 20;

pub(super) struct Row {
    stage: Option<usize>,
    /// Without its texts: they are made when they are written.
    of: GpuRegion,
}

/// All of them; the analysis has those that its tables show.
fn rows(source: &Source<'_>) -> io::Result<Vec<Row>> {
    let stages = &source.analysis.stages;
    let row = |region: &GpuRegion| Row {
        stage: stages.iter().position(|stage| stage.nodes.contains(&region.node)),
        of: GpuRegion {
            path: String::new(),
            domain: String::new(),
            name: String::new(),
            parent: None,
            top_kernels: Vec::new(),
            ..*region
        },
    };
    if source.analysis.more_regions.is_empty() {
        return Ok(source.analysis.regions.iter().map(row).collect());
    }
    let mut rows: Vec<Row> = Vec::new();
    each_region(source.trace, source.attribution, source.scope, |region| {
        rows.push(row(&region));
        Ok(())
    })?;
    Ok(rows)
}

pub(super) fn table<'a>(source: &'a Source<'a>, texts: &'a Texts<'a>) -> io::Result<Sheet<'a, Row>> {
    let tree = &source.attribution.tree;
    let stages = &source.analysis.stages;
    let mut columns =
        of_run(texts, |row: &Row| row.of.place.origin.rank.map(i64::from).or(source.only_rank()));
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let node = |row: &Row| tree.nodes[row.of.node as usize];
    columns.extend([
        Column::int("region_id", "its number in the run", |row| i64::from(row.of.node)),
        Column::maybe_int("parent_id", "the region around it", move |row| node(row).parent.map(i64::from)),
        Column::maybe_int("process", "the process id; absent if it is of several", |row| {
            row.of.place.process.map(i64::from)
        }),
        Column::text("region", "its path: `LLM:decode/layer`", |row| {
            text(tree.path(source.trace, row.of.node).to_string())
        }),
        Column::text("domain", "of NVTX", move |row| texts.name(node(row).domain)),
        Column::text("name", "the last part of the path", move |row| texts.name(node(row).name)),
        Column::text("kind", "`push/pop` or `start/end`", |row| text(row.of.kind.as_str())),
        Column::int("depth", "regions around it", |row| row.of.depth as i64),
        Column::maybe_int("stage_id", "the stage that it is of, the first of the run being 0", |row| {
            row.stage.map(|stage| stage as i64)
        }),
        Column::maybe_text("stage", "that stage's name", move |row| {
            maybe(row.stage.map(|stage| stages[stage].name.as_str()))
        }),
        Column::int("instances", "how often it was opened", move |row| number(row.of.instances)),
        Column::int("open", "how often it was not closed", move |row| number(row.of.open)),
        Column::int("wall_ns", "host time of all instances", |row| row.of.wall_ns),
        Column::int("kernels_inclusive", "kernels started in it", move |row| {
            number(row.of.kernels_inclusive)
        }),
        Column::int("kernels_exclusive", "those of them in no inner region", move |row| {
            number(row.of.kernels_exclusive)
        }),
        Column::int("gpu_inclusive_ns", "the time of its kernels", |row| row.of.gpu_inclusive_ns),
        Column::int("gpu_exclusive_ns", "of those in no inner region", |row| row.of.gpu_exclusive_ns),
        Column::int("gpu_busy_ns", "of all its work; what overlaps counts once per device", |row| {
            row.of.gpu_busy_ns
        }),
        Column::maybe_int(
            "gpu_span_ns",
            "from the first work of an instance to its last, all instances together",
            |row| row.of.gpu_span_ns,
        ),
        Column::int("launches", "calls that started work", move |row| number(row.of.launches)),
        Column::int("copies", "copies and fills", move |row| number(row.of.copies)),
        Column::int("copy_ns", "their time", |row| row.of.copy_ns),
        Column::int("graphs", "CUDA graphs recorded as a whole", move |row| number(row.of.graphs)),
        Column::int("graph_ns", "their time", |row| row.of.graph_ns),
    ]);
    let rows = rows(source)?;
    let longest = rows.iter().map(|row| tree.path_bytes(source.trace, row.of.node)).max().unwrap_or(0);
    let group = ROWS.min(AT_ONCE / longest.max(1));
    Ok(Sheet { name: "regions", group, rows, sorted_by: &[], columns })
}
