//! Which ranges were open when the nodes of CUDA graphs were captured.
//!
//! A replayed kernel belongs to the region that launches its graph, which says little about a program whose whole
//! forward pass is one graph. When its node was made, on the capturing thread, the ranges of the model were open: those
//! are its *capture path*. A node that is instantiated, cloned, or part of a child graph is a copy; what counts is the
//! node that was captured ([`super::originals`]). As for calls, what a thread without ranges captures is captured for
//! the only thread that has any ([`super::only_thread`]).

use std::collections::{HashMap, HashSet};

use trace::{Kind, NONE, Ranges, StringId, Trace};

use super::attribution::Attribution;
use super::only_thread::OnlyThread;
use super::originals::{Made, originals};
use super::replays::Replay;
use super::sweep::innermost;
use super::tree::Tree;

/// A program has a few; a file may claim thousands.
const MOST_DOMAINS: usize = 64;

/// Capture paths of a trace.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The regions of the capturing ranges.
    pub(crate) tree: Tree,
    /// When each of the tree's ranges began.
    pub(crate) begins: Vec<i64>,
    /// By replayed node: its number among the nodes that were captured, or [`NONE`].
    node: Vec<u32>,
    /// For each domain, by captured node: the region in `tree`, or [`NONE`].
    planes: Vec<Vec<u32>>,
}

impl Captured {
    /// None if nothing is known about the making of nodes, or of their replays.
    pub(crate) fn of(trace: &Trace, attribution: &Attribution, replays: &[Replay]) -> Option<Self> {
        if trace.graph_nodes.is_empty() || replays.iter().all(|replay| replay.node == 0) {
            return None;
        }
        let (node, made) = originals(trace, replays);
        // Whom a thread captured it for; that may be known outside of the windows of the trace.
        let outside = (!trace.capture_ranges.is_empty())
            .then(|| OnlyThread::by(trace, &attribution.libraries, [&trace.ranges, &trace.capture_ranges]));
        let only = outside.as_ref().unwrap_or(&attribution.only_thread);
        let capturing: Vec<u32> = made
            .iter()
            .map(|made| only.at(trace.process_of(made.thread), made.time).unwrap_or(made.thread))
            .collect();
        let ranges = capturing_ranges(trace, &made, &capturing);
        let tree = Tree::of_ranges(&ranges, &trace.patterns);
        let mut domains: Vec<StringId> = ranges.domain.clone();
        domains.sort_unstable();
        domains.dedup();
        // The default domain's name is empty, and counts first.
        domains.sort_by_key(|domain| !trace.strings.text(*domain).is_empty());
        domains.retain(|domain| !attribution.libraries.leaves_out(*domain));
        domains.truncate(MOST_DOMAINS);
        let plane = |domain: StringId| {
            // A library works for the thread that calls it.
            let by_library = attribution.libraries.has(domain);
            let thread = |at: usize| if by_library { made[at].thread } else { capturing[at] };
            open_regions(&ranges, &tree, domain, &made, thread)
        };
        let planes = domains.into_iter().map(plane).collect();
        Some(Self { tree, begins: ranges.begin, node, planes })
    }

    /// The number of the node that was captured, of which this is a replay.
    pub(crate) fn node(&self, replay: usize) -> Option<u32> {
        Some(self.node[replay]).filter(|node| *node != NONE)
    }

    /// The innermost region of a captured node, in each domain that has one; the default domain first.
    pub(crate) fn regions(&self, node: u32) -> impl Iterator<Item = u32> {
        self.planes.iter().map(move |plane| plane[node as usize]).filter(|region| *region != NONE)
    }

    pub(crate) fn region(&self, node: u32) -> Option<u32> {
        self.regions(node).next()
    }
}

/// The push/pop ranges that may have been open at a capture: few, beside those of all replays.
fn capturing_ranges(trace: &Trace, made: &[Made], capturing: &[u32]) -> Ranges {
    let mut hull: HashMap<u32, (i64, i64)> = HashMap::new();
    for (made, capturing) in made.iter().zip(capturing) {
        for thread in HashSet::from([made.thread, *capturing]) {
            let hull = hull.entry(thread).or_insert((made.time, made.time));
            *hull = (hull.0.min(made.time), hull.1.max(made.time));
        }
    }
    let mut found = Ranges::default();
    for ranges in [&trace.ranges, &trace.capture_ranges] {
        for range in (0..ranges.len()).filter(|range| ranges.kind[*range] == Kind::PushPop) {
            let is_open =
                |(first, last): &(i64, i64)| ranges.begin[range] <= *last && ranges.end[range] > *first;
            if hull.get(&ranges.thread[range]).is_some_and(is_open) {
                found.push(ranges.row(range));
            }
        }
    }
    found.nest();
    found
}

/// By captured node, the region of the innermost range of a domain that was open on its thread.
fn open_regions(
    ranges: &Ranges,
    tree: &Tree,
    domain: StringId,
    made: &[Made],
    thread: impl Fn(usize) -> u32,
) -> Vec<u32> {
    let mut regions = vec![NONE; made.len()];
    let mut threads: HashMap<u32, (Vec<u32>, Vec<u32>)> = HashMap::new();
    for at in 0..made.len() {
        threads.entry(thread(at)).or_default().0.push(at as u32);
    }
    for range in (0..ranges.len()).filter(|range| ranges.domain[*range] == domain) {
        if let Some((_, of_thread)) = threads.get_mut(&ranges.thread[range]) {
            of_thread.push(range as u32);
        }
    }
    let times: Vec<i64> = made.iter().map(|made| made.time).collect();
    for (mut nodes, ranges_of_thread) in threads.into_values() {
        nodes.sort_by_key(|node| times[*node as usize]);
        innermost(&nodes, &times, &ranges_of_thread, &ranges.begin, &ranges.end, |node, range| {
            regions[node as usize] = tree.node_of.get(range as usize).copied().unwrap_or(NONE);
        });
    }
    regions
}
