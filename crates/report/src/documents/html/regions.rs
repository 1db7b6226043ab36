//! Regions as a table and as a tree.

use std::collections::HashMap;

use analysis::{Causes, Findings, GpuRegion, IdleRow, Joined, MoreRegions};
use serde_json::{Value, json};

use super::headline::{Stack, stacked, whole};
use super::table::{Kind, Table};
use super::tables::{Known, counter_columns, no_counters};
use crate::form::texts::Texts;
use crate::page::Page;
use crate::units::{count, duration, percent};

/// A region and what the devices did for it.
struct Row<'a> {
    region: &'a GpuRegion,
    stack: Option<Stack>,
    /// Of the regions shown, the one around it.
    parent: Option<usize>,
    /// On the host, without the regions inside it.
    own_wall_ns: i64,
}

/// The table, and what the tree needs besides.
pub(super) fn regions(page: &Page<'_>, findings: &Findings, texts: &mut Texts) -> [(String, Value); 2] {
    let rows = rows(findings);
    let known = page.insight.joined.as_ref().map(by_region);
    let note = left_out(findings);
    let tree = tree(&rows, note.as_deref(), texts);
    let notes: Vec<String> = note.into_iter().chain(no_counters(page)).collect();
    let number = |number: Option<u32>| number.map(f64::from);
    let cause = |row: &Row<'_>| {
        let stack = row.stack?;
        let (cause, ns) = Causes::NAMES.iter().zip(&stack[1..]).max_by_key(|(_, ns)| **ns)?;
        (*ns > 0).then(|| format!("{cause} {}", percent(*ns as f64 / whole(&stack) as f64)))
    };
    let busy = |row: &Row<'_>| row.stack.map(|stack| stack[0] as f64 / whole(&stack).max(1) as f64);
    let top =
        |row: &Row<'_>| row.region.top_kernels.first().map(|kernel| kernel.name.clone()).unwrap_or_default();
    let gpu = !findings.kernels.is_empty();
    let mut table = Table::of("regions", "Regions: all ranges with one path together", &rows)
        .absent("–")
        .note((!notes.is_empty()).then(|| notes.join(" ")))
        .name("region", true, texts, |row| (row.region.path.clone(), row.region.path.clone()))
        .number("instances", Kind::Count, "", |row| Some(row.region.instances as f64))
        .number("host", Kind::Time, "all instances together", |row| Some(row.region.wall_ns as f64))
        .number("own host", Kind::Time, "without the regions inside", |row| Some(row.own_wall_ns as f64));
    if gpu {
        table = table
            .number("GPU time", Kind::Time, "of kernels, with those of the regions inside", |row| {
                Some(row.region.gpu_inclusive_ns as f64)
            })
            .number("own GPU", Kind::Time, "of kernels it started itself", |row| {
                Some(row.region.gpu_exclusive_ns as f64)
            })
            .number(
                "GPU busy",
                Kind::Time,
                "kernels, copies, fills and graphs; what overlaps counts once",
                |row| Some(row.region.gpu_busy_ns as f64),
            )
            .number("busy", Kind::Share, "of busy and idle time", busy)
            .text("largest idle cause", texts, |row| cause(row).unwrap_or_default());
    }
    if let Some(known) = &known {
        table = counter_columns(table, texts, |row| known.get(row.region.path.as_str()));
    }
    if gpu {
        table = table
            .number("kernels", Kind::Count, "", |row| Some(row.region.kernels_inclusive as f64))
            .number("own kernels", Kind::Count, "", |row| Some(row.region.kernels_exclusive as f64))
            .number("copies", Kind::Time, "", |row| Some(row.region.copy_ns as f64))
            .name("longest kernel", true, texts, |row| (top(row), top(row)));
    }
    let (processes, devices) = (findings.scope.by_process, findings.scope.by_device);
    let table = table
        .when(processes, |table| {
            table.number("process", Kind::Number, "", |row| number(row.region.place.process))
        })
        .when(!findings.recordings.is_empty(), |table| {
            table.text("recording", texts, |row| row.region.place.origin.called().unwrap_or_default())
        })
        .when(devices, |table| table.number("GPU", Kind::Number, "", |row| number(row.region.place.device)))
        .into_json();
    [table, ("tree".to_owned(), tree)]
}

/// What the counters say of the kernels that a region started itself.
fn by_region(joined: &Joined) -> HashMap<&str, Known> {
    let mut known: HashMap<&str, Known> = HashMap::new();
    for kernel in &joined.kernels {
        if let Some(region) = &kernel.region {
            known.entry(region).or_default().add(kernel);
        }
    }
    known
}

/// What the findings leave out, added up.
fn left_out(findings: &Findings) -> Option<String> {
    let more = &findings.more_regions;
    let sum = |of: fn(&MoreRegions) -> i64| more.iter().map(of).fold(0, i64::saturating_add) as f64;
    (!more.is_empty()).then(|| {
        format!(
            "The {} regions with the most time; {} more, with {} on the host and {} of kernels, are in `regions.csv`.",
            count(findings.regions.len() as u64),
            count(more.iter().map(|more| more.regions).sum()),
            duration(sum(|more| more.wall_ns)),
            duration(sum(|more| more.gpu_ns))
        )
    })
}

fn rows(findings: &Findings) -> Vec<Row<'_>> {
    let all = &findings.regions;
    let parents = parents(all);
    let mut own: Vec<i64> = all.iter().map(|region| region.wall_ns).collect();
    for (at, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            own[*parent] = own[*parent].saturating_sub(all[at].wall_ns).max(0);
        }
    }
    let mut idle: HashMap<&str, Vec<&IdleRow>> = HashMap::new();
    for row in &findings.idle {
        if let Some(region) = &row.region {
            idle.entry(region).or_default().push(row);
        }
    }
    let mut rows = Vec::new();
    for (at, region) in all.iter().enumerate() {
        let device = region.place.device.filter(|_| findings.scope.by_device);
        let on = |row: &&&IdleRow| device.is_none_or(|device| row.device == device);
        let idle = idle.get(region.path.as_str()).into_iter().flatten().filter(on).copied();
        rows.push(Row { region, stack: stacked(idle), parent: parents[at], own_wall_ns: own[at] });
    }
    rows
}

/// Rows come after those of their parents; where rows are split, after the one of the same place.
fn parents(all: &[GpuRegion]) -> Vec<Option<usize>> {
    let mut last: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    let mut parents = Vec::with_capacity(all.len());
    for (at, region) in all.iter().enumerate() {
        let known = region.parent.as_deref().and_then(|parent| last.get(&(parent, region.kind)));
        let same = |row: &&usize| all[**row].place == region.place;
        parents.push(known.and_then(|rows| rows.iter().find(same).or(rows.last()).copied()));
        last.entry((region.path.as_str(), region.kind)).or_default().push(at);
    }
    parents
}

fn tree(rows: &[Row<'_>], note: Option<&str>, texts: &mut Texts) -> Value {
    let column = |of: &dyn Fn(&Row<'_>) -> Value| rows.iter().map(of).collect::<Vec<Value>>();
    let name = |row: &Row<'_>| match (row.parent, row.region.domain.is_empty()) {
        (None, false) => row.region.path.clone(),
        _ => row.region.name.clone(),
    };
    let names: Vec<u32> = rows.iter().map(|row| texts.id(&name(row))).collect();
    let paths: Vec<u32> = rows.iter().map(|row| texts.id(&row.region.path)).collect();
    let kinds: Vec<bool> = rows.iter().map(|row| row.region.kind != nvtx::Kind::PushPop.as_str()).collect();
    json!({
        "name": names,
        "path": paths,
        "started": kinds,
        "parent": column(&|row| row.parent.map_or(Value::from(-1), Value::from)),
        "instances": column(&|row| row.region.instances.into()),
        "open": column(&|row| row.region.open.into()),
        "wall": column(&|row| row.region.wall_ns.into()),
        "ownWall": column(&|row| row.own_wall_ns.into()),
        "gpu": column(&|row| row.region.gpu_inclusive_ns.into()),
        "ownGpu": column(&|row| row.region.gpu_exclusive_ns.into()),
        "stack": column(&|row| json!(row.stack)),
        "note": note,
    })
}
