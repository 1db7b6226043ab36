//! Where the thread that runs the loop is: in which region, and in which CUDA call.

use nvtx::Kind;
use trace::{NONE, StringId, Trace};

use super::tally::{Iterations, Tally};
use super::{Part, What, merged, place, usual_ns};
use crate::attribute::Attribution;
use crate::loop_::Loop;

/// The innermost region, or [`NONE`], and the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    node: u32,
    call: Option<StringId>,
}

/// Something that a thread is in.
#[derive(Debug, Clone, Copy)]
struct Stay {
    begin: i64,
    end: i64,
    /// A call's region is known when it begins.
    node: u32,
    call: Option<StringId>,
}

/// Nothing if no thread is known that runs the loop.
pub(super) fn parts(trace: &Trace, attribution: &Attribution, main: &Loop) -> Vec<Part> {
    let usual = usual_ns(main);
    let mut tally = Tally::new(Iterations::new(&main.steady.on_host, main.steady.end, usual));
    let Some((begin, end)) = tally.span() else { return Vec::new() };
    let Some(thread) = thread(trace, attribution, main, begin, end) else { return Vec::new() };
    let mut open: Vec<Stay> = Vec::new();
    let mut until = begin;
    let advance = |tally: &mut Tally<'_, Key>, open: &mut Vec<Stay>, until: &mut i64, to: i64| {
        // Those that end before, from the inside out.
        while let Some(last) = open.last().copied().filter(|last| last.end <= to) {
            if last.end > *until {
                tally.spend(last.key(), *until, last.end);
                *until = last.end;
            }
            open.pop();
        }
        if to > *until {
            tally.spend(open.last().map_or(Key { node: NONE, call: None }, Stay::key), *until, to);
            *until = to;
        }
    };
    for mut stay in stays(trace, attribution, main, thread, begin, end) {
        advance(&mut tally, &mut open, &mut until, stay.begin.max(begin));
        if stay.call.is_some() {
            stay.node = open.last().map_or(NONE, |around| around.node);
        }
        if stay.begin >= begin {
            tally.count(stay.key(), stay.begin);
        }
        open.push(stay);
    }
    advance(&mut tally, &mut open, &mut until, end);
    merged(tally.rows().into_iter().map(|(key, ns, often)| Part {
        place: place(trace, &attribution.tree, key.node),
        what: match key.call {
            None => What::Host,
            Some(name) => What::Call { name: trace::names::call(trace.strings.text(name)).to_owned() },
        },
        ns,
        often,
    }))
}

/// The same by region alone.
pub(super) fn without_calls(parts: &[Part]) -> Vec<Part> {
    merged(parts.iter().map(|part| match part.what {
        // Regions are counted, not what is called in them.
        What::Call { .. } => Part { what: What::Host, often: None, ..part.clone() },
        _ => part.clone(),
    }))
}

impl Stay {
    fn key(&self) -> Key {
        Key { node: self.node, call: self.call }
    }
}

/// The one whose ranges the loop was found by; without ranges, the one that calls CUDA the most in it.
pub(super) fn thread(
    trace: &Trace,
    attribution: &Attribution,
    main: &Loop,
    begin: i64,
    end: i64,
) -> Option<u32> {
    let is_of_process = |thread: u32| trace.process_of(thread) == main.steady.process;
    if let Some(node) = main.steady.node {
        let ranges = &trace.ranges;
        let is_of_loop = |range: &usize| {
            attribution.tree.node_of[*range] == node
                && ranges.begin[*range] >= begin
                && is_of_process(ranges.thread[*range])
        };
        return (0..ranges.len()).find(is_of_loop).map(|range| ranges.thread[range]);
    }
    let calls = &trace.calls;
    let mut times = vec![0u64; trace.threads.len()];
    for call in (0..calls.len()).filter(|call| calls.begin[*call] >= begin && calls.begin[*call] < end) {
        times[calls.thread[call] as usize] += 1;
    }
    let most = times.iter().enumerate().filter(|(at, times)| **times > 0 && is_of_process(*at as u32));
    most.max_by_key(|(at, times)| (**times, usize::MAX - at)).map(|(at, _)| at as u32)
}

/// Its ranges of one domain and its calls from `begin` to `end`, outer ones before those in them.
fn stays(
    trace: &Trace,
    attribution: &Attribution,
    main: &Loop,
    thread: u32,
    begin: i64,
    end: i64,
) -> Vec<Stay> {
    let (ranges, calls) = (&trace.ranges, &trace.calls);
    let domain = match main.steady.node {
        Some(node) => Some(attribution.tree.nodes[node as usize].domain),
        None => {
            let is_named = |domain: &StringId| !trace.strings.text(*domain).is_empty();
            attribution.planes.iter().map(|plane| plane.domain).min_by_key(is_named)
        }
    };
    let is_inside = |starts: i64, ends: i64| starts < end && ends > begin;
    let of_ranges = (0..ranges.len()).filter(|range| {
        ranges.thread[*range] == thread
            && Some(ranges.domain[*range]) == domain
            && ranges.kind[*range] == Kind::PushPop
            && is_inside(ranges.begin[*range], ranges.end[*range])
    });
    let of_ranges = of_ranges.map(|range| Stay {
        begin: ranges.begin[range],
        end: ranges.end[range],
        node: attribution.tree.node_of[range],
        call: None,
    });
    let of_calls = (0..calls.len())
        .filter(|call| calls.thread[*call] == thread && is_inside(calls.begin[*call], calls.end[*call]));
    let of_calls = of_calls.map(|call| Stay {
        begin: calls.begin[call],
        end: calls.end[call],
        node: NONE,
        call: Some(calls.name[call]),
    });
    let mut stays: Vec<Stay> = of_ranges.chain(of_calls).collect();
    stays.sort_by_key(|stay| (stay.begin, std::cmp::Reverse(stay.end), stay.call.is_some()));
    stays
}
