//! Kernels by name, by shape and by family.

use std::collections::HashMap;

use serde::Serialize;
use trace::{Launch, StringId, Trace};

use crate::kernels::families::{Families, Family};
use crate::limit::{Limit, MoreRows};
use crate::scope::{Place, Places, Scope, Split};
use crate::statistics::{Statistics, share};

/// By what kernels are put together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Grouping {
    #[default]
    Name,
    /// Name and launch shape.
    Shape,
    Family,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelRow {
    /// With template arguments and parameters; a family's name when grouped so.
    pub name: String,
    pub short_name: String,
    /// As the compiler wrote it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mangled: Option<String>,
    pub family: Family,
    #[serde(flatten)]
    pub place: Place,
    /// Grid and block, when grouped by shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    #[serde(flatten)]
    pub statistics: Statistics,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub registers: u32,
    pub static_shared_bytes: u32,
    pub dynamic_shared_bytes: u32,
}

#[derive(Debug, Default)]
struct Group {
    durations: Vec<i64>,
    places: Places,
    example: u32,
}

/// Longest total first.
pub fn kernels(trace: &Trace, scope: Scope, grouping: Grouping, families: &Families) -> Vec<KernelRow> {
    kernels_where(trace, scope, grouping, families, |_| true)
}

/// Of the activities that are meant.
pub(crate) fn kernels_where(
    trace: &Trace,
    scope: Scope,
    grouping: Grouping,
    families: &Families,
    is_meant: impl Fn(usize) -> bool,
) -> Vec<KernelRow> {
    let activities = &trace.activities;
    let family_of = families.numbers_of_launches(trace);
    // What a launch is counted under.
    let mut numbers: HashMap<Key, u32> = HashMap::new();
    let key_of: Vec<u32> = activities
        .launches
        .iter()
        .enumerate()
        .map(|(at, launch)| {
            let key = match grouping {
                Grouping::Name => Key::Name(launch.name),
                Grouping::Shape => Key::Launch(*launch),
                Grouping::Family => Key::Family(family_of[at]),
            };
            let next = numbers.len() as u32;
            *numbers.entry(key).or_insert(next)
        })
        .collect();
    let mut groups: Vec<Group> = Vec::new();
    groups.resize_with(numbers.len(), Group::default);
    // Rows of their own for processes and devices come behind those of the first.
    let mut splits: HashMap<(u32, Split), u32> = HashMap::new();
    for activity in 0..activities.len() {
        if !activities.is_shown_kernel(activity) || !is_meant(activity) {
            continue;
        }
        let launch = activities.detail[activity];
        let (process, device) = (activities.process[activity], activities.device[activity]);
        let key = key_of[launch as usize];
        let split = scope.split(process, device);
        let at = if split == Split::default() {
            key
        } else {
            *splits.entry((key, split)).or_insert_with(|| {
                groups.push(Group::default());
                groups.len() as u32 - 1
            })
        };
        let group = &mut groups[at as usize];
        group.durations.push(activities.duration(activity));
        group.places.add(process, device);
        group.example = launch;
    }
    let mut rows: Vec<KernelRow> = groups
        .into_iter()
        .filter_map(|mut group| {
            let launch = activities.launches[group.example as usize];
            let statistics = Statistics::of(&mut group.durations)?;
            let family = families.family(family_of[group.example as usize]).clone();
            let text = |id| trace.strings.text(id).to_owned();
            let (name, short_name) = match grouping {
                Grouping::Family => (family.to_string(), family.to_string()),
                _ => (text(launch.name), text(launch.short_name)),
            };
            let shape = (grouping == Grouping::Shape).then(|| shape(&launch));
            let mangled =
                Some(text(launch.mangled)).filter(|text| !text.is_empty() && grouping != Grouping::Family);
            Some(KernelRow {
                name,
                short_name,
                mangled,
                family,
                place: group.places.place(trace),
                shape,
                statistics,
            })
        })
        .collect();
    share(&mut rows, |row| &mut row.statistics);
    rows.sort_by(|a, b| {
        let by_time = b.statistics.total_ns.cmp(&a.statistics.total_ns);
        by_time.then_with(|| (&a.name, a.place).cmp(&(&b.name, b.place)))
    });
    rows
}

/// Cut to the limit, the rest added up.
pub(crate) fn limited_kernels(mut rows: Vec<KernelRow>, limit: Limit) -> (Vec<KernelRow>, Option<MoreRows>) {
    let bytes =
        |row: &KernelRow| row.name.len() + row.short_name.len() + row.mangled.as_ref().map_or(0, String::len);
    let more = limit.cut(&mut rows, bytes);
    (rows, MoreRows::add_up(more.iter().map(|row| (row.statistics.calls, row.statistics.total_ns))))
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Name(StringId),
    Launch(Launch),
    Family(usize),
}

fn shape(launch: &Launch) -> Shape {
    Shape {
        grid: launch.grid,
        block: launch.block,
        registers: launch.registers,
        static_shared_bytes: launch.static_shared,
        dynamic_shared_bytes: launch.dynamic_shared,
    }
}
