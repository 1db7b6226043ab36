//! What a trace and counters show: small, pure functions, in folders by the question they answer.

mod attribute;
pub mod compare;
mod diagnose;
mod document;
mod idle_causes;
mod insight;
mod kernels;
mod limit;
mod loop_;
mod options;
mod origin;
mod other_passes;
mod profiled;
mod ranks;
mod replay;
mod requests;
mod sampled;
mod scope;
mod spent;
mod statistics;
mod steady_state;
mod time;
mod unread;

pub use attribute::{
    Attribution, CapturePaths, CaptureRegion, CaptureSpan, LaunchGroup, LaunchGroups, Node, Plane, Region,
    RegionCalls, Registered, Times, Tree, Unattributed, attribute, attribute_as_gates_do, capture_paths,
    keep_within, launch_groups, launches_at_once, launches_in, region_calls, region_label, region_labels,
    regions, times_at_once, windows_within,
};
pub use diagnose::{
    BySamples, Cause, Change, ChangeOf, Changed, Finding, FoundAt, Gain, GainOf, HostLines, Matched,
    NoFinding, NotSeen, NotSeenIn, Prediction, Sureness, Waited, WhatIf,
};
pub use document::{
    Analysis, ProcessRow, analyze, analyze_attributed, beside, each_idle_row, each_region, every_idle_row,
    every_region, processes,
};
pub use insight::{Insight, insight};
pub use kernels::{
    Achieved, AggregateRule, Aggregated, Bound, BoundKind, Ceiling, Confidence, Counted, CountedKernel,
    CountedLaunch, CounterRegion, CounterRegions, Decoder, DomainLaunches, Efficiency, Experts, Families,
    Family, Headline, Inference, Joined, JoinedKernel, JoinedRegion, KernelPatterns, Known, KnownRegion,
    Latent, Level, MemoryLevel, MetricRow, NEAR_PEAK, Precision, Roof, RooflinePoint, Traffic, WholeRange,
    aggregate_rule, bound, ceilings, counted_efficiency, counter_regions, efficiency, hardest, join,
    keep_kernels, rates, roofline, sampled_efficiency,
};
pub use limit::{Limit, MoreRows};
pub use loop_::{Loop, LoopSource, Period, SlowIterations};
pub use options::Options;
pub use origin::{Origin, RecordingRow};
pub use other_passes::{Samples, samples};
pub use profiled::{main_loop, profile};
pub use ranks::{
    BalanceRow, CollectiveRow, CommonClock, Function, Late, Lateness, OverTime, RankRow, Ranks, Why,
};
pub use requests::{BatchRow, Composition, Percentiles, Phase, RequestRow, Requests, request_ends};
pub use sampled::{
    ClockRange, Energy, Estimate, Sampled, SampledDevice, SampledKernel, SampledRegion, SamplingCost,
    Throttle, ThrottleReason, Values, energy_per_token, limits_from_samples,
};
pub use scope::{Place, Scope};
pub use spent::{Spent, SpentNode, SpentOn, spent};
pub use statistics::Statistics;
pub use steady_state::SteadyState;
pub use time::{
    ApiRow, BLOCKED, CapturedRow, Causes, CudaGraphs, GpuRegion, GraphRow, Grouping, HostIdle, HostLine,
    HostNode, HostPlace, IdleCause, IdleRow, KernelRow, ModelStage, MoreOperators, MoreRegions, NOT_READ,
    OperatorRow, Overhead, Overlap, Shape, SharedDevice, Sharer, Stage, Synchronisation, TopKernel,
    TransferRow, WAITS_FOR_INTERPRETER, api, gpu_regions, host_idle, idle, kernels, listed, overhead,
    transfers, unsteady,
};
pub use unread::UnreadRow;
