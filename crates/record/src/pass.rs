//! One run of the workload under one tool.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ending::{Ending, Leftover, Reason, Usage};
use crate::process::SeenProcess;
use crate::tool::Tool;
use crate::withheld::Withheld;

/// Why the workload is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassKind {
    Rehearsal,
    /// A second rehearsal, to see whether a count varies.
    SecondRehearsal,
    /// The workload as ncu is to run it, where that differs.
    ChangedRehearsal,
    Stage1,
    Nsys,
    Ncu,
}

impl PassKind {
    /// If one is a prefix of another, the longer comes first.
    const ALL: [Self; 6] =
        [Self::SecondRehearsal, Self::ChangedRehearsal, Self::Rehearsal, Self::Stage1, Self::Nsys, Self::Ncu];

    /// The folder of its files in the run.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rehearsal => "rehearsal",
            Self::SecondRehearsal => "rehearsal-2",
            Self::ChangedRehearsal => "rehearsal-ncu",
            Self::Stage1 => "stage1",
            Self::Nsys => "nsys",
            Self::Ncu => "ncu",
        }
    }

    /// The profiler of the pass.
    pub const fn tool(self) -> Tool {
        match self {
            Self::Rehearsal | Self::SecondRehearsal | Self::ChangedRehearsal => Tool::Tracer,
            Self::Stage1 => Tool::Torch,
            Self::Nsys => Tool::Nsys,
            Self::Ncu => Tool::Ncu,
        }
    }
}

/// Why later passes are left out after a rehearsal that failed: the workload did, or it could not be recorded; the
/// disk may be full, say.
pub fn rehearsal_failure(passes: &[Pass]) -> &'static str {
    let failed = |pass: &Pass| !pass.ending.success() || pass.ended_by_us == Some(Reason::Timeout);
    match passes.iter().find(|pass| pass.name.kind == PassKind::Rehearsal) {
        Some(pass) if failed(pass) => "the workload failed in the rehearsal",
        _ => "the rehearsal failed",
    }
}

/// `nsys`, or `ncu-2.1` for the first run of the second attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassName {
    pub kind: PassKind,
    /// The suffix if there are several.
    pub suffix: String,
}

impl From<PassKind> for PassName {
    fn from(kind: PassKind) -> Self {
        Self { kind, suffix: String::new() }
    }
}

impl std::fmt::Display for PassName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.kind.as_str(), self.suffix)
    }
}

impl Serialize for PassName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PassName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed = PassKind::ALL.into_iter().find_map(|kind| {
            let suffix = text.strip_prefix(kind.as_str())?.to_owned();
            Some(Self { kind, suffix })
        });
        parsed.ok_or_else(|| D::Error::custom(format!("`{text}` is not the name of a pass")))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pass {
    pub name: PassName,
    pub argv: Vec<String>,
    pub withheld: Vec<Withheld>,
    /// Variables set for this pass; null means unset.
    pub env: Vec<(String, Option<String>)>,
    pub pid: i32,
    pub started: String,
    pub wall_ms: u64,
    /// The same, to be compared; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_us: Option<u64>,
    pub ending: Ending,
    pub usage: Usage,
    pub ended_by_us: Option<Reason>,
    /// How long after its start the tool began measuring, if we watched for that.
    #[serde(default)]
    pub began_after_ms: Option<u64>,
    pub killed: bool,
    pub leftovers: Vec<Leftover>,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub log_errors: Vec<String>,
    /// Its processes, if somebody looked; absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<SeenProcess>,
    /// The client that kept it busy, if it was a server with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadRecord>,
}

/// A client of the workload, in one pass.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadRecord {
    pub argv: Vec<String>,
    /// When it was started, and when it had ended.
    pub began: Option<Moment>,
    pub ended: Option<Moment>,
    pub ending: Option<Ending>,
    /// Why it was not started, or not to its own end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A time on the clocks that recordings use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    pub since_1970_ns: i64,
    /// Since the machine was started.
    pub monotonic_ns: i64,
}

impl Moment {
    #[must_use]
    pub fn after(self, passed: std::time::Duration) -> Self {
        let passed = i64::try_from(passed.as_nanos()).unwrap_or(i64::MAX);
        Self {
            since_1970_ns: self.since_1970_ns.saturating_add(passed),
            monotonic_ns: self.monotonic_ns.saturating_add(passed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for (text, kind, suffix) in [
            ("rehearsal", PassKind::Rehearsal, ""),
            ("rehearsal-2", PassKind::SecondRehearsal, ""),
            ("rehearsal-ncu", PassKind::ChangedRehearsal, ""),
            ("ncu-2.1", PassKind::Ncu, "-2.1"),
        ] {
            let name = PassName { kind, suffix: suffix.to_owned() };
            assert_eq!(name.to_string(), text);
            let json = serde_json::to_string(&name).unwrap();
            assert_eq!(serde_json::from_str::<PassName>(&json).unwrap(), name);
        }
        assert!(serde_json::from_str::<PassName>("\"other\"").is_err());
    }
}
