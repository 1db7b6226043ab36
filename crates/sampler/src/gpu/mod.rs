//! The process beside the workload: hardware counters and power over time.

mod abi;
mod beside;
mod choice;
mod counters;
mod cupti;
mod driver;
mod file;
mod order;
mod process;
mod refusal;
mod watch;

pub use beside::{Beside, NotStarted, Stopped};
pub use order::{DeviceOrder, Interval, Order};
pub use process::{SAMPLER_ARGUMENT, sampler_main};
