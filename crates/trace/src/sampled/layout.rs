//! What stands in the file.

use crate::model::{Quantity, SeriesSource};

pub(crate) const MAGIC: &[u8; 8] = b"RFSAMPLE";
pub(crate) const VERSION: u32 = 1;
/// Longer records are damage.
pub(crate) const LONGEST: u32 = 16 << 20;

/// Kinds of records. Never reused.
pub(crate) mod kind {
    /// Time since 1970 and `CLOCK_MONOTONIC` at one moment.
    pub(crate) const CLOCK: u8 = 1;
    pub(crate) const DEVICE: u8 = 2;
    pub(crate) const SET: u8 = 3;
    pub(crate) const SAMPLES: u8 = 4;
    pub(crate) const LOST: u8 = 5;
    pub(crate) const TROUBLE: u8 = 6;
    pub(crate) const TEXT: u8 = 7;
    pub(crate) const FRAME: u8 = 8;
    pub(crate) const NODE: u8 = 9;
    pub(crate) const STACKS: u8 = 10;
    pub(crate) const RATE: u8 = 11;
    pub(crate) const COST: u8 = 12;
    pub(crate) const END: u8 = 13;
    pub(crate) const PROCESS: u8 = 14;
    pub(crate) const PAUSED: u8 = 15;
    /// When a round of samples of stacks began.
    pub(crate) const TICK: u8 = 16;
    pub(crate) const UNREADABLE: u8 = 17;
}

/// A device as the sampler sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampledDevice {
    /// As CUDA counts it in the workload.
    pub id: u32,
    pub name: String,
    pub uuid: String,
}

/// Whose time a set's samples have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetClock {
    Monotonic,
    /// Since 1970, as CUPTI counts.
    Epoch,
}

/// Quantities that are sampled together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledSet {
    /// The number that samples refer to.
    pub number: u32,
    /// [`SampledDevice::id`].
    pub device: u32,
    pub source: SeriesSource,
    pub clock: SetClock,
    pub interval_ns: u64,
    pub quantities: Vec<Quantity>,
}

pub(crate) fn source_number(source: SeriesSource) -> u8 {
    match source {
        SeriesSource::Counters => 1,
        SeriesSource::Nvml => 2,
        SeriesSource::Nsys => 3,
        SeriesSource::Kineto => 4,
    }
}

pub(crate) fn source_from(number: u8) -> Option<SeriesSource> {
    use SeriesSource::{Counters, Kineto, Nsys, Nvml};
    [Counters, Nvml, Nsys, Kineto].into_iter().find(|source| source_number(*source) == number)
}
