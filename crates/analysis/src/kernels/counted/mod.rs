//! What counters say about each region: `results` shares out what was measured, `forest` holds the regions, and
//! `aggregate` makes one value of many by the `rules`.

mod aggregate;
mod forest;
mod known;
mod regions;
mod results;
mod rules;

pub use aggregate::{Aggregated, MetricRow};
pub use known::{Known, KnownRegion};
pub use regions::{
    Counted, CountedKernel, CountedLaunch, CounterRegion, CounterRegions, DomainLaunches, Headline,
    WholeRange, counter_regions,
};
pub use rules::{AggregateRule, aggregate_rule};
