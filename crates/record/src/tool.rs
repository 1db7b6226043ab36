//! The tools that record a workload.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// Rangefinder's own.
    Tracer,
    /// NVIDIA Nsight Systems.
    Nsys,
    /// NVIDIA Nsight Compute.
    Ncu,
    /// PyTorch's profiler.
    Torch,
    /// Rangefinder's own, beside the workload.
    Sampler,
}

impl Tool {
    pub const ALL: [Self; 5] = [Self::Tracer, Self::Nsys, Self::Ncu, Self::Torch, Self::Sampler];

    /// Its program, and its folder in a run.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tracer => "tracer",
            Self::Nsys => "nsys",
            Self::Ncu => "ncu",
            Self::Torch => "torch",
            Self::Sampler => "sampler",
        }
    }
}

impl std::fmt::Display for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
