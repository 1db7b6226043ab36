//! What the sampler is told.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::pauses::Pauses;

/// How far apart samples of the counters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interval {
    /// The shortest that takes at most half a core.
    Auto,
    Nanoseconds(u64),
}

/// A device to sample.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeviceOrder {
    /// As CUDA counts it in the workload's environment, which the sampler shares.
    pub id: u32,
    pub uuid: String,
    pub name: String,
    pub mig: bool,
}

/// What to sample, and where to write it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub file: PathBuf,
    /// None if none was found.
    pub cupti: Option<PathBuf>,
    pub devices: Vec<DeviceOrder>,
    pub interval: Interval,
    #[serde(default)]
    pub pauses: Pauses,
}
