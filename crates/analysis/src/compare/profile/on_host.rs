//! Iterations of a loop without work for devices: where its thread is.

use nvtx::Kind;
use trace::{NONE, Trace};

use super::tally::{Iterations, Tally};
use super::{Part, What, merged, place};
use crate::attribute::Attribution;
use crate::loop_::Loop;

/// None if the loop was not found by ranges.
pub(super) fn parts(trace: &Trace, attribution: &Attribution, main: &Loop) -> Vec<Part> {
    let Some(node) = main.steady.node else { return Vec::new() };
    let ranges = &trace.ranges;
    let usual = main.period_ns.map_or(0, |period| period.p50);
    let mut tally = Tally::new(Iterations::new(&main.steady.on_host, main.steady.end, usual));
    let Some((begin, end)) = tally.span() else { return Vec::new() };
    let is_of_loop = |range: &usize| {
        attribution.tree.node_of[*range] == node
            && ranges.begin[*range] >= begin
            && trace.process_of(ranges.thread[*range]) == main.steady.process
    };
    let Some(thread) = (0..ranges.len()).find(is_of_loop).map(|range| ranges.thread[range]) else {
        return Vec::new();
    };
    let domain = attribution.tree.nodes[node as usize].domain;
    let is_inside = |range: &usize| {
        ranges.thread[*range] == thread
            && ranges.domain[*range] == domain
            && ranges.kind[*range] == Kind::PushPop
            && ranges.begin[*range] < end
            && ranges.end[*range] > begin
    };
    let mut order: Vec<usize> = (0..ranges.len()).filter(is_inside).collect();
    order.sort_by_key(|range| (ranges.begin[*range], std::cmp::Reverse(ranges.end[*range])));
    let node_of = |range: &usize| attribution.tree.node_of[*range];
    let mut open: Vec<usize> = Vec::new();
    let mut until = begin;
    let advance = |tally: &mut Tally<'_, u32>, open: &mut Vec<usize>, until: &mut i64, to: i64| {
        // Those that end before, from the inside out.
        while let Some(last) = open.last().copied().filter(|last| ranges.end[*last] <= to) {
            if ranges.end[last] > *until {
                tally.spend(node_of(&last), *until, ranges.end[last]);
                *until = ranges.end[last];
            }
            open.pop();
        }
        if to > *until {
            tally.spend(open.last().map_or(NONE, node_of), *until, to);
            *until = to;
        }
    };
    for range in order {
        advance(&mut tally, &mut open, &mut until, ranges.begin[range].max(begin));
        if ranges.begin[range] >= begin {
            tally.count(node_of(&range), ranges.begin[range]);
        }
        open.push(range);
    }
    advance(&mut tally, &mut open, &mut until, end);
    let rows = tally.rows().into_iter();
    merged(rows.map(|(node, ns, often)| Part {
        place: place(trace, &attribution.tree, node),
        what: What::Host,
        ns,
        often,
    }))
}
