//! The recordings of several ranks on one clock.

use analysis::{CommonClock, Ranks};
use trace::{Recording, Trace};

/// Where a time of a process is drawn.
#[derive(Debug, Default)]
pub(super) struct Aligned {
    /// By process; empty if nothing is moved.
    clocks: Vec<Option<CommonClock>>,
    /// Where the common clock is zero.
    zero: i64,
    /// The last time that is drawn.
    pub(super) end: i64,
}

impl Aligned {
    /// Only if the clock of every recording is known: what is not aligned must not look as if it were. One recording has one clock,
    /// however many ranks it has.
    pub(super) fn of(trace: &Trace, ranks: Option<&Ranks>) -> Self {
        let as_they_are = Self { clocks: Vec::new(), zero: 0, end: trace.end };
        let fits =
            |ranks: &&Ranks| trace.windows.is_empty() && trace.recordings.len() > 1 && ranks.clocks.len() > 1;
        let Some(ranks) = ranks.filter(fits) else { return as_they_are };
        let clock_of = |recording: &Recording| {
            let own = || ranks_of(trace, recording);
            ranks.clocks.iter().find(|clock| own().any(|rank| rank == clock.rank)).copied()
        };
        let mut clocks = vec![None; trace.processes.len()];
        for recording in &trace.recordings {
            let clock = clock_of(recording);
            let of_it = clocks.get_mut(recording.processes.start as usize..recording.processes.end as usize);
            of_it.into_iter().flatten().for_each(|place| *place = clock);
        }
        if clocks.iter().any(Option::is_none) {
            return as_they_are;
        }
        // Nothing is drawn before the beginning.
        let first =
            clocks.iter().flatten().map(|clock: &CommonClock| clock.common(trace.begin)).min().unwrap_or(0);
        let zero = trace.begin.saturating_sub(first);
        let last = clocks.iter().flatten().map(|clock| clock.common(trace.end)).max().unwrap_or(0);
        Self { clocks, zero, end: last.saturating_add(zero).max(trace.end) }
    }

    pub(super) fn is_moved(&self) -> bool {
        !self.clocks.is_empty()
    }

    pub(super) fn at(&self, process: u32, time: i64) -> i64 {
        match self.clocks.get(process as usize) {
            Some(Some(clock)) => clock.common(time).saturating_add(self.zero),
            _ => time,
        }
    }
}

/// A process of the recording that a device is in: both are on one clock.
pub(super) fn beside_device(trace: &Trace, device: u16) -> Option<u32> {
    recording_of(trace, device).map(|recording| recording.processes.start)
}

pub(super) fn recording_of(trace: &Trace, device: u16) -> Option<&Recording> {
    trace.recording_of_device(device).and_then(|at| trace.recordings.get(at as usize))
}

/// The ranks whose processes are in a recording.
pub(super) fn ranks_of<'t>(trace: &'t Trace, recording: &Recording) -> impl Iterator<Item = u32> + 't {
    let own = recording.processes.start as usize..recording.processes.end as usize;
    trace.processes.get(own).into_iter().flatten().filter_map(trace::Process::rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{Options, analyze};
    use trace::{Activity, Device, Launch, Process};

    const MS: i64 = 1_000_000;

    /// Kernels, and a collective every ten milliseconds, on a clock that is ahead.
    fn rank(rank: u32, first: i64, ahead: i64) -> Trace {
        let mut trace = Trace::default();
        trace.processes.push(Process { label: format!("rank {rank}"), ..Process::default() });
        trace.devices.push(Device::default());
        for name in ["gemm", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"] {
            let name = trace.strings.intern(name);
            trace.activities.launches.push(Launch { name, short_name: name, ..Launch::default() });
        }
        let mut add = |detail: u32, begin: i64, end: i64| {
            let (begin, end) = (begin + ahead, end + ahead);
            trace.activities.push(Activity { begin, end, detail, ..Activity::default() });
        };
        add(0, first, first + MS);
        (1..20).for_each(|step| add(1, step * 10 * MS, step * 10 * MS + MS));
        trace.finish();
        trace
    }

    /// The second recording begins earlier; drawn, both end their collectives at the same time.
    #[test]
    fn what_happens_together_is_drawn_together() {
        let mut trace = rank(0, 7 * MS, 0);
        trace.recordings = vec![recording()];
        let mut second = rank(1, 0, 3_000 * MS);
        second.recordings = vec![recording()];
        trace.append(second);
        let ranks = analyze(&trace, &Options::default()).ranks.unwrap();
        let ends = |process: u32, at: &dyn Fn(i64) -> i64| -> Vec<i64> {
            let own = |row: &usize| {
                trace.activities.process[*row] == process && trace.activities.detail[*row] % 2 == 1
            };
            (0..trace.activities.len()).filter(own).map(|row| at(trace.activities.end[row])).collect()
        };
        let as_recorded = |time: i64| time;
        assert_ne!(ends(0, &as_recorded), ends(1, &as_recorded));
        let aligned = Aligned::of(&trace, Some(&ranks));
        assert!(aligned.is_moved());
        let drawn = [0, 1].map(|process| ends(process, &|time| aligned.at(process, time)));
        assert_eq!(drawn[0], drawn[1]);
        assert_eq!(drawn[0].len(), 19);
        let first = (0..trace.activities.len())
            .map(|row| aligned.at(trace.activities.process[row], trace.activities.begin[row]))
            .min();
        assert!(first >= Some(trace.begin) && drawn[0].iter().all(|end| *end <= aligned.end));
        // Without a clock nothing is moved.
        assert!(!Aligned::of(&trace, None).is_moved());
    }

    fn recording() -> trace::Recording {
        trace::Recording {
            file: String::new(),
            source: String::new(),
            processes: 0..1,
            devices: 0..1,
            moved_by: 0,
            nothing: None,
        }
    }
}
