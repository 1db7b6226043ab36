//! What one rank did, reduced to what ranks are compared by.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use trace::{ActivityKind, Kind, NONE, StringId, Trace};

use crate::statistics::middle_of;

use super::function::Function;
use crate::attribute::open_at;
use crate::sampled::busy_clocks;

/// Kernels of one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) count: u64,
    pub(super) ns: i64,
}

/// A collective on one rank, by its own clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Done {
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) function: Function,
    /// Number of its group's name, in [`Part::groups`].
    pub(super) group: u32,
    pub(super) group_size: u32,
    /// 0 if unknown.
    pub(super) bytes: u64,
    /// Of its time, when the device did nothing else.
    pub(super) exposed_ns: i64,
    /// Progress is all time but such time. How much of it there was when this could have begun, and when it ended.
    pub(super) ready_at: i64,
    pub(super) ended_at: i64,
}

impl Done {
    pub(super) fn took_ns(&self) -> i64 {
        self.end.saturating_sub(self.begin).max(0)
    }
}

/// A collective that begins so soon after another may have waited for it.
const RIGHT_AFTER_NS: i64 = 5_000;

/// One rank.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    pub(super) rank: u32,
    pub(super) process: u32,
    /// By how much its times were moved: they are on its own clock here.
    pub(super) moved_by: i64,
    pub(super) device: Option<String>,
    pub(super) groups: Vec<String>,
    /// In the order in which they began.
    pub(super) collectives: Vec<Done>,
    /// All kernels, and the time in which the device was busy with anything.
    pub(super) kernels: u64,
    pub(super) busy_ns: i64,
    pub(super) span_ns: i64,
    /// From the end of the first collective to the beginning of the last: the device's other work, and the time with neither
    /// work nor a collective.
    pub(super) working_ns: i64,
    pub(super) idle_ns: i64,
    /// Kernels that began in that time, by name.
    pub(super) work: HashMap<String, Sum>,
    /// That idle time, by the innermost range of the host that was open.
    pub(super) gaps: HashMap<Option<String>, i64>,
    /// How fast the clock was while it worked, where that was sampled.
    pub(super) clock_mhz: Option<f64>,
}

/// One for each rank, in their order; none if fewer than two are known. And a rank that was recorded more than once.
pub(super) fn parts(trace: &Trace) -> (Vec<Part>, Option<u32>) {
    let mut of_rank: HashMap<u32, Vec<u32>> = HashMap::new();
    for (number, process) in (0u32..).zip(&trace.processes) {
        if let Some(rank) = process.rank() {
            of_rank.entry(rank).or_default().push(number);
        }
    }
    if of_rank.len() < 2 {
        return (Vec::new(), None);
    }
    let mut owner = vec![NONE; trace.processes.len()];
    let mut ranks: Vec<(u32, Vec<u32>)> = of_rank.into_iter().collect();
    ranks.sort_unstable();
    for (place, (_, processes)) in (0u32..).zip(&ranks) {
        processes.iter().for_each(|process| owner[*process as usize] = place);
    }
    let mut activities: Vec<Vec<u32>> = vec![Vec::new(); ranks.len()];
    for at in 0..trace.activities.len() {
        let owner = owner[trace.activities.process[at] as usize];
        if owner != NONE && trace.activities.kind[at] != ActivityKind::Migration {
            activities[owner as usize].push(at as u32);
        }
    }
    let (said, hosts) = (said(trace), Hosts::of(trace));
    let of = |((rank, processes), mut activities): ((u32, Vec<u32>), Vec<u32>)| {
        activities.sort_unstable_by_key(|at| trace.activities.begin[*at as usize]);
        part(trace, rank, &processes, &activities, &said, &hosts)
    };
    let mut has_work = vec![false; trace.processes.len()];
    trace.activities.process.iter().for_each(|process| has_work[*process as usize] = true);
    let is_repeated = |(_, processes): &&(u32, Vec<u32>)| {
        let working = processes.iter().filter(|process| has_work[**process as usize]);
        let mut recordings = working.map(|process| trace.recording_of_process(*process));
        let first = recordings.next();
        recordings.any(|recording| Some(recording) != first)
    };
    let repeated = ranks.iter().find(is_repeated).map(|(rank, _)| *rank);
    (ranks.into_iter().zip(activities).map(of).collect(), repeated)
}

/// By process and correlation, the row of what a profiler said about a collective.
fn said(trace: &Trace) -> HashMap<(u32, u32), usize> {
    let rows = &trace.collectives;
    let known = (0..rows.len()).filter(|row| rows.correlation[*row] != NONE);
    known.map(|row| ((rows.process[row], rows.correlation[row]), row)).collect()
}

fn part(
    trace: &Trace,
    rank: u32,
    processes: &[u32],
    activities: &[u32],
    said: &HashMap<(u32, u32), usize>,
    hosts: &Hosts,
) -> Part {
    let working = activities.first().map(|at| trace.activities.process[*at as usize]);
    let process = working.or(processes.first().copied()).unwrap_or(0);
    // On the recording's own clock.
    let moved = trace.recording_of_process(process).and_then(|at| trace.recordings.get(at as usize));
    let moved = moved.map_or(0, |recording| recording.moved_by);
    let mut part = Part {
        rank,
        process: trace.processes.get(process as usize).map_or(0, |process| process.pid),
        moved_by: moved,
        ..Part::default()
    };
    let rows = &trace.activities;
    let mut functions: HashMap<u32, Option<Function>> = HashMap::new();
    let mut function_of = |at: usize| match rows.kind[at] {
        ActivityKind::Kernel => *functions.entry(rows.detail[at]).or_insert_with(|| {
            Function::of_kernel(trace.strings.text(rows.launches[rows.detail[at] as usize].name))
        }),
        _ => None,
    };
    let mut work: Vec<u32> = Vec::new();
    let mut collectives: Vec<(usize, Function)> = Vec::new();
    for at in activities.iter().map(|at| *at as usize) {
        part.kernels += u64::from(matches!(rows.kind[at], ActivityKind::Kernel | ActivityKind::Graph));
        match function_of(at) {
            Some(function) => collectives.push((at, function)),
            None => work.push(at as u32),
        }
    }
    let device =
        activities.first().map(|at| trace.devices[usize::from(rows.device[*at as usize])].name.clone());
    part.device = device.flatten();
    part.clock_mhz = activities.first().and_then(|at| clock_mhz(trace, rows.device[*at as usize]));
    let span = |at: &u32| (rows.begin[*at as usize], rows.end[*at as usize]);
    let worked = Union::of(work.iter().map(span));
    part.span_ns = match (activities.first(), activities.iter().map(|at| rows.end[*at as usize]).max()) {
        (Some(first), Some(end)) => end.saturating_sub(rows.begin[*first as usize]),
        _ => 0,
    };
    let either = Union::of(activities.iter().map(span));
    let progress = |time: i64| {
        time.saturating_sub(moved).saturating_sub(either.until(time).saturating_sub(worked.until(time)))
    };
    part.busy_ns = either.total();
    let launched = Launched::of(trace, &work);
    let mut before = i64::MIN;
    let mut group_numbers: HashMap<String, u32> = HashMap::new();
    for (at, by_name) in &collectives {
        let row = said.get(&(rows.process[*at], rows.correlation[*at])).copied();
        let told = row.map(|row| trace.collectives.row(row));
        let function = told.map_or(*by_name, |told| Function::of_word(trace.strings.text(told.function)));
        let group = told.map(|told| trace.strings.text(told.group).to_owned()).unwrap_or_default();
        let next = group_numbers.len() as u32;
        let number = *group_numbers.entry(group.clone()).or_insert(next);
        if number == next {
            part.groups.push(group);
        }
        let (begin, end) = (rows.begin[*at], rows.end[*at]);
        // Its stream was not free before.
        let is_held_up = begin.saturating_sub(before) <= RIGHT_AFTER_NS;
        let ready = launched.done_before(rows.correlation[*at]).filter(|_| is_held_up);
        before = before.max(end);
        part.collectives.push(Done {
            begin: begin.saturating_sub(moved),
            end: end.saturating_sub(moved),
            function,
            group: number,
            group_size: told.map_or(0, |told| told.group_size),
            bytes: told.map_or(0, |told| function.size(told.bytes_in, told.bytes_out)),
            exposed_ns: (end.saturating_sub(begin)).saturating_sub(worked.within(begin, end)).max(0),
            ready_at: progress(ready.map_or(begin, |ready| ready.min(begin))),
            ended_at: progress(end),
        });
    }
    let host = hosts.of_rank(trace, processes);
    between(trace, &host, &collectives, &work, &worked, &mut part);
    part
}

/// How fast the clock of a device was, most of the time that it was busy.
fn clock_mhz(trace: &Trace, device: u16) -> Option<f64> {
    let of_device = trace.series.iter().filter(|series| series.device == device);
    let clock = of_device.filter_map(|series| {
        let busy = busy_clocks(series, 0..series.len())?;
        middle_of(busy.into_iter().map(f64::from).collect())
    });
    clock.max_by(f64::total_cmp)
}

/// When the work that was launched before something was done. Programs launch a collective after what it needs.
struct Launched {
    /// By correlation, in order, the end of all work until then.
    done: Vec<(u32, i64)>,
}

impl Launched {
    fn of(trace: &Trace, work: &[u32]) -> Self {
        let rows = &trace.activities;
        let known = work.iter().map(|at| *at as usize).filter(|at| rows.correlation[*at] != NONE);
        let mut done: Vec<(u32, i64)> = known.map(|at| (rows.correlation[at], rows.end[at])).collect();
        done.sort_unstable();
        let mut latest = i64::MIN;
        for (_, end) in &mut done {
            latest = latest.max(*end);
            *end = latest;
        }
        Self { done }
    }

    fn done_before(&self, correlation: u32) -> Option<i64> {
        let before = self.done.partition_point(|(other, _)| *other < correlation);
        before.checked_sub(1).filter(|_| correlation != NONE).map(|last| self.done[last].1)
    }
}

/// What happens between the first collective and the last.
fn between(
    trace: &Trace,
    host: &Host<'_>,
    collectives: &[(usize, Function)],
    work: &[u32],
    worked: &Union,
    part: &mut Part,
) {
    let rows = &trace.activities;
    let ((Some((first, _)), Some((last, _))), true) =
        ((collectives.first(), collectives.last()), collectives.len() > 1)
    else {
        return;
    };
    let (begin, end) = (rows.end[*first], rows.begin[*last]);
    if begin >= end {
        return;
    }
    part.working_ns = worked.within(begin, end);
    let mut done = begin;
    for (at, _) in collectives.iter().skip(1) {
        if done < rows.begin[*at] {
            worked.gaps(done, rows.begin[*at], |from, to| {
                let took = to.saturating_sub(from);
                part.idle_ns = part.idle_ns.saturating_add(took);
                let place = host.place(trace, from.saturating_add(took / 2));
                let sum = part.gaps.entry(place).or_default();
                *sum = sum.saturating_add(took);
            });
        }
        done = done.max(rows.end[*at]);
    }
    let mut names: HashMap<u32, Sum> = HashMap::new();
    for at in work.iter().map(|at| *at as usize) {
        if rows.kind[at] == ActivityKind::Kernel && (begin..end).contains(&rows.begin[at]) {
            let sum = names.entry(rows.detail[at]).or_default();
            (sum.count, sum.ns) = (sum.count + 1, sum.ns.saturating_add(rows.duration(at)));
        }
    }
    for (detail, sum) in names {
        let name = trace.strings.text(rows.launches[detail as usize].name).to_owned();
        let known = part.work.entry(name).or_default();
        (known.count, known.ns) = (known.count + sum.count, known.ns.saturating_add(sum.ns));
    }
}

/// Stretches of time, in order and apart.
struct Union {
    spans: Vec<(i64, i64)>,
    /// The time of all before each.
    before: Vec<i64>,
}

impl Union {
    fn of(spans: impl Iterator<Item = (i64, i64)>) -> Self {
        let union = Trace::windows_of(spans.map(|(begin, end)| (begin, end.max(begin))).collect());
        let mut sum = 0i64;
        let before = union.iter().map(|(begin, end)| {
            let all = sum;
            sum = sum.saturating_add(end.saturating_sub(*begin));
            all
        });
        let before = before.collect();
        Self { spans: union, before }
    }

    fn total(&self) -> i64 {
        self.until(i64::MAX)
    }

    /// Of the time before this.
    fn until(&self, time: i64) -> i64 {
        match self.spans.partition_point(|(begin, _)| *begin < time).checked_sub(1) {
            None => 0,
            Some(last) => {
                let (begin, end) = self.spans[last];
                self.before[last].saturating_add(end.min(time).saturating_sub(begin))
            }
        }
    }

    fn within(&self, begin: i64, end: i64) -> i64 {
        self.until(end).saturating_sub(self.until(begin))
    }

    /// What lies between them, from one time to another.
    fn gaps(&self, begin: i64, end: i64, mut see: impl FnMut(i64, i64)) {
        let first = self.spans.partition_point(|(_, until)| *until <= begin);
        let mut from = begin;
        for (start, until) in self.spans.iter().skip(first).take_while(|(start, _)| *start < end) {
            if *start > from {
                see(from, *start);
            }
            from = from.max(*until);
        }
        if from < end {
            see(from, end);
        }
    }
}

/// What the threads of the host have open.
struct Hosts {
    /// By thread: calls.
    calls: Vec<u64>,
    /// By thread: its ranges, domain by domain, in the order in which they begin.
    ranges: Vec<BTreeMap<StringId, Vec<u32>>>,
}

impl Hosts {
    fn of(trace: &Trace) -> Self {
        let mut calls = vec![0; trace.threads.len()];
        trace.calls.thread.iter().for_each(|thread| calls[*thread as usize] += 1);
        let mut ranges: Vec<BTreeMap<StringId, Vec<u32>>> = vec![BTreeMap::new(); trace.threads.len()];
        for range in (0..trace.ranges.len()).filter(|range| trace.ranges.kind[*range] == Kind::PushPop) {
            let of_thread = &mut ranges[trace.ranges.thread[range] as usize];
            of_thread.entry(trace.ranges.domain[range]).or_default().push(range as u32);
        }
        for ranges in ranges.iter_mut().flat_map(BTreeMap::values_mut) {
            ranges.sort_by_key(|range| trace.ranges.begin[*range as usize]);
        }
        Self { calls, ranges }
    }

    /// Its threads, those that make most calls first.
    fn of_rank(&self, trace: &Trace, processes: &[u32]) -> Host<'_> {
        let is_ours = |thread: &usize| {
            processes.contains(&trace.threads[*thread].process) && !self.ranges[*thread].is_empty()
        };
        let mut threads: Vec<usize> = (0..trace.threads.len()).filter(is_ours).collect();
        threads.sort_by_key(|thread| (Reverse(self.calls[*thread]), *thread));
        Host { threads: threads.into_iter().map(|thread| &self.ranges[thread]).collect() }
    }
}

struct Host<'h> {
    threads: Vec<&'h BTreeMap<StringId, Vec<u32>>>,
}

impl Host<'_> {
    /// The innermost range that is open on the first thread that has any.
    fn place(&self, trace: &Trace, time: i64) -> Option<String> {
        let innermost = |ranges: &Vec<u32>| open_at(trace, ranges, time);
        let on_thread = |domains: &&BTreeMap<StringId, Vec<u32>>| {
            domains.values().filter_map(innermost).max_by_key(|range| trace.ranges.begin[*range as usize])
        };
        let open = self.threads.iter().find_map(on_thread)?;
        let name = trace.ranges.name[open as usize];
        let name = trace.patterns.get(&name).copied().unwrap_or(name);
        Some(trace.strings.text(name).to_owned())
    }
}
