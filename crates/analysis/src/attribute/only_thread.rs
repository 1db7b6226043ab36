//! Whom a thread works for that has no range of its own.
//!
//! Autograd computes gradients on a thread that opens no ranges, for a thread that waits inside one. Nothing
//! records whom a thread works for. But where only one thread of a process has a push/pop range open, what the
//! others start at that moment can be for nobody else. Where several have one, it stays in no range.
//!
//! Gates of nsys and ncu know nothing of this: they look at the ranges of the launching thread.

use trace::{Kind, NONE, Ranges, Trace};

use super::libraries::Libraries;
use super::sweep::by_thread;

/// When one thread of a process is the only one that has a range open.
#[derive(Debug, Default)]
pub(crate) struct OnlyThread {
    /// By process: from when on, and which thread, or [`NONE`] when none has one, or several do.
    since: Vec<Vec<(i64, u32)>>,
}

impl OnlyThread {
    /// A library's range says nothing of whom it is called for.
    pub(super) fn of(trace: &Trace, libraries: &Libraries) -> Self {
        Self::by(trace, libraries, [&trace.ranges])
    }

    /// The same, by these ranges.
    pub(super) fn by<const N: usize>(trace: &Trace, libraries: &Libraries, ranges: [&Ranges; N]) -> Self {
        let mut open: Vec<Vec<(i64, i64)>> = vec![Vec::new(); trace.threads.len()];
        let counts = |(ranges, range): &(&Ranges, usize)| {
            ranges.kind[*range] == Kind::PushPop && !libraries.has(ranges.domain[*range])
        };
        let all = ranges.into_iter().flat_map(|ranges| (0..ranges.len()).map(move |range| (ranges, range)));
        for (ranges, range) in all.filter(counts) {
            let (begin, end) = (ranges.begin[range], ranges.end[range]);
            let stretches = &mut open[ranges.thread[range] as usize];
            match stretches.last_mut() {
                // It begins inside the last one, as most do.
                Some(last) if (last.0..=last.1).contains(&begin) => last.1 = last.1.max(end),
                _ if begin < end => stretches.push((begin, end)),
                _ => {}
            }
        }
        let mut changes: Vec<Vec<(i64, bool, u32)>> = vec![Vec::new(); trace.processes.len()];
        for (thread, stretches) in (0u32..).zip(open) {
            let changes = &mut changes[trace.process_of(thread) as usize];
            for (begin, end) in Trace::windows_of(stretches) {
                changes.extend([(begin, true, thread), (end, false, thread)]);
            }
        }
        Self { since: changes.into_iter().map(since).collect() }
    }

    /// The only thread of a process that has a range open. A range is open when it begins, and no longer when it
    /// ends.
    pub(crate) fn at(&self, process: u32, time: i64) -> Option<u32> {
        let since = self.since.get(process as usize)?;
        let at = since.partition_point(|(from, _)| *from <= time).checked_sub(1)?;
        Some(since[at].1).filter(|thread| *thread != NONE)
    }

    /// The changes in a stretch of time, and the state at its beginning.
    pub(crate) fn within(&self, process: u32, from: i64, to: i64) -> &[(i64, u32)] {
        let Some(since) = self.since.get(process as usize) else { return &[] };
        let first = since.partition_point(|(time, _)| *time <= from).saturating_sub(1);
        &since[first..since.partition_point(|(time, _)| *time < to).max(first)]
    }

    /// The calls of each thread in their order, those of threads without a range at the thread they are for; and by
    /// call, whether it is one of those.
    pub(super) fn calls(&self, trace: &Trace) -> (Vec<Vec<u32>>, Vec<bool>) {
        let mut for_others = vec![false; trace.calls.len()];
        let mut threads = by_thread(trace);
        let mut moved: Vec<Vec<u32>> = vec![Vec::new(); threads.len()];
        for (thread, calls) in (0u32..).zip(&mut threads) {
            let mut since = self.since[trace.process_of(thread) as usize].iter().peekable();
            let mut only = NONE;
            calls.retain(|call| {
                let time = trace.calls.begin[*call as usize];
                while let Some((_, next)) = since.next_if(|(from, _)| *from <= time) {
                    only = *next;
                }
                let is_for_other = only != NONE && only != thread;
                if is_for_other {
                    moved[only as usize].push(*call);
                    for_others[*call as usize] = true;
                }
                !is_for_other
            });
        }
        for (calls, moved) in threads.iter_mut().zip(moved).filter(|(_, moved)| !moved.is_empty()) {
            calls.extend(moved);
            calls.sort_by_key(|call| trace.calls.begin[*call as usize]);
        }
        (threads, for_others)
    }
}

/// From when threads open their first range and close their last one to when one is the only one.
fn since(mut changes: Vec<(i64, bool, u32)>) -> Vec<(i64, u32)> {
    changes.sort_unstable();
    // The sum of the threads that have one open is the only one, where there is one.
    let (mut threads, mut sum) = (0u64, 0u64);
    let mut since: Vec<(i64, u32)> = Vec::new();
    for of_one_time in changes.chunk_by(|a, b| a.0 == b.0) {
        for (_, opens, thread) in of_one_time {
            let (one, number) = (1u64, u64::from(*thread));
            let (one, number) =
                if *opens { (one, number) } else { (one.wrapping_neg(), number.wrapping_neg()) };
            (threads, sum) = (threads.wrapping_add(one), sum.wrapping_add(number));
        }
        let only = if threads == 1 { sum as u32 } else { NONE };
        if since.last().is_none_or(|(_, last)| *last != only) {
            since.push((of_one_time[0].0, only));
        }
    }
    since
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Call, OPEN, Process, Range, Thread};

    /// `(thread, begin, end)` in the default domain. The first three threads are of one process, the fourth of
    /// another.
    fn trace_of(ranges: &[(u32, i64, i64)]) -> Trace {
        let mut trace = Trace {
            processes: vec![Process::default(); 2],
            threads: [0, 0, 0, 1].map(|process| Thread { process, id: 0, name: None }).to_vec(),
            ..Trace::default()
        };
        let domain = trace.strings.intern("");
        for (thread, begin, end) in ranges.iter().copied() {
            trace.ranges.push(Range { thread, domain, name: domain, begin, end, ..Range::default() });
        }
        trace.finish();
        trace
    }

    fn at(ranges: &[(u32, i64, i64)], times: &[i64]) -> Vec<Option<u32>> {
        let only = OnlyThread::of(&trace_of(ranges), &Libraries::default());
        times.iter().map(|time| only.at(0, *time)).collect()
    }

    #[test]
    fn one_is_the_only_one_from_its_begin_to_before_its_end() {
        assert_eq!(at(&[(1, 10, 20)], &[9, 10, 19, 20]), [None, Some(1), Some(1), None]);
        assert_eq!(at(&[(1, 10, OPEN)], &[i64::MAX - 1]), [Some(1)]);
        // One range behind another, one inside another, and one that ends behind the one it began in.
        assert_eq!(at(&[(1, 10, 20), (1, 20, 30)], &[20]), [Some(1)]);
        assert_eq!(at(&[(1, 10, 40), (1, 20, 30)], &[30, 39]), [Some(1); 2]);
        assert_eq!(at(&[(1, 10, 20), (1, 15, 30)], &[25, 30]), [Some(1), None]);
        // What takes no time is never open.
        assert_eq!(at(&[(1, 10, 10), (2, 0, 20)], &[10]), [Some(2)]);
    }

    #[test]
    fn several_are_nobody() {
        let two = [(0, 0, 20), (1, 10, 30)];
        assert_eq!(at(&two, &[9, 10, 19, 20]), [Some(0), None, None, Some(1)]);
        // One closes when the other opens.
        assert_eq!(at(&[(0, 0, 10), (1, 10, 20)], &[9, 10]), [Some(0), Some(1)]);
        // Another process has nothing to do with it.
        assert_eq!(at(&[(0, 0, 10), (3, 0, 20)], &[5, 15]), [Some(0), None]);
    }

    #[test]
    fn stretches_of_time() {
        let only = OnlyThread::of(&trace_of(&[(0, 0, 20), (1, 10, 30)]), &Libraries::default());
        assert_eq!(only.within(0, 5, 20), [(0, 0), (10, NONE)]);
        assert_eq!(only.within(0, 10, 31), [(10, NONE), (20, 1), (30, NONE)]);
        assert_eq!(only.within(1, 0, 100), []);
    }

    #[test]
    fn calls_go_to_the_thread_they_are_for() {
        let mut trace = trace_of(&[(0, 10, 20), (1, 30, 50), (0, 40, 60)]);
        let name = trace.strings.intern("cudaLaunchKernel");
        for (thread, begin) in [(0, 12), (2, 10), (2, 20), (2, 35), (2, 45), (2, 55), (3, 15), (0, 11)] {
            trace.calls.push(Call { begin, end: begin, thread, name, ..Call::default() });
        }
        let (threads, for_others) = OnlyThread::of(&trace, &Libraries::default()).calls(&trace);
        assert_eq!(threads, [vec![1, 7, 0, 5], vec![3], vec![2, 4], vec![6]]);
        assert_eq!(for_others, [false, true, false, true, false, true, false, false]);
    }
}
