//! What an idle device waits for.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a device is idle; [`idle`](crate::idle()) says how each is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IdleCause {
    Host,
    Sync,
    Copy,
    Launch,
    TrueGap,
    Unknown,
}

impl IdleCause {
    pub const ALL: [Self; 6] =
        [Self::Host, Self::Sync, Self::Copy, Self::Launch, Self::TrueGap, Self::Unknown];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Sync => "sync",
            Self::Copy => "copy",
            Self::Launch => "launch",
            Self::TrueGap => "true gap",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for IdleCause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl<'de> Deserialize<'de> for IdleCause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Self::ALL.into_iter().find(|cause| cause.as_str() == name);
        known.ok_or_else(|| D::Error::custom(format!("`{name}` is no cause of idle time")))
    }
}

impl Serialize for IdleCause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What idle time was spent on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Causes {
    pub host_ns: i64,
    pub sync_ns: i64,
    pub copy_ns: i64,
    pub launch_ns: i64,
    pub true_gap_ns: i64,
    pub unknown_ns: i64,
}

impl Causes {
    pub fn time(self, cause: IdleCause) -> i64 {
        match cause {
            IdleCause::Host => self.host_ns,
            IdleCause::Sync => self.sync_ns,
            IdleCause::Copy => self.copy_ns,
            IdleCause::Launch => self.launch_ns,
            IdleCause::TrueGap => self.true_gap_ns,
            IdleCause::Unknown => self.unknown_ns,
        }
    }

    /// In the order of [`IdleCause::ALL`].
    pub fn times(self) -> [i64; 6] {
        IdleCause::ALL.map(|cause| self.time(cause))
    }

    pub(super) fn total(self) -> i64 {
        self.times().into_iter().fold(0, i64::saturating_add)
    }

    pub(super) fn add(&mut self, other: Self) {
        for (mine, theirs) in [
            (&mut self.host_ns, other.host_ns),
            (&mut self.sync_ns, other.sync_ns),
            (&mut self.copy_ns, other.copy_ns),
            (&mut self.launch_ns, other.launch_ns),
            (&mut self.true_gap_ns, other.true_gap_ns),
            (&mut self.unknown_ns, other.unknown_ns),
        ] {
            *mine = mine.saturating_add(theirs);
        }
    }

    /// Of a whole time, the largest first; what has none is left out.
    pub(crate) fn shares(self, whole: i64) -> Vec<(IdleCause, f64)> {
        let mut shares: Vec<(IdleCause, f64)> = IdleCause::ALL
            .into_iter()
            .map(|cause| (cause, self.time(cause)))
            .filter(|(_, ns)| *ns > 0)
            .map(|(cause, ns)| (cause, ns as f64 / whole.max(1) as f64))
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }
}
