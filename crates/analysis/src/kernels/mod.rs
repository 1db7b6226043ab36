//! What limits kernels: what kind of work they do, what counters say about them, and how near they are to the
//! device's peaks.

pub(crate) mod bounds;
mod counted;
pub(crate) mod families;
mod filter;
mod join;
mod mfu;
mod peaks;
mod roofline;

pub(crate) use bounds::FULL_WAVE;
pub use bounds::{Bound, BoundKind, Level, NEAR_PEAK, bound};
pub use counted::{
    AggregateRule, Aggregated, Counted, CountedKernel, CountedLaunch, CounterRegion, CounterRegions,
    DomainLaunches, Headline, Known, KnownRegion, MetricRow, WholeRange, aggregate_rule, counter_regions,
};
pub use families::{Families, Family};
pub use filter::{KernelPatterns, keep_kernels};
pub use join::{Confidence, Joined, JoinedKernel, JoinedRegion, join};
pub(crate) use mfu::Chip;
pub use mfu::{
    Decoder, Efficiency, Experts, Inference, Latent, counted_efficiency, efficiency, rates,
    sampled_efficiency,
};
pub use peaks::{MemoryLevel, Precision, Roof};
pub use roofline::{Achieved, Ceiling, RooflinePoint, Traffic, ceilings, hardest, roofline};
