//! Kernels, idle causes and the smaller tables of the findings.

use std::collections::HashMap;

use analysis::{Causes, Confidence, Findings, IdleRow, Joined, JoinedKernel, KernelRow};
use serde_json::Value;

use super::headline::stack;
use super::summary::missing;
use super::table::{Kind, Table};
use crate::form::texts::Texts;
use crate::page::Page;
use crate::units::{count, duration, percent};

const NOT_MEASURED: &str = "not measured";

/// What the counters say of several kinds of launches together, by their time.
#[derive(Debug, Default)]
pub(super) struct Known {
    all_ns: i64,
    known_ns: i64,
    other_region: bool,
    bounds: Vec<(&'static str, i64)>,
    /// SM, DRAM, occupancy: the sum of percent times time, and the time.
    percents: [(f64, f64); 3],
}

impl Known {
    pub(super) fn add(&mut self, kernel: &JoinedKernel) {
        self.all_ns = self.all_ns.saturating_add(kernel.gpu_ns);
        if kernel.confidence == Confidence::None {
            return;
        }
        self.known_ns = self.known_ns.saturating_add(kernel.gpu_ns);
        self.other_region |= kernel.confidence == Confidence::OtherRegion;
        let bound = kernel.bound.as_str();
        match self.bounds.iter_mut().find(|(other, _)| *other == bound) {
            Some((_, time)) => *time = time.saturating_add(kernel.gpu_ns),
            None => self.bounds.push((bound, kernel.gpu_ns)),
        }
        // A kernel too short for the clock still has its numbers.
        let time = kernel.gpu_ns.max(1) as f64;
        let values = [kernel.sm_percent, kernel.dram_percent, kernel.occupancy_percent];
        for (sum, value) in self.percents.iter_mut().zip(values) {
            if let Some(value) = value {
                *sum = (sum.0 + value * time, sum.1 + time);
            }
        }
    }

    /// The one with the most time.
    pub(super) fn bound(&self) -> String {
        let most = self.bounds.iter().max_by_key(|(_, time)| *time);
        most.map_or(NOT_MEASURED.to_owned(), |(bound, _)| (*bound).to_owned())
    }

    pub(super) fn percent(&self, at: usize) -> Option<f64> {
        let (sum, time) = self.percents[at];
        (time > 0.0).then(|| sum / time)
    }

    pub(super) fn source(&self) -> String {
        let part = self.known_ns as f64 / self.all_ns.max(1) as f64;
        match (self.bounds.is_empty(), self.other_region) {
            (true, _) => NOT_MEASURED.to_owned(),
            (false, false) => format!("{} of its time", percent(part)),
            (false, true) => format!("{} of its time, in part by other regions", percent(part)),
        }
    }
}

/// Columns that every table with counters has.
pub(super) fn counter_columns<'a, T>(
    table: Table<'a, T>,
    texts: &mut Texts,
    known: impl Fn(&'a T) -> Option<&'a Known>,
) -> Table<'a, T> {
    let absent = || NOT_MEASURED.to_owned();
    table
        .text("bound", texts, |row| known(row).map_or_else(absent, Known::bound))
        .number("SM", Kind::Percent, "of its peak, over the whole time of a launch", |row| {
            known(row)?.percent(0)
        })
        .number("DRAM", Kind::Percent, "of its peak, over the whole time of a launch", |row| {
            known(row)?.percent(1)
        })
        .number("occupancy", Kind::Percent, "warps active, of those that fit", |row| known(row)?.percent(2))
        .text("counters for", texts, |row| known(row).map_or_else(absent, Known::source))
}

/// Why there are no counters beside the timeline, as a note under a table.
pub(super) fn no_counters(page: &Page<'_>) -> Option<String> {
    if page.insight.joined.is_some() {
        return None;
    }
    let otherwise = match page.counters {
        Some(_) => "there is no timeline to set the counters beside",
        None => "no counters were taken",
    };
    let why = missing(page, &["counters"], otherwise);
    Some(format!("Bound, SM, DRAM and occupancy: not measured, because {why}."))
}

fn three(numbers: [u32; 3]) -> String {
    numbers.map(|number| number.to_string()).join("x")
}

pub(super) fn kernels(page: &Page<'_>, findings: &Findings, texts: &mut Texts) -> (String, Value) {
    let rows = &findings.kernels;
    let known = page.insight.joined.as_ref().map(by_kernel);
    let (processes, devices) = (findings.scope.by_process, findings.scope.by_device);
    let shaped = rows.iter().any(|row| row.shape.is_some());
    let number = |number: Option<u32>| number.map(f64::from);
    let short = |row: &KernelRow| if row.short_name.is_empty() { &row.name } else { &row.short_name }.clone();
    let mut table = Table::of("kernels", "Kernels, all launches of a name together", rows)
        .absent(NOT_MEASURED)
        .note(no_counters(page))
        .more_rows(findings.more_kernels)
        .name("kernel", true, texts, |row| (short(row), row.name.clone()))
        .number("share", Kind::Share, "of the time of all kernels", |row| Some(row.statistics.share))
        .number("total", Kind::Time, "", |row| Some(row.statistics.total_ns as f64))
        .sorted()
        .number("calls", Kind::Count, "", |row| Some(row.statistics.calls as f64))
        .number("mean", Kind::Time, "", |row| Some(row.statistics.mean_ns))
        .number("median", Kind::Time, "", |row| Some(row.statistics.median_ns))
        .number("min", Kind::Time, "", |row| Some(row.statistics.min_ns as f64))
        .number("max", Kind::Time, "", |row| Some(row.statistics.max_ns as f64))
        .text("family", texts, |row| row.family.clone());
    if page.insight.joined.is_some() {
        table = counter_columns(table, texts, |row| {
            let shape = row.shape.map(|shape| (shape.grid, shape.block));
            known.as_ref()?.get(&(row.name.as_str(), shape))
        });
    }
    table
        .when(shaped, |table| {
            let shape = |row: &KernelRow| {
                row.shape.map(|shape| format!("{} / {}", three(shape.grid), three(shape.block)))
            };
            table.text("grid / block", texts, |row| shape(row).unwrap_or_default())
        })
        .when(processes, |table| table.number("process", Kind::Number, "", |row| number(row.place.process)))
        .when(!findings.recordings.is_empty(), |table| {
            table.text("recording", texts, |row| row.place.origin.called().unwrap_or_default())
        })
        .when(devices, |table| table.number("GPU", Kind::Number, "", |row| number(row.place.device)))
        .into_json()
}

type KernelKey<'a> = (&'a str, Option<([u32; 3], [u32; 3])>);

/// By name, and by name and shape.
fn by_kernel(joined: &Joined) -> HashMap<KernelKey<'_>, Known> {
    let mut known: HashMap<KernelKey<'_>, Known> = HashMap::new();
    for kernel in &joined.kernels {
        for shape in [None, Some((kernel.grid, kernel.block))] {
            known.entry((kernel.name.as_str(), shape)).or_default().add(kernel);
        }
    }
    known
}

/// Every kind of launch: a kernel in a shape, started in a region.
pub(super) fn launches(joined: &Joined, texts: &mut Texts) -> (String, Value) {
    let source = |row: &JoinedKernel| match row.confidence {
        Confidence::Measured => "this region",
        Confidence::OtherRegion => "another region",
        Confidence::None => NOT_MEASURED,
    };
    let bound = |row: &JoinedKernel| match row.confidence {
        Confidence::None => NOT_MEASURED.to_owned(),
        _ => row.bound.as_str().to_owned(),
    };
    Table::of("launches", "Kernels by region and launch shape", &joined.kernels)
        .absent(NOT_MEASURED)
        .name("kernel", true, texts, |row| (row.short_name.clone(), row.name.clone()))
        .name("region", true, texts, |row| {
            let path = row.region.clone().unwrap_or_else(|| "in no region".to_owned());
            (path.clone(), path)
        })
        .text("grid / block", texts, |row| format!("{} / {}", three(row.grid), three(row.block)))
        .number("share", Kind::Share, "of the GPU's time", |row| Some(row.share))
        .number("time", Kind::Time, "in the timeline, not replayed", |row| Some(row.gpu_ns as f64))
        .sorted()
        .number("launches", Kind::Count, "", |row| Some(row.launches as f64))
        .text("bound", texts, bound)
        .number("SM", Kind::Percent, "of its peak, over the whole time of a launch", |row| row.sm_percent)
        .number("DRAM", Kind::Percent, "of its peak, over the whole time of a launch", |row| row.dram_percent)
        .number("occupancy", Kind::Percent, "warps active, of those that fit", |row| row.occupancy_percent)
        .text("counters from", texts, |row| source(row).to_owned())
        .name("why", false, texts, |row| (row.why.clone(), row.why.clone()))
        .into_json()
}

/// Devices first, then regions by their time.
pub(super) fn idle(findings: &Findings, texts: &mut Texts) -> (String, Value) {
    let mut rows: Vec<&IdleRow> = findings.idle.iter().collect();
    let time = |row: &IdleRow| row.busy_ns.saturating_add(row.idle_ns);
    rows.sort_by_key(|row| (row.region.is_some(), std::cmp::Reverse(time(row))));
    let whole = |row: &IdleRow| time(row).max(1) as f64;
    let cause = |row: &IdleRow, at: usize| {
        let all = stack(row.busy_ns, &row.causes);
        Some(all[at] as f64 / whole(row)).filter(|share| *share > 0.0)
    };
    let mut table = Table::of("idle", "Busy and idle time of devices, in all and by region", &rows)
        .more(findings.more_idle, "; `idle.csv` has them")
        .text("device", texts, |row| row.device_called())
        .name("region", true, texts, |row| {
            let path = row.region.clone().unwrap_or_else(|| "all".to_owned());
            (path.clone(), path)
        })
        .stack("where the time goes", "busy, then what the device waited for", |row| {
            stack(row.busy_ns, &row.causes)
        })
        .number("time", Kind::Time, "busy and idle", |row| Some(time(row) as f64))
        .number("busy", Kind::Part, "", |row| Some(row.busy_share));
    for (at, name) in Causes::NAMES.iter().enumerate() {
        table = table.number(name, Kind::Part, super::headline::meaning(name), |row| cause(row, at + 1));
    }
    table
        .number("queued", Kind::Time, "from call to start, mean", |row| Some(row.queue_delay_mean_ns))
        .number("ahead", Kind::Number, "activities started and not finished at each start, mean", |row| {
            Some(row.launch_ahead_mean)
        })
        .number("at once", Kind::Number, "kernels running at once while any did", |row| row.concurrency)
        .into_json()
}

pub(super) fn stages(findings: &Findings, texts: &mut Texts) -> (String, Value) {
    let ns = |ns: Option<i64>| ns.map(|ns| ns as f64);
    Table::of("stages", "Stages, host time", &findings.stages)
        .absent("–")
        .more_rows(findings.more_stages)
        .name("stage", true, texts, |row| (row.region.clone(), row.region.clone()))
        .when(findings.scope.by_process, |table| {
            table.number("process", Kind::Number, "", |row| row.process.map(f64::from))
        })
        .when(!findings.recordings.is_empty(), |table| {
            table.text("recording", texts, |row| row.origin.called().unwrap_or_default())
        })
        .number("instances", Kind::Count, "", |row| row.times.map(|times| times.count as f64))
        .number("first", Kind::Time, "the first instance", |row| ns(row.first_ns))
        .number("then mean", Kind::Time, "without the first of each process", |row| {
            ns(row.steady.map(|t| t.mean_ns))
        })
        .number("std", Kind::Time, "", |row| ns(row.steady.map(|times| times.std_ns)))
        .number("p50", Kind::Time, "", |row| ns(row.steady.map(|times| times.p50_ns)))
        .number("p95", Kind::Time, "", |row| ns(row.steady.map(|times| times.p95_ns)))
        .number("tokens", Kind::Count, "", |row| row.tokens)
        .number("tokens/s", Kind::Number, "by the time of all instances together", |row| {
            row.tokens_per_second
        })
        .into_json()
}

pub(super) fn operators(findings: &Findings, texts: &mut Texts) -> (String, Value) {
    let more = findings.more_operators.unwrap_or_default();
    let own = duration(more.device_self_ns as f64);
    Table::of("operators", "Operators of the framework", &findings.operators)
        .more(more.operators, &format!(": {} calls, {own} on devices", count(more.calls)))
        .name("operator", true, texts, |row| (row.name.clone(), row.name.clone()))
        .when(findings.scope.by_process, |table| {
            table.number("process", Kind::Number, "", |row| row.process.map(f64::from))
        })
        .when(!findings.recordings.is_empty(), |table| {
            table.text("recording", texts, |row| row.origin.called().unwrap_or_default())
        })
        .number("calls", Kind::Count, "", |row| Some(row.calls as f64))
        .number("host self", Kind::Time, "without the operators it calls", |row| {
            Some(row.host_self_ns as f64)
        })
        .number("host total", Kind::Time, "", |row| Some(row.host_total_ns as f64))
        .number("host mean", Kind::Time, "", |row| Some(row.host_mean_ns))
        .number("device self", Kind::Time, "", |row| Some(row.device_self_ns as f64))
        .number("device total", Kind::Time, "", |row| Some(row.device_total_ns as f64))
        .number("kernels and copies", Kind::Count, "", |row| Some(row.activities as f64))
        .into_json()
}

pub(super) fn copies(findings: &Findings, texts: &mut Texts) -> (String, Value) {
    Table::of("copies", "Copies and fills", &findings.memcpy)
        .text("direction", texts, |row| row.direction.to_owned())
        .number("share", Kind::Share, "of the time of all copies and fills", |row| Some(row.statistics.share))
        .number("total", Kind::Time, "", |row| Some(row.statistics.total_ns as f64))
        .number("calls", Kind::Count, "", |row| Some(row.statistics.calls as f64))
        .number("mean", Kind::Time, "", |row| Some(row.statistics.mean_ns))
        .number("bytes", Kind::Bytes, "", |row| Some(row.bytes as f64))
        .number("bandwidth", Kind::Rate, "", |row| row.bytes_per_second)
        .into_json()
}

pub(super) fn calls(findings: &Findings, texts: &mut Texts) -> (String, Value) {
    Table::of("calls", "CUDA calls, host time", &findings.api)
        .more_rows(findings.more_api)
        .name("call", true, texts, |row| (trace::names::call(&row.name).to_owned(), row.name.clone()))
        .number("share", Kind::Share, "of the time of all calls", |row| Some(row.statistics.share))
        .number("total", Kind::Time, "", |row| Some(row.statistics.total_ns as f64))
        .number("calls", Kind::Count, "", |row| Some(row.statistics.calls as f64))
        .number("mean", Kind::Time, "", |row| Some(row.statistics.mean_ns))
        .number("median", Kind::Time, "", |row| Some(row.statistics.median_ns))
        .number("max", Kind::Time, "", |row| Some(row.statistics.max_ns as f64))
        .text("waits for the device", texts, |row| if row.synchronises { "yes" } else { "" }.to_owned())
        .into_json()
}
