//! The tree of region paths.

use std::collections::HashMap;

use nvtx::{Kind, RegionPath};
use trace::{StringId, Trace};

/// A region: the way to it from the root of its domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    pub parent: Option<u32>,
    pub domain: StringId,
    pub name: StringId,
    pub kind: Kind,
}

/// Nodes come after their parents.
#[derive(Debug)]
pub struct Tree {
    pub nodes: Vec<Node>,
    /// By range.
    pub node_of: Vec<u32>,
}

impl Tree {
    pub(crate) fn of(trace: &Trace) -> Self {
        let ranges = &trace.ranges;
        let mut nodes: Vec<Node> = Vec::new();
        let mut known: HashMap<Node, u32> = HashMap::new();
        let mut node_of: Vec<u32> = Vec::with_capacity(ranges.len());
        let mut last: Option<(Node, u32)> = None;
        for range in 0..ranges.len() {
            // A parent was opened before its children and has its node already.
            let parent = ranges.parent[range].and_then(|parent| node_of.get(parent as usize).copied());
            let node = Node {
                parent,
                domain: ranges.domain[range],
                name: ranges.name[range],
                kind: ranges.kind[range],
            };
            let id = match last {
                Some((same, id)) if same == node => id,
                _ => *known.entry(node).or_insert_with(|| {
                    nodes.push(node);
                    nodes.len() as u32 - 1
                }),
            };
            last = Some((node, id));
            node_of.push(id);
        }
        Self { nodes, node_of }
    }

    /// Children behind their parents, in the order of first appearance.
    pub(crate) fn order(&self, trace: &Trace) -> Vec<u32> {
        let mut first = vec![i64::MAX; self.nodes.len()];
        for (range, node) in self.node_of.iter().enumerate() {
            let place = &mut first[*node as usize];
            *place = (*place).min(trace.ranges.begin[range]);
        }
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        let mut waiting: Vec<u32> = Vec::new();
        for (node, Node { parent, .. }) in self.nodes.iter().enumerate() {
            match parent {
                Some(parent) => children[*parent as usize].push(node as u32),
                None => waiting.push(node as u32),
            }
        }
        // Taken from the end: the earliest last.
        let latest_first = |nodes: &mut Vec<u32>| {
            nodes.sort_by_key(|node| std::cmp::Reverse((first[*node as usize], *node)));
        };
        latest_first(&mut waiting);
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(node) = waiting.pop() {
            order.push(node);
            let mut below = std::mem::take(&mut children[node as usize]);
            latest_first(&mut below);
            waiting.append(&mut below);
        }
        order
    }

    /// About how long its path is as text.
    pub(crate) fn path_bytes(&self, trace: &Trace, node: u32) -> usize {
        let above = std::iter::successors(Some(node), |node| self.nodes[*node as usize].parent);
        let bytes = |node: u32| trace.strings.text(self.nodes[node as usize].name).len() + 1;
        above.map(bytes).fold(0, usize::saturating_add)
    }

    pub fn path(&self, trace: &Trace, node: u32) -> RegionPath {
        let mut names = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at {
            names.push(trace.strings.text(self.nodes[node as usize].name).to_owned());
            at = self.nodes[node as usize].parent;
        }
        names.reverse();
        RegionPath::new(trace.strings.text(self.nodes[node as usize].domain), names)
    }
}
