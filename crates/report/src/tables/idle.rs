//! Busy and idle time of devices, in total and by region.

use std::borrow::Cow;
use std::cmp::Reverse;

use analysis::{Analysis, Causes, Families, IdleCause, IdleRow, Overlap, every_idle_row};

use super::cell::{Cell, Stack};
use super::column::{self, Kind};
use super::table::{Keys, More, Table, View};
use crate::page::Page;
use crate::units::{duration, percent};

type Row<'p> = Cow<'p, IdleRow>;
type Column<'p> = column::Column<'p, Row<'p>>;

/// People get devices first, then regions by time; programs get all rows in the order of the trace.
pub(crate) fn idle<'p>(page: &Page<'p>, analysis: &'p Analysis) -> Table<'p, Row<'p>> {
    let (mut rows, mut regions): (Vec<&IdleRow>, Vec<&IdleRow>) =
        analysis.idle.iter().partition(|row| row.region.is_none());
    regions.sort_by_key(|row| Reverse(time(row)));
    rows.extend(regions);
    let rows = rows.into_iter().map(Cow::Borrowed).collect();
    let more = (analysis.more_idle > 0).then(|| More {
        rows: analysis.more_idle,
        of: "row",
        named: "region",
        sums: Vec::new(),
        told: "; `idle.csv` has them".to_owned(),
    });
    let beside = ["queue_delay_mean_ns", "launch_ahead_mean", "concurrency"];
    let trace = page.trace.filter(|_| analysis.more_idle > 0);
    Table::new("idle", "Busy and idle time of GPUs, in total and by region", rows, columns())
        .more(more)
        .every(move |see| {
            let mut held = analysis.idle.iter();
            let Some(trace) = trace else { return held.try_for_each(|row| see(&Cow::Borrowed(row))) };
            held.filter(|row| row.region.is_none()).try_for_each(|row| see(&Cow::Borrowed(row)))?;
            // Which kernels communicate matters for devices only.
            every_idle_row(trace, &Families::default(), |row| match row.region {
                Some(_) => see(&Cow::Owned(row)),
                None => Ok(()),
            })
        })
        .view(
            View::Page,
            Keys::of(["device_called", "region", "stack", "time_ns", "busy_share"])
                .and(IdleCause::ALL.map(IdleCause::as_str))
                .and(beside),
        )
        .view(
            View::Screen,
            Keys::of(["device_called", "region", "time_ns", "busy_share", "waits"]).and(beside),
        )
}

fn columns<'p>() -> Vec<Column<'p>> {
    let mut columns = vec![
        Column::new(Kind::Id, "device", "GPU", |row| row.device.into()),
        Column::new(Kind::Text, "device_name", "name", |row| row.device_name.as_deref().into()),
        Column::new(Kind::Name, "region", "region", |row| row.region.as_deref().into()).absent("all").found(),
        Column::new(Kind::Time, "busy_ns", "busy time", |row| row.busy_ns.into()),
        Column::new(Kind::Time, "idle_ns", "idle time", |row| row.idle_ns.into()),
        Column::new(Kind::Part, "busy_share", "busy", |row| row.busy_share.into()),
        cause("causes.host_ns", |causes| causes.host_ns),
        cause("causes.sync_ns", |causes| causes.sync_ns),
        cause("causes.copy_ns", |causes| causes.copy_ns),
        cause("causes.launch_ns", |causes| causes.launch_ns),
        cause("causes.true_gap_ns", |causes| causes.true_gap_ns),
        cause("causes.unknown_ns", |causes| causes.unknown_ns),
        Column::new(Kind::List, "cause_shares", "causes", |row| Cell::list(&row.cause_shares)),
        Column::new(Kind::Time, "queue_delay_mean_ns", "mean queue delay", |row| {
            Cell::Nanoseconds(row.queue_delay_mean_ns)
        })
        .help("from call to start, mean"),
        Column::new(Kind::Time, "queue_delay_max_ns", "max queue delay", |row| row.queue_delay_max_ns.into()),
        Column::new(Kind::Number(1), "launch_ahead_mean", "in flight", |row| row.launch_ahead_mean.into())
            .help("activities launched but not finished at each launch, mean"),
        Column::new(Kind::Count, "launch_ahead_max", "max in flight", |row| row.launch_ahead_max.into()),
        Column::new(Kind::Number(2), "concurrency", "concurrency", |row| row.concurrency.into())
            .help("kernels running at once while any runs, mean"),
        overlap("overlap.copy_ns", "copies", |overlap| overlap.copy_ns),
        overlap("overlap.copy_beside_kernels_ns", "copies overlapped with kernels", |overlap| {
            overlap.copy_beside_kernels_ns
        }),
        overlap("overlap.communication_ns", "communication", |overlap| overlap.communication_ns),
        overlap(
            "overlap.communication_beside_kernels_ns",
            "communication overlapped with kernels",
            |overlap| overlap.communication_beside_kernels_ns,
        ),
        Column::new(Kind::Time, "in_ranges_ns", "in ranges", |row| row.in_ranges_ns.into()),
        Column::new(Kind::Id, "rank", "rank", |row| row.origin.rank.into()),
        Column::new(Kind::Id, "recording", "recording", |row| row.origin.recording.into()),
        Column::new(Kind::Text, "device_called", "device", |row| row.device_called().into()).for_people(),
        Column::new(Kind::Stack, "stack", "where the time goes", |row| {
            Cell::Stack(stack(row.busy_ns, &row.causes))
        })
        .help("busy time, then idle time by cause")
        .for_people(),
        Column::new(Kind::Time, "time_ns", "busy + idle", |row| time(row).into())
            .help("busy time, and idle time before its own work")
            .for_people(),
        Column::new(Kind::Text, "waits", "idle causes", |row| waits(row).into()).for_people(),
    ];
    // Parts of the time, where `causes` are nanoseconds.
    columns.extend(IdleCause::ALL.into_iter().enumerate().map(|(at, cause)| {
        Column::new(Kind::Part, cause.as_str(), cause.as_str(), move |row| {
            let part = row.causes.times()[at] as f64 / time(row).max(1) as f64;
            Some(part).filter(|part| *part > 0.0).into()
        })
        .help(meaning(cause))
        .for_people()
    }));
    columns
}

fn cause<'p>(key: &'static str, of: fn(&Causes) -> i64) -> Column<'p> {
    Column::new(Kind::Time, key, key, move |row| of(&row.causes).into())
}

fn overlap<'p>(key: &'static str, title: &'static str, of: fn(&Overlap) -> i64) -> Column<'p> {
    Column::new(Kind::Time, key, title, move |row| row.overlap.as_ref().map(of).into())
}

fn time(row: &IdleRow) -> i64 {
    row.busy_ns.saturating_add(row.idle_ns)
}

pub(crate) fn stack(busy_ns: i64, causes: &Causes) -> Stack {
    let [host, sync, copy, launch, true_gap, unknown] = causes.times();
    [busy_ns, host, sync, copy, launch, true_gap, unknown]
}

/// All of several rows.
pub(crate) fn stacked<'a>(rows: impl Iterator<Item = &'a IdleRow>) -> Option<Stack> {
    let stacks = rows.map(|row| stack(row.busy_ns, &row.causes));
    stacks.reduce(|sum, row| std::array::from_fn(|at| sum[at].saturating_add(row[at])))
}

/// Busy and idle time together; a damaged trace may hold any times at all.
pub(crate) fn whole(stack: &Stack) -> i64 {
    stack.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
}

/// `host 91.0 %, launch 3.0 %`
fn waits(row: &IdleRow) -> String {
    let causes = row.cause_shares.iter().filter(|(_, share)| *share >= 0.005).take(3);
    let causes: Vec<String> = causes.map(|(cause, share)| format!("{cause} {}", percent(*share))).collect();
    causes.join(", ")
}

/// `6.7 % of the 4.36 s from its first to its last activity; idle: host 73.8 %`, with as many causes.
pub(crate) fn busy_of_time(row: &IdleRow, causes: usize) -> String {
    let causes = row.cause_shares.iter().take(causes);
    let causes: Vec<String> = causes.map(|(cause, share)| format!("{cause} {}", percent(*share))).collect();
    let idle = if causes.is_empty() { String::new() } else { format!("; idle: {}", causes.join(", ")) };
    let time = duration(time(row) as f64);
    format!("{} of the {time} from its first to its last activity{idle}", percent(row.busy_share))
}

/// What a device waits for, in a few words.
pub(crate) fn meaning(cause: IdleCause) -> &'static str {
    match cause {
        IdleCause::Host => "the CPU had not launched work yet",
        IdleCause::Sync => "the CPU was blocked in a synchronization",
        IdleCause::Copy => "the CPU was blocked in a copy",
        IdleCause::Launch => "launch latency: from the call to the start on the GPU",
        IdleCause::TrueGap => "work was queued, but waited for an event or another stream",
        IdleCause::Unknown => "the launching call is unknown",
    }
}
