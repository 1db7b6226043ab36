//! The stages of a language model, then the longest of the other regions, with all that is known of each.

use std::cmp::Reverse;
use std::collections::HashSet;

use analysis::{Analysis, Efficiency, GpuRegion, Origin, Stage, Times};

use super::column::{self, Kind};
use super::place::process_called;
use super::table::Table;
use crate::page::Page;

type Column<'p> = column::Column<'p, Row<'p>>;

#[derive(Debug)]
pub(crate) struct Row<'p> {
    region: &'p str,
    /// Where rows of one name are of several processes.
    process: Option<String>,
    instances: u64,
    total_ns: i64,
    times: Option<Times>,
    busy: Option<f64>,
    tokens_per_second: Option<f64>,
    efficiency: Option<&'p Efficiency>,
}

pub(crate) fn longest<'p>(page: &Page<'p>, analysis: &'p Analysis) -> Table<'p, Row<'p>> {
    let stages = analysis.stages.iter().filter_map(|stage| {
        let order = (!stage.is_usual(), Reverse(stage.times?.total_ns));
        Some((order, of_stage(page, analysis, stage)?))
    });
    let ended = analysis.stages.iter().filter(|stage| stage.times.is_some());
    let of_stages: HashSet<&String> = ended.flat_map(|stage| &stage.regions).collect();
    let others = analysis.regions.iter().filter(|row| !of_stages.contains(&row.path));
    let others = others.map(|row| ((true, Reverse(row.wall_ns)), of_region(analysis, row)));
    let mut rows: Vec<_> = stages.chain(others).collect();
    rows.sort_by_key(|(order, _)| *order);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    Table::new("longest", "Stages, then the longest other regions", rows, columns())
}

fn columns<'p>() -> Vec<Column<'p>> {
    vec![
        Column::new(Kind::Name, "region", "region", |row| row.region.into()),
        Column::new(Kind::Id, "process_called", "process", |row| row.process.as_deref().into()),
        Column::new(Kind::Count, "instances", "instances", |row| row.instances.into()),
        Column::new(Kind::Time, "total_ns", "total", |row| row.total_ns.into()),
        Column::new(Kind::Time, "mean_ns", "mean", |row| row.times.map(|times| times.mean_ns).into()),
        Column::new(Kind::Time, "p50_ns", "p50", |row| row.times.map(|times| times.p50_ns).into()),
        Column::new(Kind::Time, "p95_ns", "p95", |row| row.times.map(|times| times.p95_ns).into()),
        Column::new(Kind::Part, "busy", "GPU busy in it", |row| row.busy.into()),
        Column::new(Kind::Number(1), "tokens_per_second", "tokens/s", |row| row.tokens_per_second.into()),
        Column::new(Kind::Part, "mfu", "MFU", |row| row.efficiency.and_then(|row| row.mfu).into()),
        Column::new(Kind::Part, "mfu_at_most", "MFU at most", |row| {
            row.efficiency.and_then(|row| row.mfu_at_most).into()
        }),
        Column::new(Kind::Part, "mbu", "MBU", |row| row.efficiency.and_then(|row| row.mbu).into()),
    ]
}

fn process(analysis: &Analysis, process: Option<u32>, origin: Origin) -> Option<String> {
    analysis.scope.by_process.then(|| process_called(process, origin)).flatten()
}

fn busy(analysis: &Analysis, path: &str, origin: Origin) -> Option<f64> {
    let mut of_region = analysis.idle.iter().filter(|row| row.region.as_deref() == Some(path));
    let row = of_region.find(|row| row.origin == origin);
    row.map(|row| row.busy_share)
}

fn of_stage<'p>(page: &Page<'p>, analysis: &Analysis, stage: &'p Stage) -> Option<Row<'p>> {
    let times = stage.times?;
    let steady = stage.steady.unwrap_or(times);
    Some(Row {
        region: &stage.region,
        process: process(analysis, stage.process, stage.origin),
        instances: times.count,
        total_ns: times.total_ns,
        times: Some(steady),
        busy: busy(analysis, &stage.region, stage.origin),
        tokens_per_second: stage.tokens_per_second,
        efficiency: page.insight.efficiency.iter().find(|row| row.region == stage.region),
    })
}

fn of_region<'p>(analysis: &Analysis, row: &'p GpuRegion) -> Row<'p> {
    Row {
        region: &row.path,
        process: process(analysis, row.place.process, row.place.origin),
        instances: row.instances,
        total_ns: row.wall_ns,
        times: row.times,
        busy: busy(analysis, &row.path, row.place.origin),
        tokens_per_second: None,
        efficiency: None,
    }
}
