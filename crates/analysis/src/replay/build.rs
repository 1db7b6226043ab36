//! The graph of the steady iterations of a loop, from a trace.

use std::collections::HashMap;

use trace::{NONE, StringId, Trace};

use super::awaited::Done;
use super::graph::{Call, Graph, QUICK, StreamWait, Work};
use super::index::Index;
use super::recorded::{Called, SLACK, Worked, calls_between, works_ahead, works_of};
use super::streams::{Order, StreamOrder};
use crate::attribute::Attribution;
use crate::loop_::{Steady, median, warm_up};

/// Times further apart than this, five hours, are those of a damaged file.
const SANE: u64 = 1 << 44;
/// A graph gets no larger: iterations are alike.
const MOST_CALLS: usize = 40_000;
/// A single iteration may be that large: a whole generation, if nothing smaller repeats.
const MOST_OF_ONE: usize = 2_000_000;
/// An iteration in which something else happens is longer by this factor, and its calls differ by this share.
const LONGER: f64 = 1.5;
const OTHER_CALLS: f64 = 0.1;
/// A shorter row of iterations says too little.
const FEWEST_ALIKE: usize = 3;
/// Works before the loop that its first calls may wait for: a launch queue has about a thousand places.
const LEAD_IN: usize = 2_048;
/// From a call to its work and from one work to the next, where the recording does not show it.
const USUAL_LAG: i64 = 8_000;
const USUAL_GAP: i64 = 1_000;
/// Threads take turns when their calls overlap by no more of the time than this.
const TURNS: f64 = 0.02;
/// Streams with less of the work do not count as several.
const SEVERAL: f64 = 0.01;

/// None when there is too little to replay.
pub(crate) fn build(
    trace: &Trace,
    attribution: &Attribution,
    index: &Index,
    steady: &Steady,
) -> Option<Graph> {
    let (first, last) = chosen(trace, index, steady)?;
    let (from, to) = (steady.on_host[first], steady.on_host[last]);
    let since = before(steady, first).min(queued_since(trace, attribution, index, steady.process, from));
    let calls = calls_between(trace, index.calls(trace, steady.process, since, to));
    let (called, activities) = works_of(trace, attribution, index, steady.process, &calls);
    let mut works = works_ahead(trace, index, steady.process, (&called, since), LEAD_IN);
    let ahead = works.len();
    works.extend(called);
    if !is_sane(&calls, &works, steady, first) {
        return None;
    }
    let in_loop = calls.iter().position(|call| call.begin >= from)?;
    let streams = number_streams(&mut works);
    let (mut graph, mut unknown) = (Graph::default(), None);
    if !take_turns(&calls[in_loop..], to - from) {
        unknown = Some(
            "several threads start work at the same time, and nothing recorded says how they wait for each other",
        );
    }
    let first_work = ahead + works[ahead..].partition_point(|work| (work.call as usize) < in_loop);
    let order = match several_streams(&works[first_work..], streams) {
        false => StreamOrder::default(),
        true => StreamOrder::of(trace, steady.process, &works, from).unwrap_or_else(|| {
            unknown =
                Some("work runs on several streams, and the recording does not say which waits for which");
            StreamOrder::default()
        }),
    };
    let lags = Lags::of(&calls, (&works, ahead), &order);
    let mut done = Done::new(streams);
    let mut last_in_stream: Vec<Option<usize>> = vec![None; streams];
    for (work, queued) in works[..ahead].iter().enumerate() {
        last_in_stream[usize::from(queued.stream)] = Some(work);
    }
    done.queue(0..ahead, &works);
    let mut next = ahead;
    let mut host_end: Option<i64> = None;
    for (at, call) in calls.iter().enumerate() {
        let own = next..next + works[next..].iter().take_while(|work| work.call as usize == at).count();
        let mut launched = Vec::with_capacity(own.len());
        for work in own.clone() {
            let stream = usize::from(works[work].stream);
            let before = last_in_stream[stream].replace(work);
            let others = order.before(work);
            launched.push(lags.work(call, &works, work, before, others));
            if at >= in_loop {
                graph.stream_waits.extend(others.iter().map(|Order { before, .. }| StreamWait {
                    work: (work - first_work) as u32,
                    back: (work - *before as usize) as u32,
                    gap: lags.gap_behind(call, &works, work, *before as usize),
                }));
            }
        }
        next = own.end;
        let awaited = done.awaited(call, &works, own.clone());
        if at >= in_loop {
            let start = graph.works.len() as u32;
            let call_number = graph.calls.len() as u32;
            graph.works.extend(launched.into_iter().map(|work| Work { call: call_number, ..work }));
            let gap = host_end.map_or(0, |end| call.begin - end).max(0);
            let waited = awaited.map_or(0, |(_, end)| end - call.begin).clamp(0, call.end - call.begin);
            let holds_up = waited > 0;
            graph.calls.push(Call {
                call: call.call,
                kind: call.kind,
                gap,
                own: if holds_up { (call.end - call.begin).min(QUICK) } else { call.end - call.begin },
                awaits: awaited.map(|(work, _)| (own.start as i64 - work as i64).max(0) as u32),
                tail: awaited.filter(|_| holds_up).map_or(0, |(_, end)| call.end - end),
                waited,
                works: start..graph.works.len() as u32,
            });
        }
        host_end = Some(host_end.map_or(call.end, |end| end.max(call.end)));
    }
    // The first call follows the last one of the iteration before, which is one of these when they go round.
    if let (Some(call), Some(end)) = (graph.calls.first_mut(), host_end) {
        call.gap = (calls[in_loop].begin - from) + (to - end).max(0);
    }
    let on = if graph.works.is_empty() { &steady.on_host } else { &steady.on_device };
    (graph.activities, graph.streams) = (activities, streams);
    (graph.first, graph.iterations) = (first, last - first);
    graph.measured = (on[last] - on[first]) as f64 / (last - first) as f64;
    graph.unknown = unknown;
    Some(graph)
}

/// The iterations that are replayed: whole ones, from the beginning of one to that of another.
fn chosen(trace: &Trace, index: &Index, steady: &Steady) -> Option<(usize, usize)> {
    let (mut first, last) = longest_alike(trace, index, steady)?;
    // From the whole loop to its last part.
    let calls =
        |first: usize| index.calls(trace, steady.process, steady.on_host[first], steady.on_host[last]).len();
    while first + 1 < last && calls(first) > MOST_CALLS {
        first = first.midpoint(last).max(first + 1).min(last - 1);
    }
    (first < last && calls(first) <= MOST_OF_ONE).then_some((first, last))
}

/// The longest row of iterations without one in which something else happens: prefill between two decode steps of a
/// generation, a checkpoint. Those take longer and make another number of calls; one that is only slow belongs to the loop.
fn longest_alike(trace: &Trace, index: &Index, steady: &Steady) -> Option<(usize, usize)> {
    let last = steady.on_host.len().checked_sub(1)?;
    let lengths = |times: &[i64]| -> Vec<i64> {
        times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    };
    let (on_host, on_device) = (lengths(&steady.on_host), lengths(&steady.on_device));
    let calls: Vec<i64> = steady
        .on_host
        .windows(2)
        .map(|pair| index.calls(trace, steady.process, pair[0], pair[1]).len() as i64)
        .collect();
    let (usual, usual_calls) = (median(&on_device).unwrap_or(0), median(&calls).unwrap_or(0));
    // Of what is outside the windows of a recording nothing is known.
    let is_recorded = |at: usize| {
        let (from, to) = (steady.on_host[at], steady.on_host[at + 1]);
        let next = trace.windows.partition_point(|(begin, _)| *begin <= from);
        trace.windows.is_empty() || next.checked_sub(1).is_some_and(|window| to <= trace.windows[window].1)
    };
    let is_other = |at: usize| {
        !is_recorded(at)
            || on_device[at] as f64 > LONGER * usual as f64
                && (calls[at] - usual_calls).abs() as f64 > OTHER_CALLS * usual_calls as f64
    };
    // What is loaded before a first kernel makes the host's iteration long, and not the device's.
    let first = warm_up(&on_host);
    // Of the iterations before, it is not known which stream waited for which.
    let since = trace.processes[steady.process as usize].stream_waits_since.unwrap_or(i64::MIN);
    let known = steady.on_host.partition_point(|begin| *begin < since).max(first);
    let first = if known + FEWEST_ALIKE <= last { known } else { first };
    let (mut best, mut begin) = ((first, first), first);
    for at in first..=last {
        if at == last || is_other(at) {
            if at - begin > best.1 - best.0 {
                best = (begin, at);
            }
            begin = at + 1;
        }
    }
    let enough = best.1 - best.0 >= FEWEST_ALIKE || !trace.windows.is_empty();
    Some(if enough { best } else { (first, last) }).filter(|(first, last)| first < last)
}

/// Whether all times are near each other: a damaged file's may be anywhere, and cannot be added up.
fn is_sane(calls: &[Called], works: &[Worked], steady: &Steady, first: usize) -> bool {
    let near = steady.on_host[first];
    let is_near = |at: i64| at.checked_sub(near).is_some_and(|off| off.unsigned_abs() < SANE);
    calls.iter().all(|call| is_near(call.begin) && is_near(call.end))
        && works.iter().all(|work| is_near(work.begin) && is_near(work.end) && work.begin <= work.end)
        && steady.on_host[first..].iter().chain(&steady.on_device[first..]).all(|at| is_near(*at))
}

/// Some iterations before the first, for what its calls wait for.
fn before(steady: &Steady, first: usize) -> i64 {
    let lead_in = first.saturating_sub(LEAD_IN.div_ceil(8));
    let begin = steady.on_host[lead_in];
    // Warm-up is not among the steady ones, but its work may still be in the queue.
    begin.saturating_sub(if lead_in == 0 {
        steady.on_host[first].saturating_sub(begin).max(50_000_000)
    } else {
        0
    })
}

/// When the first call was made whose work is still in a queue at a time: a full queue may be longer than many iterations.
fn queued_since(trace: &Trace, attribution: &Attribution, index: &Index, process: u32, at: i64) -> i64 {
    let works = index.works(trace, attribution, process, i64::MIN, at);
    let latest = &works[works.len().saturating_sub(LEAD_IN)..];
    let queued = latest.iter().find(|work| trace.activities.end[**work as usize] > at);
    let called = |work: &u32| trace.calls.begin[attribution.call[*work as usize] as usize];
    queued.map_or(at, called)
}

fn number_streams(works: &mut [Worked]) -> usize {
    let mut numbers: HashMap<(u16, u32), u16> = HashMap::new();
    for work in works {
        let next = numbers.len().min(usize::from(u16::MAX)) as u16;
        work.stream = *numbers.entry((work.device, work.number)).or_insert(next);
    }
    numbers.len()
}

fn take_turns(calls: &[Called], span: i64) -> bool {
    let (mut overlap, mut until, mut thread) = (0i64, i64::MIN, NONE);
    for call in calls {
        if call.thread != thread && until != i64::MIN {
            overlap += (until.min(call.end) - call.begin).max(0);
        }
        if call.end > until {
            (until, thread) = (call.end, call.thread);
        }
    }
    overlap as f64 <= TURNS * span as f64
}

fn several_streams(works: &[Worked], streams: usize) -> bool {
    let mut times = vec![0i64; streams];
    works.iter().for_each(|work| times[usize::from(work.stream)] += work.end - work.begin);
    let all: i64 = times.iter().sum();
    times.iter().filter(|time| **time as f64 > SEVERAL * all as f64).count() > 1
}

/// How long it usually takes from a call to its work, and from one work to the next.
struct Lags {
    lag: HashMap<StringId, i64>,
    gap: i64,
}

impl Lags {
    fn of(calls: &[Called], (works, ahead): (&[Worked], usize), order: &StreamOrder) -> Self {
        let mut until: HashMap<u16, i64> = HashMap::new();
        let (mut lags, mut gaps): (HashMap<StringId, Vec<i64>>, Vec<i64>) = Default::default();
        for (at, work) in works.iter().enumerate() {
            let call = &calls[work.call as usize];
            let before = until.insert(work.stream, work.end);
            if at < ahead {
                continue;
            }
            // What waits for another stream says nothing of its own.
            match before.filter(|_| order.before(at).is_empty()) {
                Some(end) if end <= call.begin => {
                    lags.entry(call.name).or_default().push(work.begin - call.begin);
                }
                Some(end) if call.end + SLACK < end => gaps.push(work.begin - end),
                _ => {}
            }
        }
        let lag = lags.into_iter().map(|(name, lags)| (name, median(&lags).unwrap_or(USUAL_LAG))).collect();
        // A few that overlap do not mean that all would: a device takes no less than the sum of its work.
        Self { lag, gap: median(&gaps).unwrap_or(USUAL_GAP).max(0) }
    }

    /// From such a call to its work.
    fn usual(&self, call: &Called) -> i64 {
        self.lag.get(&call.name).copied().unwrap_or(USUAL_LAG)
    }

    fn work(
        &self,
        call: &Called,
        works: &[Worked],
        at: usize,
        before: Option<usize>,
        others: &[Order],
    ) -> Work {
        let work = &works[at];
        let usual = self.usual(call);
        let since_call = work.begin - call.begin;
        let since = before.map_or(i64::MAX / 4, |before| work.begin - works[before].end);
        let free = before.map_or(i64::MIN, |before| works[before].end);
        let by_stream = free > call.begin && (call.begin + usual <= free || since <= 2 * self.gap);
        // What it waited for in another stream ended later than all else that it needs.
        let other = others.iter().map(|order| works[order.before as usize].end).max();
        let by_other = other.is_some_and(|end| end >= free && end > call.begin + usual);
        let (lag, gap) = match (by_other, by_stream) {
            (true, _) => (usual.min(since_call), self.gap.min(since)),
            (false, true) => (usual.min(since_call), since),
            (false, false) => (since_call, self.gap.min(since)),
        };
        Work {
            activity: work.activity,
            activities: work.activities.clone(),
            call: 0,
            stream: work.stream,
            lag,
            gap,
            duration: work.end - work.begin,
            kernels: work.kernels,
            began: work.begin,
        }
    }

    /// From the end of what a work waits for in another stream to its own beginning: as it was, if that was the last
    /// thing that it waited for.
    fn gap_behind(&self, call: &Called, works: &[Worked], at: usize, other: usize) -> i64 {
        let (begin, end) = (works[at].begin, works[other].end);
        let last = end > call.begin + self.usual(call) && begin - end <= 4 * self.gap.max(USUAL_GAP);
        if last { begin - end } else { self.gap.min(begin - end) }
    }
}
