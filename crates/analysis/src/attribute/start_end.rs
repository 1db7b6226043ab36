//! What was started while start/end regions were open.
//!
//! A server has such a region for every request, hundreds at a time, and each has everything that
//! its process starts meanwhile. Activities in the order of their calls make that a few
//! stretches for each region.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::ops::Range;

use nvtx::Kind;
use trace::{NONE, Trace};

use super::attribution::Attribution;

/// Regions, each with what it was open for.
#[derive(Debug, Default)]
pub(crate) struct Started {
    /// Activities of each process that has such regions, by the time of their calls.
    activities: Vec<Vec<u32>>,
    /// By region: in which of those, and from where to where.
    stretches: BTreeMap<u32, Vec<(usize, Range<usize>)>>,
    /// By activity: whether it was started in one of them.
    pub(crate) inside: Vec<bool>,
}

impl Started {
    pub(crate) fn find(trace: &Trace, attribution: &Attribution) -> Self {
        let mut by_process: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let is_region = |range: &usize| {
            trace.ranges.kind[*range] == Kind::StartEnd
                && !attribution.libraries.leaves_out(trace.ranges.domain[*range])
        };
        for range in (0..trace.ranges.len()).filter(is_region) {
            let process = trace.process_of(trace.ranges.thread[range]);
            by_process.entry(process).or_default().push(range as u32);
        }
        let mut started = Self { inside: vec![false; trace.activities.len()], ..Self::default() };
        for (process, ranges) in by_process {
            started.walk(trace, attribution, process, ranges);
        }
        started
    }

    pub(crate) fn regions(&self) -> impl Iterator<Item = u32> {
        self.stretches.keys().copied()
    }

    /// The activities of a region, each once.
    pub(crate) fn activities(&self, region: u32) -> Vec<u32> {
        let stretches = self.stretches.get(&region).into_iter().flatten();
        let slices: Vec<&[u32]> =
            stretches.map(|(of, stretch)| &self.activities[*of][stretch.clone()]).collect();
        slices.concat()
    }

    fn walk(&mut self, trace: &Trace, attribution: &Attribution, process: u32, ranges: Vec<u32>) {
        let called = |activity: u32| trace.calls.begin[attribution.call[activity as usize] as usize];
        let is_here = |activity: &u32| {
            let at = *activity as usize;
            trace.activities.process[at] == process && attribution.call[at] != NONE
        };
        let mut activities: Vec<u32> = (0..trace.activities.len() as u32).filter(is_here).collect();
        activities.sort_by_key(|activity| called(*activity));
        let of = self.activities.len();
        let mut ranges = ranges.into_iter().peekable();
        // Open regions, each with the latest end of its instances and its first activity.
        let mut open: HashMap<u32, (i64, usize)> = HashMap::new();
        let mut ends: BinaryHeap<Reverse<(i64, u32)>> = BinaryHeap::new();
        for (at, activity) in activities.iter().enumerate() {
            let time = called(*activity);
            while let Some(range) = ranges.next_if(|range| trace.ranges.begin[*range as usize] <= time) {
                let (region, end) =
                    (attribution.tree.node_of[range as usize], trace.ranges.end[range as usize]);
                let (latest, _) = open.entry(region).or_insert((end, at));
                *latest = end.max(*latest);
                ends.push(Reverse((end, region)));
            }
            while ends.peek().is_some_and(|Reverse((end, _))| *end <= time) {
                let Some(Reverse((_, region))) = ends.pop() else { break };
                if let Some((_, from)) = open.get(&region).copied().filter(|(latest, _)| *latest <= time) {
                    open.remove(&region);
                    self.add(region, of, from..at);
                }
            }
            self.inside[*activity as usize] = !open.is_empty();
        }
        for (region, (_, from)) in open {
            self.add(region, of, from..activities.len());
        }
        self.activities.push(activities);
    }

    fn add(&mut self, region: u32, of: usize, stretch: Range<usize>) {
        if !stretch.is_empty() {
            self.stretches.entry(region).or_default().push((of, stretch));
        }
    }
}
