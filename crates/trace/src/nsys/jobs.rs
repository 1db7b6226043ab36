//! Which tables are read in parts, and in which order.

use super::parallel::Job;
use super::parts::Part;
use super::tables::Read;
use super::{activities, calls, gpu_metrics::Metrics, graph_nodes, nvtx_events, stacks};
use crate::sqlite::Database;

/// Jobs for every table that is read in parts, the largest first. Processes and devices are numbered in
/// this order.
pub(super) fn jobs<'a>(
    database: &'a Database,
    metrics: &'a Metrics,
) -> impl Iterator<Item = Job<'a, Read<Part>>> {
    [
        activities::kernels(database),
        calls::calls(database),
        activities::copies(database),
        activities::fills(database),
        activities::graphs(database),
        calls::waits(database),
        calls::events(database),
        graph_nodes::nodes(database),
        nvtx_events::events(database),
        metrics.jobs(database),
        stacks::samples(database),
        stacks::chains(database),
    ]
    .into_iter()
    .flatten()
}
