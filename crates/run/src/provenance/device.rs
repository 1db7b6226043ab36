//! One GPU.

use serde::Serialize;

/// What NVML does not report is absent.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Gpu {
    pub index: u32,
    pub name: Option<String>,
    pub uuid: Option<String>,
    pub memory_bytes: Option<u64>,
    pub sm_clock_mhz: Option<u32>,
    pub memory_clock_mhz: Option<u32>,
    pub max_sm_clock_mhz: Option<u32>,
    pub max_memory_clock_mhz: Option<u32>,
    pub compute_capability: Option<String>,
    pub ecc: Option<bool>,
    pub mig: Option<bool>,
}
