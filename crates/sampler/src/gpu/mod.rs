//! The process beside the workload: hardware counters and power over time.

mod abi;
mod beside;
mod choice;
mod counters;
mod cupti;
mod driver;
mod file;
mod main;
mod nvml;
mod order;
mod refusal;

pub use beside::{Beside, NotStarted, Stopped};
pub use main::{SAMPLER_ARGUMENT, sampler_main};
pub use order::{DeviceOrder, Interval, Order};
