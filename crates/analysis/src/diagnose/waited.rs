//! How long a program waits: the time in which none of its threads runs.

use std::collections::HashSet;

use serde::Serialize;
use trace::{ThreadState, Trace};

use crate::time::{HostLine, own_places};

/// A shorter part of the time is not worth a word.
const WORTH_A_WORD: f64 = 0.1;
/// A place where a thread waits for most of that time.
const MOST: f64 = 0.5;
/// Fewer moments say nothing.
const FEWEST: usize = 50;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waited {
    /// None of the program's threads ran for so long, of the time from the first sample to the last.
    pub waited_ns: i64,
    pub of_ns: i64,
    /// Where the thread that runs the program waited for most of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<HostLine>,
}

impl Waited {
    /// None if it waits for a small part of the time. `alone` is the thread that runs the program, if only one does.
    pub(super) fn of(trace: &Trace, alone: Option<u32>) -> Option<Self> {
        let samples = &trace.stacks.samples;
        let moments = moments(trace);
        let is_idle = |rows: &&Vec<usize>| rows.iter().all(|row| samples.state[*row] != ThreadState::Running);
        let idle: Vec<&Vec<usize>> = moments.iter().filter(is_idle).collect();
        let part = idle.len() as f64 / moments.len().max(1) as f64;
        if moments.len() < FEWEST || part < WORTH_A_WORD {
            return None;
        }
        let (first, last) = (samples.at.iter().min()?, samples.at.iter().max()?);
        let of_ns = last.saturating_sub(*first).saturating_add(trace.stacks.interval_ns);
        let at = alone.and_then(|thread| {
            let is_its = |row: &usize| samples.thread[*row] == thread;
            let among: Vec<usize> = (0..samples.len()).filter(is_its).collect();
            let rows: Vec<usize> = idle.iter().copied().flatten().copied().filter(is_its).collect();
            own_places(trace, &rows, &among).into_iter().next().map(|place| place.line)
        });
        let at = at.filter(|line| line.share >= MOST);
        Some(Self { waited_ns: (of_ns as f64 * part) as i64, of_ns, at })
    }

    pub fn share(&self) -> f64 {
        self.waited_ns as f64 / self.of_ns.max(1) as f64
    }
}

/// Samples that were taken at one moment, each thread once, in the order of time.
fn moments(trace: &Trace) -> Vec<Vec<usize>> {
    let samples = &trace.stacks.samples;
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by_key(|row| samples.at[*row]);
    let mut moments: Vec<Vec<usize>> = Vec::new();
    let (mut begin, mut seen) = (i64::MIN, HashSet::new());
    for row in order {
        let (at, thread) = (samples.at[row], samples.thread[row]);
        if moments.is_empty() || at.saturating_sub(begin) > trace.stacks.interval_ns || seen.contains(&thread)
        {
            begin = at;
            seen.clear();
            moments.push(Vec::new());
        }
        seen.insert(thread);
        if let Some(last) = moments.last_mut() {
            last.push(row);
        }
    }
    moments
}
