//! The ways to capture, in the order they are tried.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One way to capture. Each tool has a ladder of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// The trace of the rehearsal.
    Rehearsal,
    /// A separate run of the workload for this tool.
    OwnPass,
    AsAsked,
    /// With the gate as corrected by the rehearsal.
    CorrectedGate,
    /// The gate is applied to the report afterwards.
    WithoutGate,
    ProfilerApi,
    RangeReplay,
    AppRangeReplay,
    ApplicationReplay,
    KernelReplay,
    KernelReplayFewer,
    KernelReplayWithoutGate,
    KernelReplayWithoutGateFewer,
}

impl Rung {
    pub const ALL: [Self; 13] = [
        Self::Rehearsal,
        Self::OwnPass,
        Self::AsAsked,
        Self::CorrectedGate,
        Self::WithoutGate,
        Self::ProfilerApi,
        Self::RangeReplay,
        Self::AppRangeReplay,
        Self::ApplicationReplay,
        Self::KernelReplay,
        Self::KernelReplayFewer,
        Self::KernelReplayWithoutGate,
        Self::KernelReplayWithoutGateFewer,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rehearsal => "the rehearsal",
            Self::OwnPass => "a pass of its own",
            Self::AsAsked => "as asked",
            Self::CorrectedGate => "with the gate as the rehearsal corrects it",
            Self::WithoutGate => "without a gate",
            Self::ProfilerApi => "between cudaProfilerStart and Stop",
            Self::RangeReplay => "range replay",
            Self::AppRangeReplay => "app-range replay",
            Self::ApplicationReplay => "application replay",
            Self::KernelReplay => "kernel replay",
            Self::KernelReplayFewer => "kernel replay of fewer launches",
            Self::KernelReplayWithoutGate => "kernel replay without a gate",
            Self::KernelReplayWithoutGateFewer => "kernel replay without a gate of fewer launches",
        }
    }

    /// The same way with fewer launches, if there is one.
    pub fn with_fewer_launches(self) -> Self {
        match self {
            Self::KernelReplay => Self::KernelReplayFewer,
            Self::KernelReplayWithoutGate => Self::KernelReplayWithoutGateFewer,
            other => other,
        }
    }
}

impl std::fmt::Display for Rung {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Rung {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Rung {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let named = Self::ALL.into_iter().find(|rung| rung.as_str() == text);
        named.ok_or_else(|| D::Error::custom(format!("`{text}` is not a way to capture")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for rung in Rung::ALL {
            let json = serde_json::to_string(&rung).unwrap();
            assert_eq!(serde_json::from_str::<Rung>(&json).unwrap(), rung);
        }
    }
}
