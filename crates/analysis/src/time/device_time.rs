//! How the devices of a process spend a stretch of time: they work, or they wait for something. The two add up to all of
//! it, as far as it was recorded.

use trace::{ActivityKind, NONE, Trace};

use super::idle_walk::gap_causes;
use super::waits::Waits;
use crate::attribute::Attribution;
use crate::idle_causes::Causes;
use crate::loop_::Steady;

/// Of a stretch of time. A device works as long as any of them does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DeviceTime {
    pub(crate) busy_ns: i64,
    pub(crate) causes: Causes,
}

impl DeviceTime {
    pub(crate) fn whole(self) -> i64 {
        self.busy_ns.saturating_add(self.causes.total())
    }

    pub(crate) fn busy_share(self) -> f64 {
        self.busy_ns as f64 / self.whole().max(1) as f64
    }
}

/// What each process gave to its devices, in the order in which they began with it.
pub(crate) struct Devices<'t> {
    trace: &'t Trace,
    attribution: &'t Attribution,
    waits: Waits,
    of_process: Vec<Work>,
    /// When any device was busy with work that is not looked at.
    left_out: Vec<(i64, i64)>,
}

#[derive(Default)]
struct Work {
    activities: Vec<u32>,
    /// When all of them up to each one have ended.
    ended: Vec<i64>,
}

impl<'t> Devices<'t> {
    pub(crate) fn of(trace: &'t Trace, attribution: &'t Attribution) -> Self {
        let rows = &trace.activities;
        let mut of_process: Vec<Work> = trace.processes.iter().map(|_| Work::default()).collect();
        for activity in (0..rows.len()).filter(|at| rows.kind[*at] != ActivityKind::Migration) {
            of_process[rows.process[activity] as usize].activities.push(activity as u32);
        }
        for Work { activities, ended } in &mut of_process {
            let begin = |activity: &u32| rows.begin[*activity as usize];
            if !activities.is_sorted_by_key(begin) {
                activities.sort_by_key(begin);
            }
            let mut until = i64::MIN;
            ended.extend(activities.iter().map(|activity| {
                until = until.max(rows.end[*activity as usize]);
                until
            }));
        }
        let left_out = Trace::windows_of(trace.left_out.iter().flatten().copied().collect());
        Self { trace, attribution, waits: Waits::of(trace), of_process, left_out }
    }

    /// In the steady iterations of a loop; None if they do not work in them.
    pub(crate) fn in_loop(&self, steady: &Steady) -> Option<DeviceTime> {
        self.between(steady.process, *steady.on_device.first()?, steady.end)
    }

    fn between(&self, process: u32, from: i64, to: i64) -> Option<DeviceTime> {
        let rows = &self.trace.activities;
        let Work { activities, ended } = &self.of_process[process as usize];
        let first = ended.partition_point(|ended| *ended <= from);
        let behind = activities.partition_point(|activity| rows.begin[*activity as usize] < to);
        let inside = activities.get(first..behind)?;
        let mut time = DeviceTime::default();
        let mut until = from;
        for activity in inside {
            let (begin, end) = (rows.begin[*activity as usize], rows.end[*activity as usize]);
            self.wait(&mut time.causes, (until, begin), |causes, from, to| {
                causes.add(gap_causes(self.trace, self.attribution, &self.waits, *activity, from, to));
            });
            time.busy_ns = time.busy_ns.saturating_add(end.min(to).saturating_sub(begin.max(until)).max(0));
            until = until.max(end.min(to));
        }
        if time.busy_ns == 0 {
            return None;
        }
        self.wait(&mut time.causes, (until, to), |causes, from, to| match activities.get(behind) {
            Some(next) => {
                causes.add(gap_causes(self.trace, self.attribution, &self.waits, *next, from, to));
            }
            None => self.no_more(causes, inside.last().copied(), from, to),
        });
        Some(time)
    }

    /// Tells those parts of a gap of which it is known that no device worked in them.
    fn wait(&self, causes: &mut Causes, (from, to): (i64, i64), mut tell: impl FnMut(&mut Causes, i64, i64)) {
        let windows = &self.trace.windows;
        let all = [(from, to)];
        let recorded = if windows.is_empty() { &all } else { around(windows, from, to) };
        for (begin, end) in recorded.iter().map(|(begin, end)| (from.max(*begin), to.min(*end))) {
            let mut since = begin;
            for (other, other_end) in around(&self.left_out, begin, end) {
                if since < *other {
                    tell(causes, since, *other);
                }
                since = since.max(*other_end);
            }
            if since < end {
                tell(causes, since, end);
            }
        }
    }

    /// Nothing is launched any more: the thread that launched the last work waits, or does something else.
    fn no_more(&self, causes: &mut Causes, last: Option<u32>, from: i64, to: i64) {
        let call = last.map_or(NONE, |last| self.attribution.call[last as usize]);
        let gap = to.saturating_sub(from);
        if call == NONE {
            causes.unknown_ns = causes.unknown_ns.saturating_add(gap);
            return;
        }
        let (sync, copy) = self.waits.within(self.trace.calls.thread[call as usize], from, to);
        let host_ns = gap.saturating_sub(sync).saturating_sub(copy).max(0);
        causes.add(Causes { sync_ns: sync, copy_ns: copy, host_ns, ..Causes::default() });
    }
}

/// Of stretches that are in order and apart, those that reach into another one.
fn around(stretches: &[(i64, i64)], from: i64, to: i64) -> &[(i64, i64)] {
    let first = stretches.partition_point(|(_, end)| *end <= from);
    let behind = stretches.partition_point(|(begin, _)| *begin < to);
    &stretches[first..behind.max(first)]
}
