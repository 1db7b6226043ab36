//! Launches of graphs whose nodes were recorded, among others of the same graph that were recorded as a whole.
//!
//! They take longer than the others, and their kernels say nothing about how many kernels ran: in the trace they are
//! whole graphs, too, and their nodes are set apart.

use std::collections::{HashMap, HashSet};

use crate::model::{Activity, ActivityKind, NONE, Trace};

pub(super) fn set_apart(trace: &mut Trace) {
    let activities = &trace.activities;
    let graph = |at: usize| (activities.process[at], (activities.node[at] >> 32) as u32);
    let is_whole = |at: &usize| activities.kind[*at] == ActivityKind::Graph;
    let whole: HashSet<(u32, u32)> = (0..activities.len())
        .filter(is_whole)
        .map(|at| (activities.process[at], activities.detail[at]))
        .collect();
    let is_sample = |at: usize| activities.node[at] != 0 && whole.contains(&graph(at));
    if whole.is_empty() || !(0..activities.len()).any(is_sample) {
        return;
    }
    let keep: Vec<bool> = (0..activities.len()).map(|at| !is_sample(at)).collect();
    let mut launches: HashMap<(u32, u32), Activity> = HashMap::new();
    for at in (0..activities.len()).filter(|at| !keep[*at]) {
        let row = activities.row(at);
        trace.graph_samples.push(row);
        // What the device launched itself belongs to a launch that is known by its other nodes.
        if row.correlation == NONE {
            continue;
        }
        let launch = launches.entry((row.process, row.correlation)).or_insert(Activity {
            kind: ActivityKind::Graph,
            detail: (row.node >> 32) as u32,
            ..row
        });
        (launch.begin, launch.end) = (launch.begin.min(row.begin), launch.end.max(row.end));
    }
    trace.activities.retain_rows(&keep);
    let mut launches: Vec<Activity> = launches.into_values().collect();
    launches.sort_by_key(|launch| (launch.begin, launch.process, launch.correlation));
    launches.into_iter().for_each(|launch| trace.activities.push(launch));
}
