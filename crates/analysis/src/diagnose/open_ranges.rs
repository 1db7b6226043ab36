//! Which range is open on a thread at a moment, whether anything was launched in it or not.

use std::collections::{BTreeSet, HashMap};

use nvtx::Kind;
use trace::Trace;

use crate::attribute::{Attribution, open_at};

/// The push/pop ranges of a process, by thread and domain, in the order of their beginnings.
pub(super) struct OpenRanges<'t> {
    trace: &'t Trace,
    attribution: &'t Attribution,
    process: u32,
    threads: HashMap<u32, Vec<Vec<u32>>>,
}

impl<'t> OpenRanges<'t> {
    pub(super) fn of(trace: &'t Trace, attribution: &'t Attribution, process: u32) -> Self {
        let mut lists: HashMap<(u32, trace::StringId), Vec<u32>> = HashMap::new();
        for range in 0..trace.ranges.len() {
            let (thread, domain) = (trace.ranges.thread[range], trace.ranges.domain[range]);
            if trace.ranges.kind[range] == Kind::PushPop
                && trace.process_of(thread) == process
                && !attribution.libraries.has(domain)
            {
                lists.entry((thread, domain)).or_default().push(range as u32);
            }
        }
        let mut threads: HashMap<u32, Vec<Vec<u32>>> = HashMap::new();
        for ((thread, _), mut ranges) in lists {
            ranges.sort_by_key(|range| (trace.ranges.begin[*range as usize], *range));
            threads.entry(thread).or_default().push(ranges);
        }
        Self { trace, attribution, process, threads }
    }

    /// The innermost one that a thread is in: of its own, or of the thread it works for.
    fn at(&self, thread: u32, time: i64) -> Option<u32> {
        self.own(self.works_for(thread, time), time)
    }

    fn works_for(&self, thread: u32, time: i64) -> u32 {
        self.attribution.only_thread.at(self.process, time).unwrap_or(thread)
    }

    /// Whether a thread has no range open and works for one that has.
    pub(super) fn is_for_other(&self, thread: u32, time: i64) -> bool {
        self.works_for(thread, time) != thread
    }

    /// Its region.
    pub(super) fn node_at(&self, thread: u32, time: i64) -> Option<u32> {
        self.at(thread, time).map(|range| self.attribution.tree.node_of[range as usize])
    }

    fn own(&self, thread: u32, time: i64) -> Option<u32> {
        let lists = self.threads.get(&thread)?;
        let innermost = |ranges: &Vec<u32>| open_at(self.trace, ranges, time);
        // Of several domains the one opened last.
        lists.iter().filter_map(innermost).max_by_key(|range| self.trace.ranges.begin[*range as usize])
    }

    /// How a stretch of time of a thread is divided among the innermost regions, the largest first.
    pub(super) fn between(&self, thread: u32, from: i64, to: i64) -> Vec<(Option<u32>, i64)> {
        let only = self.attribution.only_thread.within(self.process, from, to);
        let mut cuts = vec![from, to];
        cuts.extend(only.iter().map(|(at, _)| *at).filter(|at| *at > from && *at < to));
        let threads: BTreeSet<u32> = only.iter().map(|(_, only)| *only).chain([thread]).collect();
        for ranges in threads.iter().filter_map(|thread| self.threads.get(thread)).flatten() {
            let begin = |range: &u32| self.trace.ranges.begin[*range as usize];
            let inside = ranges.partition_point(|range| begin(range) <= from)
                ..ranges.partition_point(|range| begin(range) < to);
            let around = open_at(self.trace, ranges, from);
            let parent = |range: &u32| self.trace.ranges.parent[*range as usize];
            let all = ranges[inside].iter().copied().chain(std::iter::successors(around, parent));
            for range in all {
                let end = self.trace.ranges.end[range as usize];
                cuts.extend([begin(&range), end].into_iter().filter(|at| *at > from && *at < to));
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        let mut parts: HashMap<Option<u32>, i64> = HashMap::new();
        for pair in cuts.windows(2) {
            let part = parts.entry(self.node_at(thread, pair[0])).or_default();
            *part = part.saturating_add(pair[1].saturating_sub(pair[0]));
        }
        let mut parts: Vec<(Option<u32>, i64)> = parts.into_iter().collect();
        parts.sort_by_key(|(node, length)| (std::cmp::Reverse(*length), *node));
        parts
    }
}
