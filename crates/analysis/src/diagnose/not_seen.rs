//! Samples whose stacks could not be read: where they are so many that the answer may be another one, they are said first.

use std::collections::HashMap;

use serde::Serialize;
use trace::Trace;

use crate::time::{Starting, is_readable};

/// Fewer cannot move a share by more than this.
const MAY_CHANGE: f64 = 0.05;

/// What could not be read, of samples that something is told by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotSeen {
    pub samples: u64,
    /// Of all of them.
    pub share: f64,
    /// The process with the most first.
    pub processes: Vec<NotSeenIn>,
}

/// The samples of one process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotSeenIn {
    pub process: u32,
    pub name: String,
    pub samples: u64,
    /// The first and the last of them, since the first sample of all.
    pub from_ns: i64,
    pub to_ns: i64,
    /// A sentence, and what to do in a line that begins with `hint: `; if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl NotSeen {
    /// None if what these samples tell is true whatever the others were.
    pub(super) fn of(trace: &Trace, rows: &[usize]) -> Option<Self> {
        let samples = &trace.stacks.samples;
        let process = |row: usize| trace.process_of(samples.thread[row]);
        let starting = Starting::of(trace);
        let mut lost: HashMap<u32, (u64, i64, i64)> = HashMap::new();
        for row in rows.iter().copied().filter(|row| !starting.has(trace, *row)) {
            if !is_readable(trace, samples.stack[row]) {
                let at = samples.at[row];
                let (count, from, to) = lost.entry(process(row)).or_insert((0, at, at));
                (*count, *from, *to) = (*count + 1, at.min(*from), at.max(*to));
            }
        }
        let count: u64 = lost.values().map(|(count, ..)| count).sum();
        let share = count as f64 / rows.len().max(1) as f64;
        if share < MAY_CHANGE {
            return None;
        }
        let first = samples.at.iter().copied().min().unwrap_or(0);
        let mut processes: Vec<NotSeenIn> = lost
            .into_iter()
            .map(|(number, (samples, from, to))| {
                let process = &trace.processes[number as usize];
                let told = trace.sampling.unreadable.iter().rev();
                NotSeenIn {
                    process: process.pid,
                    name: process.name.clone(),
                    samples,
                    from_ns: from.saturating_sub(first),
                    to_ns: to.saturating_sub(first),
                    why: told.into_iter().find(|of| of.pid == process.pid).map(|of| of.why.clone()),
                }
            })
            .collect();
        processes.sort_by_key(|of| (std::cmp::Reverse(of.samples), of.process));
        Some(Self { samples: count, share, processes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Frame, NONE, Process, StackNode, StackSample, Thread, ThreadState, UnreadableProcess};

    const MS: i64 = 1_000_000;

    /// Processes 70 and 71; of each sample, the process, the millisecond, and whether it could be read.
    fn made(all: impl IntoIterator<Item = (u32, i64, bool)>) -> Trace {
        let mut trace = Trace::default();
        let (function, file) = (trace.strings.intern("work"), trace.strings.intern("a.py"));
        trace.stacks.frames.push(Frame { function, file, line: 3 });
        trace.stacks.nodes.push(StackNode { caller: NONE, frame: 0 });
        for process in 0..2 {
            trace.processes.push(Process { pid: 70 + process, name: "python3".into(), ..Process::default() });
            trace.threads.push(Thread { process, id: 70 + process, name: None });
        }
        for (thread, ms, is_read) in all {
            let (at, stack) = (ms * MS, if is_read { 0 } else { NONE });
            trace.stacks.samples.push(StackSample { at, thread, stack, state: ThreadState::Running });
        }
        trace
    }

    fn of(trace: &Trace) -> Option<NotSeen> {
        NotSeen::of(trace, &(0..trace.stacks.samples.len()).collect::<Vec<_>>())
    }

    #[test]
    fn by_process_and_phase() {
        let one = (0..100).map(|ms| (0, ms * 10, true));
        // It becomes unreadable half a second after the first sample.
        let other = (0..100).map(|ms| (1, ms * 10, ms < 50));
        let mut trace = made(one.chain(other));
        let why = "no\nhint: yes".to_owned();
        trace.sampling.unreadable.push(UnreadableProcess { pid: 71, why: why.clone() });
        let found = of(&trace).unwrap();
        assert_eq!((found.samples, found.share, found.processes.len()), (50, 0.25, 1));
        let it = &found.processes[0];
        assert_eq!((it.process, it.from_ns, it.to_ns), (71, 500 * MS, 990 * MS));
        assert_eq!(it.why.as_ref(), Some(&why));
    }

    #[test]
    fn few_of_them_and_the_start_of_a_process_change_nothing() {
        assert_eq!(of(&made((0..100).map(|ms| (0, ms * 10, ms % 25 != 24)))), None);
        assert_eq!(of(&made((0..100).map(|ms| (0, ms * 10, ms >= 9)))), None);
        // Longer than any start, and never.
        assert_eq!(of(&made((0..100).map(|ms| (0, ms * 10, ms >= 30)))).unwrap().samples, 10);
        assert_eq!(of(&made((0..100).map(|ms| (0, ms * 10, false)))).unwrap().samples, 100);
    }
}
