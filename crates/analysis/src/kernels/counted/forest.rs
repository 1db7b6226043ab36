//! The regions that counters and a rehearsal know, as a forest.

use std::collections::HashMap;

use nvtx::{Kind, RegionPath};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    parent: Option<usize>,
    kind: Kind,
    domain: String,
    name: String,
}

/// Nodes come after their parents.
#[derive(Debug, Default)]
pub(crate) struct Forest {
    nodes: Vec<Key>,
    known: HashMap<Key, usize>,
}

impl Forest {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn parent(&self, node: usize) -> Option<usize> {
        self.nodes[node].parent
    }

    pub(crate) fn kind(&self, node: usize) -> Kind {
        self.nodes[node].kind
    }

    /// The nodes from the root to the region, made where there are none.
    pub(crate) fn way(&mut self, path: &RegionPath, kind: Kind) -> Vec<usize> {
        let mut way = Vec::with_capacity(path.names.len());
        for name in &path.names {
            let parent = way.last().copied();
            let key = Key { parent, kind, domain: path.domain.clone(), name: name.clone() };
            let next = self.nodes.len();
            let node = *self.known.entry(key).or_insert_with_key(|key| {
                self.nodes.push(key.clone());
                next
            });
            way.push(node);
        }
        way
    }

    pub(crate) fn path(&self, node: usize) -> RegionPath {
        let mut names = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at {
            names.push(self.nodes[node].name.as_str());
            at = self.nodes[node].parent;
        }
        names.reverse();
        RegionPath::new(self.nodes[node].domain.as_str(), names)
    }

    /// Children behind their parents, push/pop before start/end, otherwise as they came.
    pub(crate) fn order(&self) -> Vec<usize> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut waiting = Vec::new();
        for (node, key) in self.nodes.iter().enumerate().rev() {
            match key.parent {
                Some(parent) => children[parent].push(node),
                None => waiting.push(node),
            }
        }
        waiting.sort_by_key(|node| std::cmp::Reverse((self.nodes[*node].kind, *node)));
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(node) = waiting.pop() {
            order.push(node);
            waiting.append(&mut children[node]);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_made_and_come_first() {
        let mut forest = Forest::default();
        for (path, kind) in [
            (":se", Kind::StartEnd),
            (":b/x", Kind::PushPop),
            (":a", Kind::PushPop),
            (":b/y/z", Kind::PushPop),
            (":se", Kind::PushPop),
            (":b/x", Kind::PushPop),
        ] {
            forest.way(&path.parse().unwrap(), kind);
        }
        let shown: Vec<String> = forest
            .order()
            .into_iter()
            .map(|node| format!("{} {}", forest.kind(node).as_str(), forest.path(node)))
            .collect();
        assert_eq!(
            shown,
            [
                "push/pop :b",
                "push/pop :b/x",
                "push/pop :b/y",
                "push/pop :b/y/z",
                "push/pop :a",
                "push/pop :se",
                "start/end :se",
            ]
        );
    }
}
