//! Where the host was: while devices had nothing to do, or, in a program without such work, in its loop.

use std::ops::Range;

use serde::Serialize;
use trace::{ThreadState, Trace};

use crate::attribute::Attribution;
use crate::loop_::Loop;
use crate::time::{HostLine, busy, host_places, own_places};

/// Rows of the table.
const MOST_ROWS: usize = 50;

/// Where the program's threads were.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HostLines {
    /// Only samples while no GPU had work count; otherwise, all of threads that ran.
    pub gpu_idle: bool,
    pub samples: u64,
    /// They are of the thread of the main loop, in its steady iterations.
    pub steady: bool,
    /// Of those, how many stacks could not be read: shares are of all.
    pub unread: u64,
    /// The largest first.
    pub lines: Vec<HostLine>,
}

/// Where the host was while no device had work; in a recording without such work, where the thread of the main loop was, or
/// else where all threads ran. None if nothing was sampled.
pub(crate) fn host_lines(trace: &Trace, attribution: &Attribution, loops: &[Loop]) -> Option<HostLines> {
    let samples = &trace.stacks.samples;
    if samples.is_empty() {
        return None;
    }
    let busy = busy(trace);
    let span = busy.span();
    let mut calls = vec![false; trace.threads.len()];
    trace.calls.thread.iter().for_each(|thread| calls[*thread as usize] = true);
    let in_loop = loops.first().filter(|_| span.is_none()).and_then(|main| in_loop(trace, attribution, main));
    let is_meant = |row: &usize| match (&span, &in_loop) {
        (Some(span), _) => {
            let at = samples.at[*row];
            calls[samples.thread[*row] as usize] && span.contains(&at) && !busy.contains(at)
        }
        (None, Some((thread, time))) => samples.thread[*row] == *thread && time.contains(&samples.at[*row]),
        (None, None) => samples.state[*row] == ThreadState::Running,
    };
    let rows: Vec<usize> = (0..samples.len()).filter(is_meant).collect();
    let mut lines = match &span {
        Some(_) => host_places(trace, rows.iter().copied()),
        None => own_places(trace, &rows),
    };
    let unread = rows.len() as u64 - lines.iter().map(|line| line.samples).sum::<u64>();
    lines.truncate(MOST_ROWS);
    let found = HostLines {
        gpu_idle: span.is_some(),
        samples: rows.len() as u64,
        steady: in_loop.is_some(),
        unread,
        lines,
    };
    (!found.lines.is_empty()).then_some(found)
}

/// The thread that opens the ranges of a loop, and the time of its steady iterations.
fn in_loop(trace: &Trace, attribution: &Attribution, main: &Loop) -> Option<(u32, Range<i64>)> {
    let node = main.steady.node?;
    let time = *main.steady.on_host.first()?..main.steady.end;
    let ranges = 0..trace.ranges.len();
    let range = ranges.rev().find(|range| {
        attribution.tree.node_of[*range] == node && time.contains(&trace.ranges.begin[*range])
    })?;
    Some((trace.ranges.thread[range], time))
}
