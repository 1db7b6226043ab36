//! The regions of ranges.

use std::collections::HashMap;

use nvtx::{Kind, RegionPath};
use trace::{StringId, Trace};

use super::legend::Legend;
use crate::html::texts::Texts;

/// By range: the number of its region in the legend.
pub(super) fn regions(trace: &Trace, texts: &mut Texts, legend: &mut Legend) -> Vec<u32> {
    let ranges = &trace.ranges;
    // A region is known by its parent's number, its domain, name and kind.
    let mut known: HashMap<(Option<u32>, StringId, StringId, Kind), u32> = HashMap::new();
    let mut nodes: Vec<(Option<u32>, StringId, u32)> = Vec::new();
    let mut node_of: Vec<u32> = Vec::with_capacity(ranges.len());
    for range in 0..ranges.len() {
        // A parent was opened before its children and has its node already.
        let parent = ranges.parent[range].and_then(|parent| node_of.get(parent as usize).copied());
        let (domain, name, kind) = (ranges.domain[range], ranges.name[range], ranges.kind[range]);
        let node = *known.entry((parent, domain, name, kind)).or_insert_with(|| {
            let mut names = vec![trace.strings.text(name)];
            let mut above = parent;
            while let Some(node) = above {
                let (next, name, _) = nodes[node as usize];
                names.push(trace.strings.text(name));
                above = next;
            }
            names.reverse();
            let path = RegionPath::new(trace.strings.text(domain), names).to_string();
            let detail = if kind == Kind::StartEnd { "start/end range" } else { "" };
            let id = legend.region(texts, trace.strings.text(name), &path, detail);
            nodes.push((parent, name, id));
            nodes.len() as u32 - 1
        });
        node_of.push(node);
    }
    node_of.into_iter().map(|node| nodes[node as usize].2).collect()
}
