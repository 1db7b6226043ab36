//! Tables that have a row for everything that happened, and the column that says when.

pub(super) const KERNEL: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
pub(super) const MEMCPY: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
pub(super) const MEMSET: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
pub(super) const GRAPH: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
pub(super) const RUNTIME: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
pub(super) const SYNC: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
pub(super) const EVENT: &str = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
pub(super) const NODES: &str = "CUDA_GRAPH_NODE_EVENTS";
pub(super) const RANGES: &str = "NVTX_EVENTS";
pub(super) const METRICS: &str = "GPU_METRICS";
pub(super) const SAMPLES: &str = "COMPOSITE_EVENTS";
pub(super) const CHAINS: &str = "SAMPLING_CALLCHAINS";
/// What numbers of texts stand for.
pub(super) const TEXTS: &str = "StringIds";

pub(super) const TABLES: [(&str, Option<&str>); 12] = [
    (KERNEL, Some("start")),
    (MEMCPY, Some("start")),
    (MEMSET, Some("start")),
    (GRAPH, Some("start")),
    (RUNTIME, Some("start")),
    (SYNC, Some("start")),
    (EVENT, None),
    (NODES, Some("start")),
    (RANGES, Some("start")),
    (METRICS, Some("timestamp")),
    (SAMPLES, Some("start")),
    (CHAINS, None),
];

/// The column of a table that says when its rows happened; the rows of one without are in the order of time.
pub(super) fn time_of(table: &str) -> Option<&'static str> {
    TABLES.iter().find(|(name, _)| *name == table)?.1
}
