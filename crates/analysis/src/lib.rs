//! What a trace and counters say: small, pure functions, one topic a file.

mod attribute;
mod bounds;
mod counter_aggregate;
mod counter_forest;
mod counter_places;
mod counter_regions;
mod counter_rules;
mod families;
mod filter;
mod findings;
mod gpu_regions;
mod idle;
mod insight;
mod join;
mod kernels;
mod launch_groups;
mod mfu;
mod operators;
mod overhead;
mod range_time;
mod recommend;
mod region_calls;
mod region_label;
mod regions;
mod roofline;
mod scope;
mod stages;
mod statistics;
mod summaries;
mod sweep;
mod tree;
mod within;

pub use attribute::{Attribution, Plane, attribute};
pub use bounds::{Bound, BoundKind, Level, NEAR_PEAK, bound};
pub use counter_aggregate::{Aggregated, MetricRow};
pub use counter_regions::{
    Counted, CountedKernel, CountedLaunch, CounterRegion, CounterRegions, DomainLaunches, Headline, Known,
    KnownRegion, WholeRange, counter_regions,
};
pub use counter_rules::{AggregateRule, aggregate_rule};
pub use families::Families;
pub use filter::{KernelPatterns, keep_kernels};
pub use findings::{Findings, Options, analyse};
pub use gpu_regions::{GpuRegion, TopKernel, Unattributed, gpu_regions};
pub use idle::{Causes, IdleRow, Overlap, idle};
pub use insight::{Insight, insight};
pub use join::{Confidence, Joined, JoinedKernel, JoinedRegion, join};
pub use kernels::{Grouping, KernelRow, Shape, kernels};
pub use launch_groups::{LaunchGroup, LaunchGroups, launch_groups, launches_in};
pub use mfu::{Decoder, Efficiency, Experts, Inference, Latent, counted_efficiency, efficiency, rates};
pub use operators::{OperatorRow, operators};
pub use overhead::{Overhead, overhead};
pub use recommend::{Recommendation, Whole, recommend};
pub use region_calls::{RegionCalls, region_calls};
pub use region_label::{label as region_label, labels as region_labels};
pub use regions::{Region, Registered, Times, regions};
pub use roofline::{Achieved, Ceiling, RooflinePoint, Traffic, ceilings, hardest, roofline};
pub use scope::{Place, Scope};
pub use stages::{STAGES, Stage, stages};
pub use statistics::Statistics;
pub use summaries::{ApiRow, Synchronisation, TransferRow, api, transfers};
pub use tree::{Node, Tree};
pub use within::{keep_within, windows_within};
