//! A gate, applied to what was recorded without one.

use trace::{Selection, Trace};

use super::regions::Region;
use super::tree::Tree;

/// Leaves what began while a range of one of these regions was open, on whichever thread:
/// what a gate on them records.
pub fn keep_within(trace: &mut Trace, regions: &[&Region]) {
    trace.keep_windows(windows_within(trace, regions), Selection::Ranges);
}

/// When a range of one of these regions was open, in order and apart.
pub fn windows_within(trace: &Trace, regions: &[&Region]) -> Vec<(i64, i64)> {
    let tree = Tree::of(trace);
    let wanted: Vec<bool> = (0..tree.nodes.len() as u32)
        .map(|node| {
            let path = tree.path(trace, node);
            regions.iter().any(|region| region.kind == tree.nodes[node as usize].kind && region.path == path)
        })
        .collect();
    let ranges = &trace.ranges;
    let stretches = (0..ranges.len())
        .filter(|range| wanted[tree.node_of[*range] as usize])
        .map(|range| (ranges.begin[range], ranges.end[range]))
        .collect();
    Trace::windows_of(stretches)
}
