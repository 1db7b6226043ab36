//! What jobs read: parts of tables, whose numbers of processes, threads, names and launches are their own.

use super::tables::Numbering;
use crate::metric_rows::Metric;
use crate::model::{
    Activities, Calls, GraphNodes, Ranges, StackSamples, StreamEvents, StringId, Strings, Syncs,
};

pub(super) enum Part {
    Activities(ActivityPart),
    Calls(CallPart),
    Waits(WaitPart),
    GraphNodes(GraphNodePart),
    Nvtx(NvtxPart),
    Metrics(MetricPart),
    Samples(SamplePart),
    Chains(ChainPart),
}

#[derive(Default)]
pub(super) struct ActivityPart {
    pub(super) rows: Activities,
    pub(super) processes: Numbering<i64>,
    /// By process, and the number that it has there.
    pub(super) devices: Numbering<(i64, i64)>,
    pub(super) launches: Numbering<RawLaunch>,
}

/// A launch whose names are still numbers of `StringIds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RawLaunch {
    pub(super) name: i64,
    pub(super) short_name: i64,
    pub(super) mangled: i64,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) registers: u32,
    pub(super) static_shared: u32,
    pub(super) dynamic_shared: u32,
}

#[derive(Default)]
pub(super) struct CallPart {
    pub(super) rows: Calls,
    pub(super) threads: Numbering<i64>,
    pub(super) names: Numbering<i64>,
}

#[derive(Default)]
pub(super) struct WaitPart {
    pub(super) rows: Syncs,
    pub(super) events: StreamEvents,
    pub(super) processes: Numbering<i64>,
}

#[derive(Default)]
pub(super) struct GraphNodePart {
    pub(super) rows: GraphNodes,
    pub(super) threads: Numbering<i64>,
}

/// A name: a number of `StringIds`, or a text of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Registered(i64),
    Own(StringId),
}

#[derive(Default)]
pub(super) struct NvtxPart {
    /// The texts that are [`Name::Own`].
    pub(super) strings: Strings,
    pub(super) rows: Ranges,
    pub(super) threads: Numbering<i64>,
    pub(super) names: Numbering<Name>,
    pub(super) domains: Numbering<(i64, i64)>,
    /// Process and number of a domain, and what it is called.
    pub(super) created: Vec<((i64, i64), Name)>,
    /// Domain and name.
    pub(super) marks: Vec<(u32, u32)>,
}

/// Time, number of a metric, value.
#[derive(Default)]
pub(super) struct MetricPart {
    pub(super) rows: Vec<(i64, u32, f32)>,
    pub(super) metrics: Numbering<Metric>,
}

#[derive(Default)]
pub(super) struct SamplePart {
    pub(super) rows: StackSamples,
    /// What their stacks refer to.
    pub(super) ids: Vec<i64>,
    pub(super) threads: Numbering<i64>,
}

/// A frame of a sample's stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) sample: i64,
    /// 0 is the innermost.
    pub(super) depth: u16,
    /// Numbers of `StringIds`; a symbol of -1 was not found.
    pub(super) symbol: i64,
    pub(super) module: i64,
}

#[derive(Default)]
pub(super) struct ChainPart {
    pub(super) links: Vec<Link>,
}
