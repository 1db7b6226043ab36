//! What a process gave to its devices, in the order in which it did.

use std::collections::HashMap;

use trace::{ActivityKind, NONE, Trace};

use crate::attribute::Attribution;

/// One launch: a kernel, a copy, a fill, or all that one call started: the kernels of a graph, above all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Launched {
    /// The same for launches that are alike: one kernel in any shape, copies in one direction, one graph.
    pub(super) symbol: u32,
    /// When the host asked for it.
    pub(super) at: i64,
    /// When the device was at it.
    pub(super) begin: i64,
    pub(super) end: i64,
    /// The time of its kernels. Copies count for nothing: the weights that a program loads may take longer than
    /// its loop.
    pub(super) kernel_ns: i64,
}

impl Launched {
    /// The time the device was at it.
    pub(super) fn gpu_ns(&self) -> i64 {
        self.end.saturating_sub(self.begin).max(0)
    }
}

/// A sum that a damaged trace cannot make overflow.
pub(super) fn total_of(times: impl Iterator<Item = i64>) -> i64 {
    times.fold(0, i64::saturating_add)
}

/// The launches of each process.
pub(super) fn launched(trace: &Trace, attribution: &Attribution) -> Vec<Vec<Launched>> {
    #[derive(PartialEq, Eq, Hash)]
    enum Key {
        Kernel(trace::StringId),
        Transfer(trace::Direction),
        Graph(u32),
        /// Of a graph whose nodes were recorded: the first of them.
        Nodes(trace::StringId),
    }
    let activities = &trace.activities;
    let mut symbols: HashMap<Key, u32> = HashMap::new();
    // Few, and asked for at every launch.
    let mut of_kernel: Vec<u32> = vec![NONE; activities.launches.len()];
    let mut all: Vec<Vec<(Launched, u32)>> = vec![Vec::new(); trace.processes.len()];
    for activity in 0..activities.len() {
        let (detail, call) = (activities.detail[activity], attribution.call[activity]);
        let mut number = |key: Key| {
            let next = symbols.len() as u32;
            *symbols.entry(key).or_insert(next)
        };
        let in_graph = activities.in_graph[activity];
        let symbol = match activities.kind[activity] {
            ActivityKind::Kernel if in_graph => number(Key::Nodes(activities.launches[detail as usize].name)),
            ActivityKind::Kernel => {
                let known = &mut of_kernel[detail as usize];
                if *known == NONE {
                    *known = number(Key::Kernel(activities.launches[detail as usize].name));
                }
                *known
            }
            ActivityKind::Copy | ActivityKind::Fill => {
                number(Key::Transfer(activities.transfers[detail as usize].direction))
            }
            ActivityKind::Graph => number(Key::Graph(detail)),
            // Nobody asked for it.
            ActivityKind::Migration => continue,
        };
        let at = if call == NONE { activities.begin[activity] } else { trace.calls.begin[call as usize] };
        let is_kernel = matches!(activities.kind[activity], ActivityKind::Kernel | ActivityKind::Graph);
        let launch = Launched {
            symbol,
            at,
            begin: activities.begin[activity],
            end: activities.end[activity],
            kernel_ns: if is_kernel { activities.duration(activity) } else { 0 },
        };
        all[activities.process[activity] as usize].push((launch, call));
    }
    all.into_iter().map(in_order).collect()
}

/// By time, all that one call started as one: a recording may not say that it launched a graph.
fn in_order(mut launches: Vec<(Launched, u32)>) -> Vec<Launched> {
    if !launches.is_sorted_by_key(|(launch, _)| launch.at) {
        launches.sort_by_key(|(launch, _)| launch.at);
    }
    let mut ordered: Vec<Launched> = Vec::with_capacity(launches.len());
    let mut last_call = NONE;
    for (launch, call) in launches {
        match ordered.last_mut() {
            Some(graph) if call != NONE && call == last_call => {
                graph.kernel_ns = graph.kernel_ns.saturating_add(launch.kernel_ns);
                graph.begin = graph.begin.min(launch.begin);
                graph.end = graph.end.max(launch.end);
            }
            _ => ordered.push(launch),
        }
        last_call = call;
    }
    ordered
}
