//! What the hardware did while regions, kernels and iterations ran, from values over time.
//!
//! A sample says what a device did in a fraction of a millisecond, during which many kernels may run. Time without
//! work counts as zero: what a sample measured is shared among the work that ran in it. Where the same kernels run in
//! ever new mixtures, the share of each is found by least squares, with its error.

mod clock;
mod cost;
mod energy;
mod kernels;
mod least_squares;
mod limit;
mod overlap;
pub(crate) mod regions;
pub(crate) mod rows;
mod spans;
mod tokens;
pub(crate) mod values;

pub use clock::ClockRange;
pub(crate) use clock::busy_clocks;
pub use cost::SamplingCost;
pub use energy::{Energy, Throttle, ThrottleReason};
pub use kernels::{SampledKernel, limits_from_samples};
pub use regions::SampledRegion;
pub(crate) use rows::sampled;
pub use rows::{Sampled, SampledDevice};
pub use tokens::energy_per_token;
pub use values::{Estimate, Values};

#[cfg(test)]
mod tests;
