//! The host is late: other code, launches one by one, or no processor to run on.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use trace::counted;

use super::super::case::{Candidate, Case, Then, largest, milliseconds};
use super::super::finding::{Cause, Sureness};
use super::loading::{is_seen, sounds_like_it};
use crate::replay::{Call, CallKind};

/// Shorter stretches without a call are what launching takes.
const A_PAUSE: i64 = 60_000;
/// And those that are a smaller part of an iteration.
const OF_ITERATION: f64 = 0.02;
/// So many times as long is a pause that is interrupted by calls that only ask.
const VERY_LONG: i64 = 3;
/// What a graph takes to launch, and from one of its kernels to the next.
const GRAPH_CALL: i64 = 10_000;
const GRAPH_GAP: i64 = 300;
/// Launches in all, and in an iteration, from which on a graph is worth it.
const A_FEW: usize = 8;
const SHORT: usize = 8;
/// So much of the host's time between launches is in one region, if it is that region's.
const MOST: f64 = 0.6;
/// With less outside of it, all of it is there.
const NEARLY_ALL: f64 = 0.95;

pub(in super::super) fn candidates(case: &Case<'_>) -> Vec<Candidate> {
    let contention = contention(case);
    let mut all: Vec<Candidate> = match contention {
        Some(contention) => vec![contention],
        None => pauses(case),
    };
    all.extend(launch_bound(case));
    all
}

fn long_pause(case: &Case<'_>) -> i64 {
    A_PAUSE.max((case.now * OF_ITERATION) as i64)
}

/// The stretches of calls before which the host does something else: a long time before one call, or a very long one
/// in which calls only ask for something.
fn stretches(case: &Case<'_>) -> Vec<Range<usize>> {
    let (calls, long) = (&case.graph.calls, long_pause(case));
    let only_asks =
        |call: &Call| call.kind == CallKind::Other && call.awaits.is_none() && call.works.is_empty();
    let mut found = Vec::new();
    let mut from = 0;
    for to in 1..=calls.len() {
        if to < calls.len() && only_asks(&calls[to - 1]) {
            continue;
        }
        let stretch = from..to;
        from = to;
        let time = calls[stretch.clone()].iter().fold(0i64, |sum, call| sum.saturating_add(call.gap));
        match time >= VERY_LONG.saturating_mul(long) {
            true => found.push(stretch),
            false => found.extend(stretch.filter(|at| calls[*at].gap >= long).map(|at| at..at + 1)),
        }
    }
    found
}

/// Long stretches in which the host launches nothing and waits for nothing, by region.
fn pauses(case: &Case<'_>) -> Vec<Candidate> {
    let long = long_pause(case);
    let mut groups: BTreeMap<Option<u32>, Vec<(usize, i64)>> = BTreeMap::new();
    let mut times: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    for stretch in stretches(case) {
        let mut nodes: HashSet<Option<u32>> = HashSet::new();
        for at in stretch {
            let call = &case.graph.calls[at];
            let call_at = call.call as usize;
            let (thread, begin) = (case.trace.calls.thread[call_at], case.trace.calls.begin[call_at]);
            for (node, part) in case.open.between(thread, begin - call.gap, begin) {
                if part * 4 >= call.gap || part >= long {
                    groups.entry(node).or_default().push((at, part));
                    nodes.insert(node);
                }
            }
        }
        nodes.into_iter().for_each(|node| *times.entry(node).or_default() += 1);
    }
    let took = |parts: &Vec<(usize, i64)>| parts.iter().fold(0, |sum: i64, part| sum.saturating_add(part.1));
    let groups = largest(groups, took).into_iter();
    groups.map(|(node, parts)| pause(case, node, &parts, times[&node])).collect()
}

/// `times` is how often.
fn pause(case: &Case<'_>, node: Option<u32>, parts: &[(usize, i64)], times: usize) -> Candidate {
    let with = |left: f64| {
        case.changed(|graph| {
            parts.iter().for_each(|(at, part)| graph.calls[*at].gap -= (*part as f64 * (1.0 - left)) as i64);
        })
    };
    let total: i64 = parts.iter().map(|(_, part)| *part).sum();
    let each = case.iterations();
    // A loop's own region says only that it is somewhere in the iteration.
    let name = node.map(|node| case.path(node)).unwrap_or_default();
    let during: Vec<(u32, i64, i64)> = parts
        .iter()
        .map(|(at, _)| {
            let call = &case.graph.calls[*at];
            let begin = case.trace.calls.begin[call.call as usize];
            (case.trace.calls.thread[call.call as usize], begin - call.gap, begin)
        })
        .collect();
    let loads =
        is_seen(case.trace, &during).unwrap_or_else(|| node != case.steady.node && sounds_like_it(&name));
    let region = case.in_region(node);
    let (time, often) = (milliseconds(total as f64 / each), case.times(times));
    let of_each = case.of_each();
    let on_average = if case.is_whole { "in all" } else { "an iteration on average" };
    let cause = if loads { Cause::DataLoading } else { Cause::HostCode };
    let title = match loads {
        true => format!("the host gets the next data{region} for {time} {of_each}, and the GPU waits for it"),
        false => format!("the host runs other code{region} for {time} {of_each}, and the GPU waits for it"),
    };
    let advice = match loads {
        true if case.is_whole => {
            "load ahead in other processes or threads (`DataLoader(num_workers=…, prefetch_factor=…)`), or make the data ready beforehand"
        }
        true => {
            "load ahead in other processes or threads (`DataLoader(num_workers=…, prefetch_factor=…)`), or make the data ready once, before the loop"
        }
        false if case.is_whole => {
            "make that code shorter or move it to another thread; or launch other work before it, so that the GPU has something to do"
        }
        false => {
            "make that code shorter, move it to another thread or do it less often; or launch the next iteration's work before it, so that the GPU has something to do"
        }
    };
    let mut evidence = vec![format!(
        "{often}, the host launches nothing, copies nothing and waits for nothing: {time} {on_average}; \
         pauses under {} are not counted",
        milliseconds(long_pause(case) as f64)
    )];
    if loads {
        evidence.push("the time is what four loaders at once would leave; the interval is from two to as many as it takes".to_owned());
    }
    let confidence = if loads { Sureness::Likely } else { Sureness::Shown };
    // Loaded by four, by two, and by as many as it takes.
    let then = match loads {
        true => Then::of(case, with(0.25)).between(case.replayed(&with(0.5)), case.replayed(&with(0.0))),
        false => Then::of(case, with(0.0)),
    };
    Candidate {
        cause,
        node,
        kernel: None,
        title,
        evidence,
        advice,
        confidence,
        then: Some(then),
        time_ns: total,
        during,
    }
}

/// The same place in the iteration takes long now and then, and at many places.
fn contention(case: &Case<'_>) -> Option<Candidate> {
    let starts = case.first_calls();
    let lengths: Vec<usize> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut sorted = lengths.clone();
    sorted.sort_unstable();
    let usual = *sorted.get(sorted.len() / 2)?;
    // Only iterations of the same calls can be compared place by place.
    let alike: Vec<usize> =
        (0..lengths.len()).filter(|at| lengths[*at] == usual).map(|at| starts[at]).collect();
    if alike.len() < 4 || usual < 4 {
        return None;
    }
    let time = |at: usize| {
        let call = &case.graph.calls[at];
        call.gap + if call.awaits.is_some() { 0 } else { call.own }
    };
    let mut held_up: Vec<(usize, i64)> = Vec::new();
    let mut places: Vec<i64> = vec![0; usual];
    for (place, lost) in places.iter_mut().enumerate() {
        let mut times: Vec<i64> = alike.iter().map(|start| time(start + place)).collect();
        times.sort_unstable();
        let quick = times[times.len() / 4];
        for start in &alike {
            let more = time(start + place) - quick;
            if more > A_PAUSE && more > 4 * quick {
                held_up.push((start + place, more));
                *lost += more;
            }
        }
    }
    let lost: i64 = places.iter().sum();
    let worst = places.iter().copied().max().unwrap_or(0);
    let each = alike.len() as f64;
    if (lost as f64) < 0.15 * case.now * each || worst as f64 > 0.4 * lost as f64 {
        return None;
    }
    let then = case.changed(|graph| {
        for (at, more) in &held_up {
            let call = &mut graph.calls[*at];
            let of_gap = call.gap.min(*more);
            call.gap -= of_gap;
            call.own -= (more - of_gap).min(call.own);
        }
    });
    let nodes = held_up.iter().map(|(at, more)| (case.node_of_call[*at], *more));
    let node = case.steady.node.filter(|_| share_of_loop(case, nodes) >= MOST);
    let hit = places.iter().filter(|lost| **lost > 0).count();
    let title = format!(
        "the host is kept from running: some calls sometimes take much longer than usual, which adds {} to an iteration on average",
        milliseconds(lost as f64 / each)
    );
    let evidence = vec![format!(
        "{hit} of the {usual} CUDA calls in an iteration, each counted with the code before it, \
             sometimes take much longer than usual: {} in all, by {} on average",
        counted(held_up.len() as u64, "time"),
        milliseconds(lost as f64 / held_up.len().max(1) as f64)
    )];
    let advice = "see what else runs: another thread that holds Python's lock (move it to a process), more busy threads than processors, or a neighbor on the machine";
    let (cause, confidence) = (Cause::HostContention, Sureness::Likely);
    Some(Candidate {
        cause,
        node,
        kernel: None,
        title,
        evidence,
        advice,
        confidence,
        then: Some(Then::of(case, then)),
        time_ns: lost,
        during: Vec::new(),
    })
}

/// The part of a time that is in the loop's own region, and in those below it.
fn share_of_loop(case: &Case<'_>, times: impl Iterator<Item = (Option<u32>, i64)>) -> f64 {
    let is_inside = |node: u32| case.steady.node.is_some_and(|of| case.attribution.tree.is_within(node, of));
    let (mut inside, mut all) = (0i64, 0i64);
    for (node, time) in times {
        all = all.saturating_add(time);
        inside = inside.saturating_add(if node.is_some_and(is_inside) { time } else { 0 });
    }
    inside as f64 / all.max(1) as f64
}

/// Launches one by one take longer than what they launch.
fn launch_bound(case: &Case<'_>) -> Option<Candidate> {
    let long = long_pause(case);
    let is_launch = |at: &usize| case.graph.calls[*at].kind == CallKind::Launch;
    let launches: Vec<usize> = (0..case.graph.calls.len()).filter(is_launch).collect();
    // A loop of a few launches is part of one that was not found: its graph would have many of them.
    let is_short = launches.len() < SHORT * case.graph.iterations;
    let starts: HashSet<usize> =
        if is_short { HashSet::new() } else { case.first_calls().into_iter().collect() };
    let (mut host, mut in_launches) = (0i64, 0i64);
    let mut by_node: BTreeMap<Option<u32>, i64> = BTreeMap::new();
    let mut changed = case.graph.clone();
    // In one run, launches follow each other and nothing waits.
    let mut in_run = false;
    let mut is_pause = vec![false; changed.calls.len()];
    stretches(case).into_iter().flatten().for_each(|at| is_pause[at] = true);
    for (at, call) in changed.calls.iter_mut().enumerate() {
        if starts.contains(&at) || call.awaits.is_some() || is_pause[at] {
            in_run = false;
        }
        let quick = !is_pause[at] && call.own < long;
        match call.kind {
            CallKind::Launch => {
                let time = call.own + if is_pause[at] { 0 } else { call.gap };
                host += time;
                in_launches += call.own;
                *by_node.entry(case.node_of_call[at]).or_default() += time;
                call.own = if in_run { 0 } else { call.own.min(GRAPH_CALL) };
                if !is_pause[at] && in_run {
                    call.gap = 0;
                }
                for work in call.works.clone() {
                    let work = &mut changed.works[work as usize];
                    work.gap = work.gap.min(GRAPH_GAP);
                }
                in_run = true;
            }
            // Copies of the graph, and what is asked on the way to a launch.
            CallKind::Copy | CallKind::Other if call.awaits.is_none() && quick && in_run => {
                host += call.own + call.gap;
                (call.own, call.gap) = (0, 0);
            }
            _ => {}
        }
    }
    let most =
        by_node.iter().max_by_key(|(_, time)| **time).filter(|(_, time)| **time as f64 >= MOST * host as f64);
    let in_loop = share_of_loop(case, by_node.iter().map(|(node, time)| (*node, *time)));
    // Where iterations follow each other with something between, most of the launches may be there.
    let own = case.steady.node.filter(|_| in_loop >= MOST);
    let node = most.map_or(own, |(node, _)| *node);
    let each = case.iterations();
    let per_iteration = launches.len() as f64 / each;
    let device: i64 =
        launches.iter().flat_map(|at| case.works(&case.graph.calls[*at])).map(|work| work.duration).sum();
    let (host, device) = (host as f64 / each, device as f64 / each);
    // A host that is quicker than the device is not what it waits for.
    if launches.len() < A_FEW || host < device {
        return None;
    }
    // The figures are of the whole iteration; the place may have only most of it.
    let is_all = by_node.len() == 1 || node == own && (own.is_none() || in_loop >= NEARLY_ALL);
    let place = match node {
        Some(node) if !is_all => format!(" {}, most of it in `{}`", case.each(), case.path(node)),
        node => case.in_region(node),
    };
    let title = format!(
        "the host takes {} to launch what the GPU runs in {}{place}",
        milliseconds(host),
        milliseconds(device),
    );
    let evidence = vec![
        format!(
            "{} {}, {} of the host's time each: {} in the call itself, the rest in the code before it; \
             {} each on the GPU",
            counted(per_iteration.round() as u64, "launch"),
            case.each(),
            milliseconds(host / per_iteration),
            milliseconds(in_launches as f64 / launches.len() as f64),
            milliseconds(device / per_iteration)
        ),
        format!("the GPU is busy {:.0} % of the time", case.busy * 100.0),
    ];
    let advice = "launch it as one CUDA graph (`torch.cuda.CUDAGraph`, `torch.compile(mode=\"reduce-overhead\")`), or make it fewer and larger kernels: fuse them, or take a larger batch";
    let (cause, confidence) = (Cause::LaunchBound, Sureness::Shown);
    Some(Candidate {
        cause,
        node,
        kernel: None,
        title,
        evidence,
        advice,
        confidence,
        then: Some(Then::of(case, changed)),
        time_ns: (host * each) as i64,
        during: Vec::new(),
    })
}
