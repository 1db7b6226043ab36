//! Nodes of CUDA graphs that are known by their addresses: to ask for the id of each when it is made would take longer than
//! to make it. Only copies have an id, which is what runs.

use std::collections::HashMap;

use crate::model::{GraphNode, GraphNodes};

/// What no node of a program has.
const WITHOUT_ID: u64 = 1 << 63;

pub(super) struct MadeNode {
    pub(super) time: i64,
    pub(super) thread: u32,
    pub(super) address: u64,
    /// Its id, and the address of the node that it is a copy of.
    pub(super) copy: Option<(u64, u64)>,
}

/// An address belongs to the node that was last made there.
pub(super) fn append(rows: &mut GraphNodes, mut made: Vec<MadeNode>) {
    made.sort_by_key(|node| node.time);
    let mut at_address: HashMap<u64, usize> = HashMap::new();
    for (count, node) in made.into_iter().enumerate() {
        let unknown = WITHOUT_ID | count as u64;
        let row = GraphNode { time: node.time, thread: node.thread, ..GraphNode::default() };
        match node.copy {
            None => {
                at_address.insert(node.address, rows.len());
                rows.push(GraphNode { node: unknown, ..row });
            }
            Some((id, original)) => {
                let original = at_address.get(&original).map_or(unknown, |at| rows.node[*at]);
                // It was made a moment ago.
                match at_address.get(&node.address) {
                    Some(own) if rows.original[*own] == 0 => rows.node[*own] = id,
                    _ => {
                        at_address.insert(node.address, rows.len());
                    }
                }
                rows.push(GraphNode { node: id, original, ..row });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(time: i64, address: u64, copy: Option<(u64, u64)>) -> MadeNode {
        MadeNode { time, thread: 0, address, copy }
    }

    /// The second graph has the first one's addresses, and is read first.
    #[test]
    fn an_address_is_used_again() {
        let mut rows = GraphNodes::default();
        let second = [made(50, 1, None), made(60, 2, None), made(61, 2, Some((8, 1)))];
        let first = [made(10, 1, None), made(20, 2, None), made(21, 2, Some((7, 1)))];
        append(&mut rows, second.into_iter().chain(first).collect());
        let original = |id: u64| {
            let at = (0..rows.len()).find(|at| rows.node[*at] == id && rows.original[*at] != 0).unwrap();
            let original = (0..rows.len()).find(|of| rows.node[*of] == rows.original[at]).unwrap();
            rows.time[original]
        };
        assert_eq!((original(7), original(8)), (10, 50));
    }

    /// A copy of a copy, and one of a node that was made before anybody looked.
    #[test]
    fn copies_of_copies() {
        let mut rows = GraphNodes::default();
        let steps = [
            made(1, 1, None),
            made(2, 2, None),
            made(3, 2, Some((20, 1))),
            made(4, 3, None),
            made(5, 3, Some((30, 2))),
            made(6, 5, Some((50, 4))),
        ];
        append(&mut rows, steps.into());
        let row =
            |id: u64| (0..rows.len()).find(|at| rows.node[*at] == id && rows.original[*at] != 0).unwrap();
        assert_eq!(rows.original[row(30)], 20);
        assert_eq!(rows.original[row(20)], rows.node[0]);
        assert!(!rows.node.contains(&rows.original[row(50)]), "it was never made");
    }
}
