//! The calls of a stretch of time and the work that they started, as they were recorded.

use std::collections::HashMap;
use std::ops::Range;

use trace::{ActivityKind, HostMemory, NONE, StringId, Trace};

use super::index::Index;
use crate::attribute::{Attribution, CallKind, is_async};

/// The clocks of host and device differ by this at most.
pub(super) const SLACK: i64 = 5_000;

pub(super) struct Called {
    pub(super) call: u32,
    pub(super) kind: CallKind,
    pub(super) name: StringId,
    pub(super) is_async: bool,
    pub(super) thread: u32,
    pub(super) begin: i64,
    pub(super) end: i64,
}

/// The calls of a process, those made by other calls left out, in order.
pub(super) fn calls_between(trace: &Trace, all: &[u32]) -> Vec<Called> {
    let mut kinds: HashMap<StringId, (CallKind, bool)> = HashMap::new();
    let mut calls: Vec<Called> = Vec::new();
    for call in all.iter().map(|call| *call as usize) {
        let begin = trace.calls.begin[call];
        let name = trace.calls.name[call];
        let (kind, is_async) = *kinds.entry(name).or_insert_with(|| {
            let text = trace.strings.text(name);
            (CallKind::of(text), is_async(text))
        });
        let (thread, end) = (trace.calls.thread[call], trace.calls.end[call].max(begin));
        calls.push(Called { call: call as u32, kind, name, is_async, thread, begin, end });
    }
    calls.sort_by_key(|call| (call.begin, std::cmp::Reverse(call.end)));
    let mut until: HashMap<u32, i64> = HashMap::new();
    calls.retain(|call| {
        let until = until.entry(call.thread).or_insert(i64::MIN);
        let outer = call.begin >= *until;
        *until = (*until).max(call.end);
        outer
    });
    calls
}

pub(super) struct Worked {
    pub(super) activity: u32,
    /// All of them, in the list of activities.
    pub(super) activities: Range<u32>,
    /// Index of its call.
    pub(super) call: u32,
    pub(super) device: u16,
    /// The stream as CUPTI counts it, and as it is counted here.
    pub(super) number: u32,
    pub(super) stream: u16,
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) kernels: u32,
    /// A copy from or to memory that is pinned.
    pub(super) is_pinned: bool,
}

impl Worked {
    fn of(trace: &Trace, activity: usize, call: u32) -> Self {
        let activities = &trace.activities;
        Self {
            activity: activity as u32,
            activities: 0..0,
            call,
            device: activities.device[activity],
            number: activities.stream[activity],
            stream: 0,
            begin: activities.begin[activity],
            end: activities.end[activity],
            kernels: u32::from(activities.kind[activity] == ActivityKind::Kernel),
            is_pinned: activities.kind[activity] == ActivityKind::Copy
                && activities.transfers[activities.detail[activity] as usize].memory == HostMemory::Pinned,
        }
    }
}

/// What calls started, in their order; kernels of one launch of a graph as one. And the activities of all that.
pub(super) fn works_of(
    trace: &Trace,
    attribution: &Attribution,
    index: &Index,
    process: u32,
    calls: &[Called],
) -> (Vec<Worked>, Vec<u32>) {
    let Some(last) = calls.iter().map(|call| call.begin).max() else { return Default::default() };
    let first = calls[0].begin;
    let mut place: HashMap<u32, u32> = HashMap::with_capacity(calls.len());
    place.extend(calls.iter().enumerate().map(|(at, call)| (call.call, at as u32)));
    let mut works: Vec<Worked> = Vec::new();
    let all = index.works(trace, attribution, process, first, last.saturating_add(1));
    for activity in all.iter().map(|activity| *activity as usize) {
        let call = attribution.call[activity];
        let begin = trace.calls.begin[call as usize];
        // A call that another one made: that one started the work.
        let thread = trace.calls.thread[call as usize];
        let at = place.get(&call).copied().or_else(|| {
            let behind = calls.partition_point(|outer| outer.begin <= begin);
            let around = |at: &usize| calls[*at].thread == thread && calls[*at].end >= begin;
            (behind.saturating_sub(8)..behind).rev().find(around).map(|at| at as u32)
        });
        let Some(call) = at else { continue };
        works.push(Worked::of(trace, activity, call));
    }
    works.sort_by_key(|work| (work.call, work.begin, work.activity));
    let list = works.iter().map(|work| work.activity).collect();
    let mut joined: Vec<Worked> = Vec::with_capacity(works.len());
    for (at, work) in (0u32..).zip(works) {
        match joined.last_mut() {
            Some(graph) if graph.call == work.call && trace.activities.in_graph[work.activity as usize] => {
                graph.end = graph.end.max(work.end);
                graph.kernels += work.kernels;
                graph.activities.end = at + 1;
            }
            _ => joined.push(Worked { activities: at..at + 1, ..work }),
        }
    }
    (joined, list)
}

/// What was in the queues of streams when the recording began: the work ahead of the first `works` of each stream whose
/// own calls were made before. It has no call here, and counts as that of the first.
pub(super) fn works_ahead(
    trace: &Trace,
    index: &Index,
    process: u32,
    (works, since): (&[Worked], i64),
    most: usize,
) -> Vec<Worked> {
    let mut first: HashMap<(u16, u32), i64> = HashMap::new();
    for work in works {
        let first = first.entry((work.device, work.number)).or_insert(work.begin);
        *first = (*first).min(work.begin);
    }
    let (activities, all) = (&trace.activities, index.uncalled(process));
    let is_ahead = |at: &&u32| {
        let at = **at as usize;
        let of_stream = first.get(&(activities.device[at], activities.stream[at]));
        activities.end[at] > since && of_stream.is_some_and(|first| activities.begin[at] < *first)
    };
    let mut ahead: Vec<Worked> = Vec::new();
    for at in all.iter().filter(is_ahead).map(|at| *at as usize) {
        let correlation = activities.correlation[at];
        let of_graph = |before: &&mut Worked| {
            activities.in_graph[at]
                && correlation != NONE
                && activities.correlation[before.activity as usize] == correlation
        };
        match ahead.last_mut().filter(of_graph) {
            Some(graph) => graph.end = graph.end.max(activities.end[at]),
            None => ahead.push(Worked::of(trace, at, 0)),
        }
    }
    ahead.split_off(ahead.len().saturating_sub(most))
}
