//! Where the host was: while devices had nothing to do, or, in a program without such work, in its loop.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use serde::Serialize;
use trace::{StackSamples, ThreadState, Trace};

use super::growth::Growth;
use super::not_seen::NotSeen;
use super::share::Share;
use super::waited::Waited;
use crate::attribute::Attribution;
use crate::loop_::{Loop, is_slow, median};
use crate::time::{HostLine, OwnPlace, busy, host_places, is_own, own_places};

/// Rows of the table.
const MOST_ROWS: usize = 50;

/// A loop that takes a smaller part of the recording says nothing about the program, and neither do fewer samples.
const MOST_OF_IT: f64 = 0.2;
const FEWEST: usize = 50;
/// Shares that may be so far from the truth are told with a word about it.
const FAR: f64 = 0.1;
/// Of all samples of threads that ran, those of the thread that runs the program.
const RUNS_ALONE: f64 = 0.95;
/// Files of PyTorch, and functions of its data loader in which it waits for other processes.
const DATA_LOADER: &str = "/torch/utils/data/";
const AUTOGRAD: &str = "/torch/autograd/";
const AWAITS: &str = "_get_data";
const MODULES: &str = "/torch/nn/";
/// Functions in which gradients are worked out.
const GRADIENTS: [&str; 3] = ["backward", "grad", "_engine_run_backward"];

/// Where the program's threads were.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HostLines {
    /// Only samples while no GPU had work count; otherwise, all of threads that ran.
    pub gpu_idle: bool,
    pub samples: u64,
    /// They are of the threads that run the main loop, in its steady iterations.
    pub steady: bool,
    /// Of those, how many stacks could not be read. Shares are of all if only samples while no GPU had work count, and else of
    /// those that could be read.
    pub unread: u64,
    /// Steady iterations that they are not of: those that take more than twice as long as usual.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// The largest first.
    pub lines: Vec<HostLine>,
    /// How far the share of the first may be from the truth with 99 % certainty, because samples are few.
    #[serde(skip)]
    pub within: Option<f64>,
    /// Stacks that could not be read, where they are so many that the answer may be another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_seen: Option<NotSeen>,
    /// How long the program waited, if that is a good part of the time: `lines` are of the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited: Option<Waited>,
    #[serde(skip)]
    pub(crate) in_loop: Option<InLoop>,
    #[serde(skip)]
    pub(crate) unmarked: Option<Unmarked>,
    /// Threads were sampled whether they ran or not: parts of the samples are parts of the time. nsys samples those that run.
    #[serde(skip)]
    pub(crate) of_all_time: bool,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A program of which nothing but samples is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Unmarked {
    /// From the first sample of the thread that runs it to its last; None if several threads do.
    pub(crate) alone_ns: Option<i64>,
    /// The part of its samples in which that thread ran, instead of waiting.
    pub(crate) ran: f64,
    /// How well the share of the first place that is not its start is known.
    pub(crate) share: Option<Share>,
}

/// What samples of a loop are of.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct InLoop {
    /// Those that open its ranges.
    pub(crate) threads: Vec<u32>,
    /// Iterations, in order and apart, without those that take much longer than usual, and how many of those there are.
    pub(crate) iterations: Vec<Range<i64>>,
    pub(crate) left_out: u64,
    /// What the first place is about, and how well its share is known.
    pub(crate) first: Doing,
    pub(crate) share: Option<Share>,
    /// The program's own place that makes iterations take longer and longer.
    pub(crate) growth: Option<Growth>,
    /// Where other processes ran meanwhile, the largest first.
    pub(crate) others: Vec<HostLine>,
}

impl InLoop {
    /// Of each iteration, the samples in the first place and all that could be read.
    fn counted(&self, trace: &Trace, places: &[OwnPlace]) -> Vec<(u64, u64)> {
        let mut counts = vec![(0, 0); self.iterations.len()];
        for (at, place) in places.iter().enumerate() {
            for row in &place.rows {
                if let Some(iteration) = iteration_at(&self.iterations, trace.stacks.samples.at[*row]) {
                    counts[iteration].0 += u64::from(at == 0);
                    counts[iteration].1 += 1;
                }
            }
        }
        counts
    }
}

/// What a place does, by the functions of libraries that its samples are in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Doing {
    #[default]
    Anything,
    /// Gets data, in PyTorch's data loader.
    Loading,
    /// Waits for processes that do.
    AwaitsWorkers,
    /// Works out what a model says.
    Forward,
    /// Works out gradients.
    Backward,
}

/// Where the host was while no device had work; in a recording without such work, where the threads of the main loop were, or
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
    let all = 0..samples.len();
    let (rows, mut in_loop): (Vec<usize>, Option<InLoop>) = match &span {
        Some(span) => {
            let is_meant = |row: &usize| {
                let at = samples.at[*row];
                calls[samples.thread[*row] as usize] && span.contains(&at) && !busy.contains(at)
            };
            (all.filter(is_meant).collect(), None)
        }
        // A program that calls CUDA has work, whether it was recorded or not.
        None if trace.calls.is_empty() && trace.cupti_trouble.is_none() => {
            match looped(trace, attribution, loops) {
                Some((rows, in_loop)) => (rows, Some(in_loop)),
                None => (all.filter(|row| samples.state[*row] == ThreadState::Running).collect(), None),
            }
        }
        None => (all.filter(|row| samples.state[*row] == ThreadState::Running).collect(), None),
    };
    let mut of_all = None;
    let mut lines = match &span {
        Some(_) => host_places(trace, rows.iter().copied()),
        None => {
            let places = own_places(trace, &rows, &rows);
            of_all = Share::of(&by_rounds(samples, &places));
            if let Some((in_loop, first)) = in_loop.as_mut().zip(places.first()) {
                in_loop.first = doing(trace, first);
                in_loop.share = Share::of(&in_loop.counted(trace, &places));
                let grows = loops.first().and_then(|main| main.growth_ns);
                let growth = grows.and_then(|_| Growth::of(trace, &in_loop.iterations, &places));
                // What a model or its gradients take is not what the program goes through.
                in_loop.growth = growth.filter(|growth| {
                    matches!(doing(trace, &places[growth.at]), Doing::Anything | Doing::Loading)
                });
            }
            places.into_iter().map(|place| place.line).collect()
        }
    };
    let unread = rows.len() as u64 - lines.iter().map(|line| line.samples).sum::<u64>();
    lines.truncate(MOST_ROWS);
    let within = of_all.map(|share| (share.high - share.likely).max(share.likely - share.low));
    let of_all_time =
        trace.sampling.wall_ns > 0 || samples.state.iter().any(|state| *state != ThreadState::Running);
    let is_unmarked = span.is_none()
        && trace.ranges.is_empty()
        && trace.calls.is_empty()
        && trace.windows.is_empty()
        && trace.cupti_trouble.is_none();
    let (unmarked, waited) = match is_unmarked {
        true => {
            let alone = runs_alone(trace, &rows);
            let waited = of_all_time.then(|| Waited::of(trace, alone)).flatten();
            // Of few samples of threads that ran, it is still known how long they waited.
            let is_enough = rows.len() >= FEWEST || waited.is_some();
            (is_enough.then(|| unmarked(trace, alone, of_all)), waited)
        }
        false => (None, None),
    };
    let found = HostLines {
        gpu_idle: span.is_some(),
        samples: rows.len() as u64,
        steady: in_loop.is_some(),
        unread,
        left_out: in_loop.as_ref().map_or(0, |in_loop| in_loop.left_out),
        not_seen: NotSeen::of(trace, &rows),
        lines,
        within: within.filter(|within| *within > FAR),
        waited,
        in_loop,
        unmarked,
        of_all_time,
    };
    let says_something = !found.lines.is_empty() || found.not_seen.is_some() || found.waited.is_some();
    says_something.then_some(found)
}

/// The thread that runs the program, if only one does, by the samples of threads that ran.
fn runs_alone(trace: &Trace, rows: &[usize]) -> Option<u32> {
    let samples = &trace.stacks.samples;
    let mut ran = vec![0_usize; trace.threads.len()];
    rows.iter().for_each(|row| ran[samples.thread[*row] as usize] += 1);
    let most = (0..ran.len()).max_by_key(|thread| ran[*thread]);
    most.filter(|thread| ran[*thread] as f64 >= RUNS_ALONE * rows.len() as f64).map(|thread| thread as u32)
}

fn unmarked(trace: &Trace, alone: Option<u32>, share: Option<Share>) -> Unmarked {
    let samples = &trace.stacks.samples;
    let Some(thread) = alone else { return Unmarked { share, ..Unmarked::default() } };
    let its = || (0..samples.len()).filter(|row| samples.thread[*row] == thread);
    let ran = its().filter(|row| samples.state[*row] == ThreadState::Running).count();
    let at: Vec<i64> = its().map(|row| samples.at[row]).collect();
    let (first, last) = (at.iter().min().copied(), at.iter().max().copied());
    Unmarked {
        alone_ns: first.zip(last).map(|(first, last)| last.saturating_sub(first)),
        ran: ran as f64 / at.len().max(1) as f64,
        share,
    }
}

/// Of each round of samples, those in the first place that is not the program's start, and all that could be read: threads that
/// are sampled at the same moment often do the same.
fn by_rounds(samples: &StackSamples, places: &[OwnPlace]) -> Vec<(u64, u64)> {
    let first = places.iter().position(|place| !place.line.is_start_up());
    let mut rows: Vec<(usize, bool)> = Vec::new();
    for (at, place) in places.iter().enumerate() {
        rows.extend(place.rows.iter().map(|row| (*row, Some(at) == first)));
    }
    rows.sort_unstable();
    let (mut rounds, mut seen) = (Vec::new(), HashSet::new());
    for (row, is_first) in rows {
        // A thread that comes again is one of the next round.
        if rounds.is_empty() || !seen.insert(samples.thread[row]) {
            rounds.push((0, 0));
            seen = HashSet::from([samples.thread[row]]);
        }
        if let Some(round) = rounds.last_mut() {
            *round = (round.0 + u64::from(is_first), round.1 + 1);
        }
    }
    rounds
}

/// Which of them a moment lies in.
fn iteration_at(iterations: &[Range<i64>], at: i64) -> Option<usize> {
    let before = iterations.partition_point(|one| one.start <= at).checked_sub(1)?;
    iterations[before].contains(&at).then_some(before)
}

/// Samples of the threads that open the ranges of the main loop, in its steady iterations. None if these are too few to speak of
/// the program.
fn looped(trace: &Trace, attribution: &Attribution, loops: &[Loop]) -> Option<(Vec<usize>, InLoop)> {
    let main = loops.first()?;
    let steady = &main.steady;
    let node = steady.node?;
    let time = *steady.on_host.first()?..steady.end;
    let is_its = |range: &usize| {
        attribution.tree.node_of[*range] == node
            && time.contains(&trace.ranges.begin[*range])
            && trace.process_of(trace.ranges.thread[*range]) == steady.process
    };
    let threads: BTreeSet<u32> =
        (0..trace.ranges.len()).filter(is_its).map(|range| trace.ranges.thread[range]).collect();
    let ends = steady.on_host.iter().skip(1).copied().chain([steady.end]);
    let iterations: Vec<Range<i64>> =
        steady.on_host.iter().zip(ends).map(|(begin, end)| *begin..end).collect();
    let length = |iteration: &Range<i64>| iteration.end.saturating_sub(iteration.start).max(0);
    let usual = median(&iterations.iter().map(length).collect::<Vec<_>>())?;
    let all = iterations.len();
    let iterations: Vec<Range<i64>> =
        iterations.into_iter().filter(|one| main.at_once || !is_slow(length(one), usual)).collect();
    let left_out = (all - iterations.len()) as u64;
    let covered = iterations.iter().map(length).fold(0, i64::saturating_add);
    let samples = &trace.stacks.samples;
    let is_meant = |row: &usize| {
        iteration_at(&iterations, samples.at[*row]).is_some() && threads.contains(&samples.thread[*row])
    };
    let rows: Vec<usize> = (0..samples.len()).filter(is_meant).collect();
    let whole = trace.end.saturating_sub(trace.begin);
    if rows.len() < FEWEST || (covered as f64) < MOST_OF_IT * whole as f64 {
        return None;
    }
    let is_elsewhere = |row: &usize| {
        trace.process_of(samples.thread[*row]) != steady.process
            && samples.state[*row] == ThreadState::Running
            && time.contains(&samples.at[*row])
    };
    let elsewhere: Vec<usize> = (0..samples.len()).filter(is_elsewhere).collect();
    let others = own_places(trace, &elsewhere, &elsewhere).into_iter().map(|place| place.line).collect();
    let threads = threads.into_iter().collect();
    Some((rows, InLoop { threads, iterations, left_out, others, ..InLoop::default() }))
}

/// What most samples of a place are about.
pub(super) fn doing(trace: &Trace, place: &OwnPlace) -> Doing {
    let text = |id| trace.strings.text(id);
    let of = |row: usize| {
        let (mut loading, mut backward) = (false, false);
        // Below the program's own line: a module of its own is run by PyTorch, too.
        let (mut forward, mut below) = (false, true);
        for frame in trace.stacks.frames_of(trace.stacks.samples.stack[row]) {
            let (file, function) = (text(frame.file), text(frame.function));
            loading |= file.contains(DATA_LOADER);
            below &= !is_own(trace, frame);
            forward |= below && file.contains(MODULES);
            backward |= file.contains(AUTOGRAD) && GRADIENTS.iter().any(|name| function.ends_with(name));
            if file.contains(DATA_LOADER) && function.ends_with(AWAITS) {
                return Doing::AwaitsWorkers;
            }
        }
        match (loading, backward, forward) {
            (true, _, _) => Doing::Loading,
            (false, true, _) => Doing::Backward,
            (false, false, true) => Doing::Forward,
            (false, false, false) => Doing::Anything,
        }
    };
    let all = [Doing::AwaitsWorkers, Doing::Loading, Doing::Backward, Doing::Forward];
    let seen: Vec<Doing> = place.rows.iter().map(|row| of(*row)).collect();
    let count = |doing: &Doing| seen.iter().filter(|one| *one == doing).count();
    all.into_iter().find(|doing| count(doing) * 2 > place.rows.len()).unwrap_or_default()
}
