//! What is sampled beside a workload: hardware counters and power by a process of our own, stacks of its threads from
//! outside.

mod clock;
mod gpu;
pub mod host;
mod nvml;
mod pauses;
mod stack_file;

pub use gpu::{Beside, DeviceOrder, Interval, NotStarted, Order, SAMPLER_ARGUMENT, Stopped, sampler_main};
pub use nvml::{Clock, Device, Memory, Nvml, NvmlError};
pub use pauses::Pauses;
pub use stack_file::StackFile;
