//! Nodes of CUDA graphs, when they were made.

use super::export::Export;
use super::parallel::Job;
use super::parts::{GraphNodePart, Part};
use super::tables::{Read, Unusable, jobs as parts};
use super::timed::NODES;
use crate::model::GraphNode;
use crate::sqlite::{Finder, Integer, Row};

pub(super) fn nodes<'a>(export: Export<'a>) -> Vec<Job<'a, Read<Part>>> {
    parts(export, NODES, NodeColumns::find, GraphNodePart::node, Part::GraphNodes)
}

struct NodeColumns {
    time: Integer,
    thread: Integer,
    node: Integer,
    original: Integer,
}

impl NodeColumns {
    fn find(find: &mut Finder<'_>) -> Self {
        Self {
            time: find.integer("start"),
            thread: find.integer("globalTid"),
            node: find.integer("graphNodeId"),
            original: find.integer("originalGraphNodeId"),
        }
    }
}

impl GraphNodePart {
    fn node(&mut self, row: &Row<'_>, columns: &NodeColumns) -> Result<(), Unusable> {
        self.rows.push(GraphNode {
            time: row.integer(columns.time).ok_or(Unusable)?,
            thread: self.threads.number(row.integer(columns.thread).ok_or(Unusable)?),
            node: row.integer(columns.node).ok_or(Unusable)? as u64,
            original: row.integer(columns.original).map_or(0, |node| node as u64),
            ..GraphNode::default()
        });
        Ok(())
    }
}
