//! Regions: all ranges with the same path.

use std::borrow::Cow;
use std::collections::HashMap;

use analysis::{Analysis, GpuRegion, IdleCause, IdleRow, every_region};

use super::cell::{Cell, Stack};
use super::column::{self, Kind};
use super::idle::{stacked, whole};
use super::known::{COUNTERS, Known, by_region, counter_columns};
use super::place::{is_split, process_called};
use super::table::{Keys, More, Table, View};
use crate::page::Page;
use crate::units::percent;

type Column<'p> = column::Column<'p, Row<'p>>;

/// A region and its work on the devices.
#[derive(Debug)]
pub(crate) struct Row<'p> {
    pub(crate) region: Cow<'p, GpuRegion>,
    pub(crate) stack: Option<Stack>,
    /// The enclosing region among those shown.
    pub(crate) parent: Option<usize>,
    /// Host time without inner regions.
    pub(crate) own_wall_ns: i64,
    known: Option<Known>,
}

impl<'p> Row<'p> {
    /// For a table without enclosing regions.
    fn alone(region: Cow<'p, GpuRegion>) -> Self {
        Self { own_wall_ns: region.wall_ns, region, stack: None, parent: None, known: None }
    }

    fn busy(&self) -> Option<f64> {
        self.stack.map(|stack| stack[0] as f64 / whole(&stack).max(1) as f64)
    }

    /// `host 91.0 %`
    fn largest_cause(&self) -> Option<String> {
        let stack = self.stack?;
        let (cause, ns) = IdleCause::ALL.into_iter().zip(&stack[1..]).max_by_key(|(_, ns)| **ns)?;
        (*ns > 0).then(|| format!("{cause} {}", percent(*ns as f64 / whole(&stack) as f64)))
    }
}

/// Programs get all of them; those not shown to people are computed again, because they are not kept.
pub(crate) fn regions<'p>(page: &Page<'p>, analysis: &'p Analysis) -> Table<'p, Row<'p>> {
    let joined = page.insight.joined.as_ref();
    let gpu = !(analysis.kernels.is_empty() && analysis.idle.is_empty());
    let scope = analysis.scope;
    let others = analysis.regions.iter().any(|region| region.other_thread_gpu_ns > 0);
    let table = Table::new(
        "regions",
        "Regions: all ranges with the same path",
        region_rows(page, analysis),
        columns(),
    )
    .absent("–")
    .more(more(analysis));
    let table = match page.trace.filter(|_| !analysis.more_regions.is_empty()) {
        Some(trace) => {
            table.every(move |see| every_region(trace, scope, |region| see(&Row::alone(Cow::Owned(region)))))
        }
        None => table,
    };
    table
        .view(
            View::Page,
            Keys::of(["path", "instances", "wall_ns", "own_wall_ns"])
                .when(gpu, ["gpu_inclusive_ns", "gpu_exclusive_ns"])
                .when(others, ["other_thread_gpu_ns"])
                .when(gpu, ["gpu_busy_ns", "busy", "largest_cause"])
                .when(joined.is_some(), COUNTERS)
                .when(gpu, ["kernels_inclusive", "kernels_exclusive", "copy_ns", "longest_kernel"])
                .when(scope.by_process, ["process"])
                .when(!analysis.recordings.is_empty(), ["origin"])
                .when(scope.by_device, ["device"]),
        )
        .view(
            View::Screen,
            Keys::of(["indented"])
                .when(is_split(analysis), ["process_called", "device"])
                .and(["instances", "wall_ns"])
                .when(gpu, ["kernels_inclusive", "kernels_exclusive", "gpu_inclusive_ns", "gpu_exclusive_ns"])
                .when(others, ["other_thread_gpu_ns"])
                .when(gpu, ["gpu_busy_ns"]),
        )
}

fn columns<'p>() -> Vec<Column<'p>> {
    let mut columns = vec![
        Column::new(Kind::Name, "path", "region", |row| (&row.region.path).into()).found(),
        Column::new(Kind::Text, "kind", "kind", |row| row.region.kind.as_str().into()),
        Column::new(Kind::Name, "parent", "inside", |row| row.region.parent.as_deref().into()),
        Column::new(Kind::Count, "depth", "depth", |row| row.region.depth.into()),
        Column::new(Kind::Id, "process", "process", |row| row.region.place.process.into()),
        Column::new(Kind::Id, "device", "GPU", |row| row.region.place.device.into()),
        Column::new(Kind::Count, "instances", "instances", |row| row.region.instances.into()),
        Column::new(Kind::Count, "open", "never ended", |row| row.region.open.into()),
        Column::new(Kind::Time, "wall_ns", "host", |row| row.region.wall_ns.into())
            .help("total of all instances"),
        Column::new(Kind::Time, "gpu_inclusive_ns", "GPU time", |row| row.region.gpu_inclusive_ns.into())
            .help("kernels, including those of inner regions"),
        Column::new(Kind::Time, "gpu_exclusive_ns", "own GPU time", |row| row.region.gpu_exclusive_ns.into())
            .help("kernels launched in the region itself"),
        Column::new(Kind::Time, "gpu_busy_ns", "GPU busy time", |row| row.region.gpu_busy_ns.into())
            .help("kernels, copies, fills and graphs; overlaps count once"),
        Column::new(Kind::Time, "gpu_span_ns", "GPU span", |row| row.region.gpu_span_ns.into()),
        Column::new(Kind::Count, "kernels_inclusive", "kernels", |row| row.region.kernels_inclusive.into()),
        Column::new(Kind::Count, "kernels_exclusive", "own kernels", |row| {
            row.region.kernels_exclusive.into()
        }),
        Column::new(Kind::Count, "launches", "launches", |row| row.region.launches.into()),
        Column::new(Kind::Count, "copies", "number of copies", |row| row.region.copies.into()),
        Column::new(Kind::Time, "copy_ns", "copies", |row| row.region.copy_ns.into()),
        Column::new(Kind::Count, "graphs", "graphs", |row| row.region.graphs.into()),
        Column::new(Kind::Time, "graph_ns", "graph time", |row| row.region.graph_ns.into()),
        Column::new(Kind::Count, "other_thread_launches", "launches of other threads", |row| {
            row.region.other_thread_launches.into()
        })
        .help("by threads without a range, while only the region's thread had one open"),
        Column::new(Kind::Time, "other_thread_gpu_ns", "GPU time of other threads", |row| {
            row.region.other_thread_gpu_ns.into()
        })
        .help("kernels launched by threads without a range, while only the region's thread had one open"),
        Column::new(Kind::Id, "rank", "rank", |row| row.region.place.origin.rank.into()),
        Column::new(Kind::Id, "recording", "recording", |row| row.region.place.origin.recording.into()),
    ];
    columns.extend(columns_for_people());
    columns.extend(counter_columns(|row: &Row<'p>| row.known.as_ref()));
    columns
}

fn columns_for_people<'p>() -> [Column<'p>; 7] {
    [
        Column::new(Kind::Name, "indented", "region", |row| {
            format!("{}{}", "  ".repeat(row.region.depth), row.region.path).into()
        }),
        Column::new(Kind::Time, "own_wall_ns", "own host", |row| row.own_wall_ns.into())
            .help("without inner regions"),
        Column::new(Kind::Share, "busy", "busy", |row| row.busy().into()).help("of busy and idle time"),
        Column::new(Kind::Text, "largest_cause", "largest idle cause", |row| row.largest_cause().into()),
        Column::new(Kind::Name, "longest_kernel", "longest kernel", |row| {
            row.region.top_kernels.first().map(|kernel| &kernel.name).into()
        })
        .found(),
        Column::new(Kind::Text, "origin", "recording", |row| row.region.place.origin.called().into()),
        Column::new(Kind::Id, "process_called", "process", |row| {
            Cell::from(process_called(row.region.place.process, row.region.place.origin))
        }),
    ]
    .map(Column::for_people)
}

fn more(analysis: &Analysis) -> Option<More> {
    let sum = |of: fn(&analysis::MoreRegions) -> i64| {
        analysis.more_regions.iter().map(of).fold(0, i64::saturating_add)
    };
    (!analysis.more_regions.is_empty()).then(|| More {
        rows: analysis.more_regions.iter().map(|more| more.regions).sum(),
        of: "region",
        named: "path",
        sums: vec![
            ("wall_ns", sum(|more| more.wall_ns).into()),
            ("gpu_inclusive_ns", sum(|more| more.gpu_ns).into()),
        ],
        // Each document has its own wording.
        told: String::new(),
    })
}

/// Regions with their enclosing regions and their device time.
pub(crate) fn region_rows<'p>(page: &Page<'p>, analysis: &'p Analysis) -> Vec<Row<'p>> {
    let all = &analysis.regions;
    let parents = parents(all);
    let mut own: Vec<i64> = all.iter().map(|region| region.wall_ns).collect();
    for (at, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            own[*parent] = own[*parent].saturating_sub(all[at].wall_ns).max(0);
        }
    }
    let mut idle: HashMap<&str, Vec<&IdleRow>> = HashMap::new();
    for row in &analysis.idle {
        if let Some(region) = &row.region {
            idle.entry(region).or_default().push(row);
        }
    }
    let known = page.insight.joined.as_ref().map(by_region).unwrap_or_default();
    let row = |(at, region): (usize, &'p GpuRegion)| {
        let device = region.place.device.filter(|_| analysis.scope.by_device);
        let on = |row: &&&IdleRow| device.is_none_or(|device| row.device == device);
        let idle = idle.get(region.path.as_str()).into_iter().flatten().filter(on).copied();
        Row {
            region: Cow::Borrowed(region),
            stack: stacked(idle),
            parent: parents[at],
            own_wall_ns: own[at],
            known: known.get(region.path.as_str()).cloned(),
        }
    };
    all.iter().enumerate().map(row).collect()
}

/// Rows come after their parents; if rows are split, after the parent of the same place.
fn parents(all: &[GpuRegion]) -> Vec<Option<usize>> {
    let mut last: HashMap<(&str, nvtx::Kind), Vec<usize>> = HashMap::new();
    let mut parents = Vec::with_capacity(all.len());
    for (at, region) in all.iter().enumerate() {
        let known = region.parent.as_deref().and_then(|parent| last.get(&(parent, region.kind)));
        let same = |row: &&usize| all[**row].place == region.place;
        parents.push(known.and_then(|rows| rows.iter().find(same).or(rows.last()).copied()));
        last.entry((region.path.as_str(), region.kind)).or_default().push(at);
    }
    parents
}
