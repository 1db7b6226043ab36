//! Which captured node a replayed one is a copy of.

use std::collections::{BTreeMap, HashMap, HashSet};

use trace::{NONE, StringId, Trace};

use super::replays::Replay;

/// A copy of a copy of a copy: no program goes further, but a damaged file may go round in circles.
const MOST_COPIES: usize = 64;
/// Nodes of instantiated graphs that are looked at: many more than any program has, so that a damaged file comes to an end.
const MOST_VISITS: usize = 1 << 24;
/// Calls and nodes may be timed by two clocks.
const BETWEEN_CLOCKS_NS: i64 = 1_000;

/// A node of a process.
type Key = (u32, u64);

/// When and where a node was made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Made {
    pub(super) time: i64,
    pub(super) thread: u32,
}

/// By replay, the number of the node that was captured, or [`NONE`]; and when and where each of those was made.
pub(super) fn originals(trace: &Trace, replays: &[Replay]) -> (Vec<u32>, Vec<Made>) {
    let nodes = Nodes::of(trace, replays);
    let mut numbers: HashMap<Key, u32> = HashMap::new();
    let mut known: HashMap<Key, u32> = HashMap::new();
    let mut all: Vec<Made> = Vec::new();
    let number = |replay: &Replay| {
        let key = (replay.process, replay.node);
        if key.1 == 0 {
            return NONE;
        }
        *known.entry(key).or_insert_with(|| {
            let original = nodes.original(key);
            nodes.made.get(&original).map_or(NONE, |made| {
                *numbers.entry(original).or_insert_with(|| {
                    all.push(*made);
                    all.len() as u32 - 1
                })
            })
        })
    };
    let of_replay = replays.iter().map(number).collect();
    (of_replay, all)
}

/// What is known about nodes.
struct Nodes {
    made: HashMap<Key, Made>,
    /// Of which node a node is a copy.
    copies: HashMap<Key, u64>,
}

impl Nodes {
    fn of(trace: &Trace, replays: &[Replay]) -> Self {
        let rows = &trace.graph_nodes;
        let mut nodes = Self { made: HashMap::new(), copies: HashMap::new() };
        for row in 0..rows.len() {
            let (thread, time) = (rows.thread[row], rows.time[row]);
            let key = (trace.process_of(thread), rows.node[row]);
            match rows.original[row] {
                0 => {
                    nodes.made.entry(key).or_insert(Made { time, thread });
                }
                original => {
                    nodes.copies.entry(key).or_insert(original);
                }
            }
        }
        nodes.nested(trace, replays);
        nodes
    }

    /// The nodes of a graph inside a graph have copies of their own when it is instantiated, but run under other
    /// numbers, which follow those of the outer graph's own nodes: graph by graph, in the order of their ids.
    /// Measured with CUDA 13.0, with children of children and with bodies of conditions.
    fn nested(&mut self, trace: &Trace, replays: &[Replay]) {
        let is_missing = |key: &Key| key.1 != 0 && !self.made.contains_key(key);
        let keys = replays.iter().map(|replay| (replay.process, replay.node));
        let mut missing: HashMap<(u32, u32), HashSet<u64>> = HashMap::new();
        for (process, node) in keys.filter(is_missing) {
            missing.entry((process, graph_of(node))).or_default().insert(node);
        }
        if missing.is_empty() {
            return;
        }
        let mut visits = MOST_VISITS;
        instantiations(trace, |process, copies| {
            let mut graphs: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
            for node in copies {
                graphs.entry(graph_of(*node)).or_default().push(*node);
            }
            for (graph, own) in &graphs {
                let Some(nodes) = missing.get(&(process, *graph)) else { continue };
                // Graph by graph, and in each by place.
                let others = graphs.iter().filter(|(other, _)| *other != graph);
                let mut nested: Vec<u64> = others.flat_map(|(_, nodes)| nodes).copied().collect();
                nested.sort_unstable();
                let first = own.iter().map(|node| place_of(*node).saturating_add(1)).max().unwrap_or(0);
                for node in nodes {
                    let place = place_of(*node).checked_sub(first).and_then(|at| nested.get(at as usize));
                    if let Some(copy) = place {
                        self.copies.entry((process, *node)).or_insert(*copy);
                    }
                }
                visits = visits.saturating_sub(copies.len() + nodes.len());
            }
            visits = visits.saturating_sub(copies.len());
            visits > 0
        });
    }

    /// The node that was captured. After an update of the instance, that is still the node it was made from: nothing
    /// says which other one it was updated from.
    fn original(&self, (process, node): Key) -> Key {
        let above = |node: &u64| self.copies.get(&(process, *node)).copied();
        let original = std::iter::successors(Some(node), above).take(MOST_COPIES).last();
        (process, original.unwrap_or(node))
    }
}

/// For each instance of a graph: its process, and the nodes that became copies in it, until `see` has seen enough.
fn instantiations(trace: &Trace, mut see: impl FnMut(u32, &[u64]) -> bool) {
    let threads = Thread::all(trace);
    let calls = &trace.calls;
    let mut names: HashMap<StringId, bool> = HashMap::new();
    let is_one = |call: &usize| {
        let name = calls.name[*call];
        *names.entry(name).or_insert_with(|| trace.strings.text(name).contains("GraphInstantiate"))
    };
    let by_call = (0..calls.len()).filter(is_one).map(|call| {
        let (begin, end) = (calls.begin[call], calls.end[call]);
        let (begin, end) = (begin.saturating_sub(BETWEEN_CLOCKS_NS), end.saturating_add(BETWEEN_CLOCKS_NS));
        (calls.thread[call], begin, end)
    });
    // By the clock of the nodes first: what those say stays.
    for (thread, begin, end) in trace.instantiations.iter().copied().chain(by_call) {
        let Some(rows) = threads.get(&thread) else { continue };
        let inside = rows.copies_inside(begin, end);
        let copies = if inside.is_empty() { rows.copies_before(begin) } else { inside };
        if !copies.is_empty() && !see(trace.process_of(thread), &copies) {
            return;
        }
    }
}

/// What a thread made, in its order.
#[derive(Default)]
struct Thread {
    rows: Vec<(i64, u64, u64)>,
    /// Nodes that are copies.
    copies: HashSet<u64>,
    /// When instantiations ended, in order.
    instantiated: Vec<i64>,
}

impl Thread {
    fn all(trace: &Trace) -> HashMap<u32, Self> {
        let nodes = &trace.graph_nodes;
        let mut all: HashMap<u32, Self> = HashMap::new();
        for row in 0..nodes.len() {
            let thread = all.entry(nodes.thread[row]).or_default();
            thread.rows.push((nodes.time[row], nodes.node[row], nodes.original[row]));
            if nodes.original[row] != 0 {
                thread.copies.insert(nodes.node[row]);
            }
        }
        for (thread, _, end) in &trace.instantiations {
            if let Some(thread) = all.get_mut(thread) {
                thread.instantiated.push(*end);
            }
        }
        for thread in all.values_mut() {
            thread.rows.sort_by_key(|(time, ..)| *time);
            thread.instantiated.sort_unstable();
        }
        all
    }

    fn copies_inside(&self, begin: i64, end: i64) -> Vec<u64> {
        let first = self.rows.partition_point(|(time, ..)| *time < begin);
        let last = self.rows.partition_point(|(time, ..)| *time <= end);
        let inside = self.rows.get(first..last).unwrap_or_default().iter();
        inside.filter(|(_, _, original)| *original != 0).map(|(_, node, _)| *node).collect()
    }

    /// Those that were made together right before this. A node that is no copy was made by the program, or for the
    /// instance when all copies were there. What the program copied itself is what the instance was copied from.
    fn copies_before(&self, end: i64) -> Vec<u64> {
        // Not those of the instance before.
        let earlier = self.instantiated.partition_point(|time| *time <= end);
        let begin = earlier.checked_sub(1).map_or(i64::MIN, |last| self.instantiated[last]);
        let rows = &self.rows[..self.rows.partition_point(|(time, ..)| *time <= end)];
        let rows = &rows[rows.partition_point(|(time, ..)| *time <= begin)..];
        let is_copy = |row: &&(i64, u64, u64)| self.copies.contains(&row.1);
        let together = rows.iter().rev().skip_while(|row| !is_copy(row)).take_while(is_copy);
        let together = together.filter(|(_, _, original)| *original != 0).take(MOST_VISITS);
        let (nodes, originals): (Vec<u64>, HashSet<u64>) =
            together.map(|(_, node, original)| (*node, *original)).unzip();
        nodes.into_iter().filter(|node| !originals.contains(node)).collect()
    }
}

/// The graph that a node is of.
fn graph_of(node: u64) -> u32 {
    (node >> 32) as u32
}

/// Its place there.
fn place_of(node: u64) -> u32 {
    node as u32
}
