//! Which regions the work of a device belongs to, as texts.

use std::collections::HashMap;

use analysis::Plane;
use nvtx::RegionPath;
use trace::{NONE, StringId, Trace};

use super::packets::Packets;

/// A region: the one around it, and its name. Domains stay apart by their own roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    parent: Option<u32>,
    domain: StringId,
    name: StringId,
}

#[derive(Debug)]
pub(crate) struct Regions {
    planes: Vec<Plane>,
    /// By range; [`NONE`] until it is asked for.
    node: Vec<u32>,
    nodes: Vec<Node>,
    known: HashMap<Node, u32>,
    /// By node: the number of its path as a text.
    text: Vec<u64>,
}

impl Regions {
    pub(crate) fn new(trace: &Trace, planes: Vec<Plane>) -> Self {
        Self {
            planes,
            node: vec![NONE; trace.ranges.len()],
            nodes: Vec::new(),
            known: HashMap::new(),
            text: Vec::new(),
        }
    }

    /// The paths an activity lies in, one for each domain, by the numbers of their texts.
    pub(crate) fn of(
        &mut self,
        packets: &mut Packets<'_>,
        trace: &Trace,
        activity: u32,
        texts: &mut Vec<u64>,
    ) {
        texts.clear();
        for plane in 0..self.planes.len() {
            let range = self.planes[plane].range[activity as usize];
            if range != NONE {
                let node = self.node(packets, trace, range);
                texts.push(self.text[node as usize]);
            }
        }
    }

    fn node(&mut self, packets: &mut Packets<'_>, trace: &Trace, range: u32) -> u32 {
        let at = range as usize;
        if self.node[at] != NONE {
            return self.node[at];
        }
        let parent = trace.ranges.parent[at].map(|parent| self.node(packets, trace, parent));
        let node = Node { parent, domain: trace.ranges.domain[at], name: trace.ranges.name[at] };
        let number = match self.known.get(&node) {
            Some(number) => *number,
            None => {
                let number = self.nodes.len() as u32;
                self.nodes.push(node);
                self.known.insert(node, number);
                self.text.push(packets.value(&self.path(trace, number)));
                number
            }
        };
        self.node[at] = number;
        number
    }

    fn path(&self, trace: &Trace, node: u32) -> String {
        let up = std::iter::successors(Some(node), |node| self.nodes[*node as usize].parent);
        let mut names: Vec<&str> =
            up.map(|node| trace.strings.text(self.nodes[node as usize].name)).collect();
        names.reverse();
        RegionPath::new(trace.strings.text(self.nodes[node as usize].domain), names).to_string()
    }
}
