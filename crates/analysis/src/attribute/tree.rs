//! The tree of region paths.

use std::collections::{HashMap, HashSet};

use nvtx::{Kind, RegionPath};
use trace::{Ranges, StringId, Trace};

/// So many names with one pattern below one parent are one region.
const FEWEST_FOLDED: usize = 3;

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
        Self::of_ranges(&trace.ranges, &trace.patterns)
    }

    /// Of ranges whose parents are known.
    pub(crate) fn of_ranges(ranges: &Ranges, patterns: &HashMap<StringId, StringId>) -> Self {
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
        let exact = Self { nodes, node_of };
        if patterns.is_empty() { exact } else { exact.folded(patterns) }
    }

    /// Whether a region is another or inside it.
    pub(crate) fn is_within(&self, node: u32, outer: u32) -> bool {
        let above = |node: &u32| self.nodes[*node as usize].parent;
        std::iter::successors(Some(node), above).any(|node| node == outer)
    }

    /// The innermost region that both are, or are inside of.
    pub(crate) fn common(&self, one: u32, other: u32) -> Option<u32> {
        let above = |node: &u32| self.nodes[*node as usize].parent;
        std::iter::successors(Some(one), above).find(|node| self.is_within(other, *node))
    }

    /// Nodes below one parent whose names have one pattern become one, if they have enough different names.
    /// Level by level: what is below nodes that became one is below one parent then.
    fn folded(self, patterns: &HashMap<StringId, StringId>) -> Self {
        let exact = self.nodes;
        let mut depth: Vec<u32> = Vec::with_capacity(exact.len());
        for node in &exact {
            depth.push(node.parent.map_or(0, |parent| depth[parent as usize] + 1));
        }
        let mut levels: Vec<Vec<u32>> =
            vec![Vec::new(); depth.iter().max().map_or(0, |deepest| *deepest as usize + 1)];
        for (at, depth) in depth.iter().enumerate() {
            levels[*depth as usize].push(at as u32);
        }
        let mut nodes: Vec<Node> = Vec::new();
        let mut known: HashMap<Node, u32> = HashMap::new();
        let mut became: Vec<u32> = vec![0; exact.len()];
        for level in levels {
            let below = |at: &u32| {
                let node = exact[*at as usize];
                Node { parent: node.parent.map(|parent| became[parent as usize]), ..node }
            };
            let with_pattern =
                |node: Node| patterns.get(&node.name).map(|pattern| Node { name: *pattern, ..node });
            // Nodes below different parents may have come below one, so a name can be there twice.
            let mut names: HashMap<Node, HashSet<StringId>> = HashMap::new();
            for node in level.iter().map(below) {
                if let Some(pattern) = with_pattern(node) {
                    names.entry(pattern).or_default().insert(node.name);
                }
            }
            let is_folded =
                |pattern: &Node| names.get(pattern).is_some_and(|names| names.len() >= FEWEST_FOLDED);
            let folded: Vec<(u32, Node)> = level
                .iter()
                .map(|at| (*at, below(at)))
                .map(|(at, node)| (at, with_pattern(node).filter(is_folded).unwrap_or(node)))
                .collect();
            for (at, node) in folded {
                became[at as usize] = *known.entry(node).or_insert_with(|| {
                    nodes.push(node);
                    nodes.len() as u32 - 1
                });
            }
        }
        Self { nodes, node_of: self.node_of.into_iter().map(|node| became[node as usize]).collect() }
    }

    /// Children behind their parents, in the order of first appearance.
    pub(crate) fn order(&self, trace: &Trace) -> Vec<u32> {
        self.order_by(&trace.ranges.begin)
    }

    /// The same; `begins` are those of its ranges.
    pub(crate) fn order_by(&self, begins: &[i64]) -> Vec<u32> {
        let mut first = vec![i64::MAX; self.nodes.len()];
        for (range, node) in self.node_of.iter().enumerate() {
            let place = &mut first[*node as usize];
            *place = (*place).min(begins[range]);
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
    pub fn path_bytes(&self, trace: &Trace, node: u32) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Range;

    /// `(name, parent)`
    fn tree_of(rows: &[(&str, Option<u32>)]) -> Vec<(String, usize)> {
        let mut trace = Trace::default();
        for (name, parent) in rows {
            let name = trace.strings.intern(name);
            trace.ranges.push(Range { name, ..Range::default() });
            trace.ranges.parent.push(*parent);
        }
        trace.fold_names();
        let tree = Tree::of(&trace);
        let count = |node: usize| tree.node_of.iter().filter(|of| **of as usize == node).count();
        (0..tree.nodes.len()).map(|node| (tree.path(&trace, node as u32).to_string(), count(node))).collect()
    }

    #[test]
    fn three_names_are_one_region() {
        let rows = [
            ("step 0", None),
            ("layer 0", Some(0)),
            ("layer 1", Some(0)),
            ("step 1", None),
            ("layer 0", Some(3)),
            ("layer 2", Some(3)),
            ("step 2", None),
            ("block 1", Some(6)),
            ("block 2", Some(6)),
            ("step", None),
        ];
        let found = [
            (":step *", 3),
            (":step", 1),
            (":step */layer *", 4),
            (":step */block 1", 1),
            (":step */block 2", 1),
        ];
        assert_eq!(tree_of(&rows), found.map(|(path, count)| (path.to_owned(), count)));
    }

    #[test]
    fn two_names_stay_two() {
        let rows = [("step 0", None), ("step 1", None), ("step 1", None)];
        assert_eq!(
            tree_of(&rows),
            [(":step 0", 1), (":step 1", 2)].map(|(path, count)| (path.to_owned(), count))
        );
    }
}
