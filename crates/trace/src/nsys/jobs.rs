//! Which tables are read in parts, and in which order.

use super::export::Export;
use super::parallel::Job;
use super::parts::Part;
use super::tables::Read;
use super::{activities, calls, gpu_metrics::Metrics, graph_nodes, nvtx_events, stacks};

/// Jobs for every table that is read in parts, the largest first. Processes and devices are numbered in
/// this order.
pub(super) fn jobs<'a>(
    export: Export<'a>,
    metrics: &'a Metrics,
) -> impl Iterator<Item = Job<'a, Read<Part>>> {
    [
        activities::kernels(export),
        calls::calls(export),
        activities::copies(export),
        activities::fills(export),
        activities::graphs(export),
        calls::waits(export),
        calls::events(export),
        graph_nodes::nodes(export),
        nvtx_events::events(export),
        metrics.jobs(export),
        stacks::samples(export),
        stacks::chains(export),
    ]
    .into_iter()
    .flatten()
}
