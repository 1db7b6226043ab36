//! Places in the program that samples of stacks are in, in words.

use std::collections::HashMap;
use std::ops::Range;

use serde::Serialize;
use trace::{Frame, ThreadState, Trace};

use super::busy::busy;
use super::own_code::own_places;
use crate::attribute::Attribution;
use crate::loop_::Loop;

/// What a function is called that has no name.
const NAMELESS: &str = "?";
/// Places after the first are told if they have this part.
pub(crate) const WORTH_A_WORD: f64 = 0.1;
/// In a sentence.
const MOST_TOLD: usize = 3;
/// Rows of the table.
const MOST_ROWS: usize = 50;

/// Libraries that a program calls, and the kernel: who calls them says more. By the beginning of the file's name.
const NOT_THE_PROGRAM: [&str; 14] = [
    "kernel",
    "ld-linux",
    "ld-2",
    "libc.",
    "libc-2",
    "libm.",
    "libm-2",
    "libpthread",
    "libstdc++",
    "libgcc_s",
    "libcuda.",
    "libcudart",
    "libcupti",
    "libnvidia",
];

/// A place in the program, and the part of the samples that is in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostLine {
    pub place: String,
    pub samples: u64,
    pub share: f64,
}

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
    let span = busy.0.first().zip(busy.0.last()).map(|(first, last)| first.0..last.1);
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

/// `41 % at …, 12 % at …`
pub fn listed(places: &[HostLine]) -> String {
    let told = places.iter().enumerate().take_while(|(at, line)| *at == 0 || line.share >= WORTH_A_WORD);
    let told: Vec<String> = told
        .take(MOST_TOLD)
        .map(|(_, line)| format!("{:.0} % at `{}`", line.share * 100.0, line.place))
        .collect();
    told.join(", ")
}

/// The places of samples, the largest first: the innermost function of the program itself.
pub(crate) fn host_places(trace: &Trace, rows: impl Iterator<Item = usize>) -> Vec<HostLine> {
    let mut counts: HashMap<Option<Frame>, u64> = HashMap::new();
    let mut all = 0u64;
    for row in rows {
        *counts.entry(place(trace, trace.stacks.samples.stack[row])).or_default() += 1;
        all += 1;
    }
    let line = |(frame, samples): (Option<Frame>, u64)| {
        Some(HostLine { place: told(trace, &frame?), samples, share: samples as f64 / all as f64 })
    };
    let mut found: Vec<HostLine> = counts.into_iter().filter_map(line).collect();
    found.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.place.cmp(&b.place)));
    found
}

/// The innermost place that so much of the samples are in or below, where no line stands out.
pub(crate) fn common_place(trace: &Trace, rows: &[usize], most: f64) -> Option<HostLine> {
    let stacks: Vec<Vec<Frame>> = rows
        .iter()
        .map(|row| trace.stacks.frames_of(trace.stacks.samples.stack[*row]).copied().collect())
        .collect();
    let mut inside: Vec<usize> = (0..stacks.len()).collect();
    let mut found = None;
    for depth in 1.. {
        let mut counts: HashMap<Frame, usize> = HashMap::new();
        let at = |stack: usize| stacks[stack].len().checked_sub(depth).map(|at| stacks[stack][at]);
        inside.iter().filter_map(|stack| at(*stack)).for_each(|frame| *counts.entry(frame).or_default() += 1);
        let largest = counts.into_iter().max_by_key(|(frame, count)| (*count, frame.line));
        let Some((frame, count)) = largest.filter(|(_, count)| *count as f64 >= most * rows.len() as f64)
        else {
            break;
        };
        inside.retain(|stack| at(*stack) == Some(frame));
        // How torch calls a module says nothing about which one.
        if !trace.strings.text(frame.file).contains("-packages/torch/") {
            found = Some((frame, count));
        }
    }
    let (frame, count) = found?;
    Some(HostLine {
        place: told(trace, &frame),
        samples: count as u64,
        share: count as f64 / rows.len() as f64,
    })
}

/// None of a stack that could not be read.
pub(super) fn place(trace: &Trace, stack: u32) -> Option<Frame> {
    let text = |id| trace.strings.text(id);
    let frames = || trace.stacks.frames_of(stack);
    let is_named = |frame: &&Frame| text(frame.function) != NAMELESS;
    let is_the_program = |frame: &&Frame| {
        let (file, function) = (text(frame.file), text(frame.function));
        // Code in no file was made while the program ran: who calls it says more.
        if file.is_empty() && function == NAMELESS {
            return false;
        }
        // NVIDIA's runtime may be linked into the program.
        let is_a_library = NOT_THE_PROGRAM.iter().any(|start| file.starts_with(start));
        frame.line > 0 || !(is_a_library || function.starts_with("libcudart_static"))
    };
    frames().find(is_the_program).or_else(|| frames().find(is_named)).copied()
}

/// `modeling_llama.py`; of a name that many files have, with its folder.
pub(super) fn file_name(file: &str) -> &str {
    let from = |folders: usize| file.rmatch_indices('/').nth(folders).map_or(file, |(at, _)| &file[at + 1..]);
    match from(0) {
        "__init__.py" | "__main__.py" => from(1),
        name => name,
    }
}

/// `modeling_llama.py:182 apply_rotary_pos_emb`
pub(super) fn told(trace: &Trace, frame: &Frame) -> String {
    let (file, function) = (trace.strings.text(frame.file), trace.strings.text(frame.function));
    let name = file_name(file);
    match (name.is_empty(), frame.line) {
        _ if function == NAMELESS => format!("code without symbols ({name})"),
        (true, _) => function.to_owned(),
        (false, 0) => format!("{function} ({name})"),
        (false, line) => format!("{name}:{line} {function}"),
    }
}
