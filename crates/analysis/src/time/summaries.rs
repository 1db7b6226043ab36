//! Copies by direction, and calls by name.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use trace::{ActivityKind, Direction, StringId, Trace};

use crate::attribute::synchronises;
use crate::scope::{Place, Places, Scope, Split};
use crate::statistics::{Statistics, share};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferRow {
    #[serde(serialize_with = "direction_as_text")]
    pub direction: Direction,
    #[serde(flatten)]
    pub place: Place,
    pub bytes: u64,
    /// Bytes a second while it was copied; none when that took no time.
    pub bytes_per_second: Option<f64>,
    #[serde(flatten)]
    pub statistics: Statistics,
}

/// What documents say is decided here, not where traces are read.
fn direction_as_text<S: Serializer>(direction: &Direction, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(direction.as_str())
}

/// Copies, fills and migrations of unified memory, the longest first.
pub fn transfers(trace: &Trace, scope: Scope) -> Vec<TransferRow> {
    let activities = &trace.activities;
    let mut groups: BTreeMap<_, (Vec<i64>, u64, Places)> = BTreeMap::new();
    for activity in 0..activities.len() {
        if matches!(activities.kind[activity], ActivityKind::Kernel | ActivityKind::Graph) {
            continue;
        }
        let transfer = activities.transfers[activities.detail[activity] as usize];
        let (process, device) = (activities.process[activity], activities.device[activity]);
        let group = groups.entry((transfer.direction, scope.split(process, device))).or_default();
        group.0.push(activities.duration(activity));
        group.1 = group.1.saturating_add(transfer.bytes);
        group.2.add(process, device);
    }
    let mut rows: Vec<TransferRow> = groups
        .into_iter()
        .filter_map(|((direction, _), (mut durations, bytes, places))| {
            let statistics = Statistics::of(&mut durations)?;
            let seconds = statistics.total_ns as f64 / 1e9;
            let bytes_per_second = (seconds > 0.0).then(|| bytes as f64 / seconds);
            let place = places.place(trace);
            Some(TransferRow { direction, place, bytes, bytes_per_second, statistics })
        })
        .collect();
    share(&mut rows, |row| &mut row.statistics);
    rows.sort_by_key(|row| std::cmp::Reverse(row.statistics.total_ns));
    rows
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApiRow {
    pub name: String,
    #[serde(flatten)]
    pub place: Place,
    /// It waits for a device.
    pub synchronises: bool,
    #[serde(flatten)]
    pub statistics: Statistics,
}

/// Calls of the CUDA runtime and driver, the longest first.
pub fn api(trace: &Trace, scope: Scope) -> Vec<ApiRow> {
    let calls = &trace.calls;
    let mut groups: BTreeMap<(StringId, Split), (Vec<i64>, Places)> = BTreeMap::new();
    let scope = Scope { by_device: false, ..scope };
    for call in 0..calls.len() {
        let process = trace.process_of(calls.thread[call]);
        let group = groups.entry((calls.name[call], scope.split(process, 0))).or_default();
        group.0.push(calls.end[call].saturating_sub(calls.begin[call]).max(0));
        group.1.add_process(process);
    }
    let mut rows: Vec<ApiRow> = groups
        .into_iter()
        .filter_map(|((name, _), (mut durations, places))| {
            let name = trace.strings.text(name).to_owned();
            Some(ApiRow {
                synchronises: synchronises(&name),
                name,
                place: places.place(trace),
                statistics: Statistics::of(&mut durations)?,
            })
        })
        .collect();
    share(&mut rows, |row| &mut row.statistics);
    rows.sort_by(|a, b| {
        b.statistics
            .total_ns
            .cmp(&a.statistics.total_ns)
            .then_with(|| (&a.name, a.place).cmp(&(&b.name, b.place)))
    });
    rows
}

/// Time that the host waited for devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Synchronisation {
    /// Calls that wait, and how long they took.
    pub calls: u64,
    pub host_ns: i64,
    /// Waits as the driver recorded them, where it did.
    pub recorded: u64,
    pub recorded_ns: i64,
}

pub(crate) fn synchronisation(trace: &Trace, api: &[ApiRow]) -> Synchronisation {
    let waiting = || api.iter().filter(|row| row.synchronises);
    let lengths = trace.syncs.begin.iter().zip(&trace.syncs.end);
    Synchronisation {
        calls: waiting().map(|row| row.statistics.calls).sum(),
        host_ns: waiting().fold(0, |sum: i64, row| sum.saturating_add(row.statistics.total_ns)),
        recorded: trace.syncs.begin.len() as u64,
        recorded_ns: lengths
            .fold(0, |sum: i64, (begin, end)| sum.saturating_add(end.saturating_sub(*begin).max(0))),
    }
}
