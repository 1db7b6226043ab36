//! What the thread that runs the loop executes, where its stack was sampled.

use std::collections::HashMap;

use trace::{ThreadState, Trace};

use super::{StackTime, on_host};
use crate::attribute::Attribution;
use crate::loop_::Loop;
use crate::time::waiting;

/// Distinct stacks that are kept, those with the most samples; the others together are one.
const MOST_STACKS: usize = 1_000;
const OTHERS: &str = "(other stacks)";

/// An iteration by stacks, the longest first, and how many samples that is of. Nothing if none was sampled in the steady
/// iterations.
pub(super) fn stacks(trace: &Trace, attribution: &Attribution, main: &Loop) -> (Vec<StackTime>, u64) {
    let samples = &trace.stacks.samples;
    let Some(begin) = main.steady.on_host.first().copied().filter(|_| !samples.is_empty()) else {
        return Default::default();
    };
    let end = main.steady.end;
    let Some(thread) = on_host::thread(trace, attribution, main, begin, end) else {
        return Default::default();
    };
    let mut seen: HashMap<(u32, ThreadState), u64> = HashMap::new();
    let is_inside = |row: &usize| samples.thread[*row] == thread && (begin..end).contains(&samples.at[*row]);
    for row in (0..samples.len()).filter(is_inside) {
        *seen.entry((samples.stack[row], samples.state[row])).or_default() += 1;
    }
    let all: u64 = seen.values().sum();
    let iteration = end.saturating_sub(begin) as f64 / main.steady.on_host.len() as f64;
    let time = |samples: u64| iteration * samples as f64 / all.max(1) as f64;
    // What differs only in lines is the same.
    let mut by_frames: HashMap<Vec<String>, u64> = HashMap::new();
    for ((stack, state), samples) in seen {
        *by_frames.entry(frames(trace, stack, state)).or_default() += samples;
    }
    let mut rows: Vec<(Vec<String>, u64)> = by_frames.into_iter().collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rest: u64 = rows.iter().skip(MOST_STACKS).map(|(_, samples)| samples).sum();
    rows.truncate(MOST_STACKS);
    if rest > 0 {
        rows.push((vec![OTHERS.to_owned()], rest));
    }
    (rows.into_iter().map(|(frames, samples)| StackTime { frames, ns: time(samples) }).collect(), all)
}

/// Functions with their files, the outermost first; then what the thread waits for.
fn frames(trace: &Trace, stack: u32, state: ThreadState) -> Vec<String> {
    let text = |id| trace.strings.text(id);
    let mut frames: Vec<String> = trace
        .stacks
        .frames_of(stack)
        .map(|frame| {
            let file = text(frame.file);
            let file = file.rsplit('/').next().unwrap_or(file);
            format!("{} {file}", text(frame.function)).trim_end().to_owned()
        })
        .collect();
    frames.reverse();
    frames.extend(waiting(state, frames.is_empty()).map(str::to_owned));
    frames
}
