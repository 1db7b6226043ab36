//! What can be counted in an iteration on the host.

use std::collections::{BTreeMap, HashMap};

use nvtx::Kind;
use trace::{StringId, Trace};

use super::tally::{Iterations, Tally};
use super::{Count, Often, place};
use crate::attribute::Attribution;
use crate::loop_::Loop;
use crate::replay::CallKind;

/// Calls by name, the most frequent first.
pub(super) fn calls(trace: &Trace, main: &Loop) -> Vec<Count> {
    let mut tally: Tally<'_, StringId> =
        Tally::new(Iterations::new(&main.steady.on_host, main.steady.end, Some(0)));
    let mut meant: HashMap<StringId, bool> = HashMap::new();
    let mut order: Vec<u32> = (0..trace.calls.len() as u32)
        .filter(|call| {
            let call = *call as usize;
            let name = trace.calls.name[call];
            let is_meant = *meant.entry(name).or_insert_with(|| {
                !matches!(CallKind::of(trace.strings.text(name)), CallKind::Other | CallKind::Load)
            });
            is_meant && trace.process_of(trace.calls.thread[call]) == main.steady.process
        })
        .collect();
    let begin = |call: &u32| trace.calls.begin[*call as usize];
    if !order.is_sorted_by_key(begin) {
        order.sort_by_key(begin);
    }
    order.iter().for_each(|call| tally.count(trace.calls.name[*call as usize], begin(call)));
    rows(tally, |name| trace::names::call(trace.strings.text(name)).to_owned())
}

/// Regions inside the loop.
pub(super) fn regions(trace: &Trace, attribution: &Attribution, main: &Loop) -> Vec<Count> {
    let Some(around) = main.steady.node else { return Vec::new() };
    let (ranges, tree) = (&trace.ranges, &attribution.tree);
    let mut tally: Tally<'_, u32> =
        Tally::new(Iterations::new(&main.steady.on_host, main.steady.end, Some(0)));
    let inside: Vec<bool> =
        (0..tree.nodes.len() as u32).map(|node| node != around && tree.is_within(node, around)).collect();
    let is_meant = |range: &usize| {
        ranges.kind[*range] == Kind::PushPop
            && inside[tree.node_of[*range] as usize]
            && trace.process_of(ranges.thread[*range]) == main.steady.process
    };
    let mut order: Vec<usize> = (0..ranges.len()).filter(is_meant).collect();
    order.sort_by_key(|range| ranges.begin[*range]);
    order.iter().for_each(|range| tally.count(tree.node_of[*range], ranges.begin[*range]));
    rows(tally, |node| place(trace, tree, node).unwrap_or_default())
}

fn rows<K: Eq + std::hash::Hash + Copy>(tally: Tally<'_, K>, name: impl Fn(K) -> String) -> Vec<Count> {
    let rows = tally.rows().into_iter();
    let mut known: BTreeMap<String, Often> = BTreeMap::new();
    for (name, often) in rows.filter_map(|(key, _, often)| Some((name(key), often?))) {
        known.entry(name).and_modify(|sum| *sum = sum.plus(often)).or_insert(often);
    }
    let mut counts: Vec<Count> = known.into_iter().map(|(name, often)| Count { name, often }).collect();
    counts.sort_by(|a, b| b.often.mean.total_cmp(&a.often.mean));
    counts
}
