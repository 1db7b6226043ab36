//! Which regions the work of a device belongs to, as texts.

use analysis::{Plane, Tree};
use trace::{NONE, Trace};

use super::packets::Packets;

#[derive(Debug)]
pub(crate) struct Regions {
    planes: Vec<Plane>,
    tree: Tree,
    /// By region: the number of its path as a text, once it was asked for.
    text: Vec<Option<u64>>,
}

impl Regions {
    pub(crate) fn new(planes: Vec<Plane>, tree: Tree) -> Self {
        let text = vec![None; tree.nodes.len()];
        Self { planes, tree, text }
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
        for range in self.planes.iter().map(|plane| plane.range[activity as usize]) {
            if range != NONE {
                let node = self.tree.node_of[range as usize];
                let path = || packets.value(&self.tree.path(trace, node).to_string());
                texts.push(*self.text[node as usize].get_or_insert_with(path));
            }
        }
    }
}
