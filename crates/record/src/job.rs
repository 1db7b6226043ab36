//! Ranks that record themselves into one directory.

use serde::{Deserialize, Serialize};

use crate::process::{Launcher, Rank, SeenProcess};

/// In the directory of a job.
pub const JOB: &str = "job.json";
/// In the run directory of each rank.
pub const PLACE: &str = "rank.json";

/// Written by the first rank to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    pub schema: u32,
    pub rangefinder: String,
    pub created: String,
    pub by: Launcher,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<u32>,
    /// When the first rank came, and where, as in its place.
    pub boot: String,
    pub since_1970_ns: i64,
}

/// The place of a rank, written before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceRecord {
    pub rank: Rank,
    pub host: String,
    /// Differs between two machines, and between two starts of one.
    pub boot: String,
    /// Rangefinder's own process.
    pub pid: u32,
    pub since_1970_ns: i64,
}

/// The processes of all ranks, as each rank's own run saw them; times since the first rank came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenRanks {
    pub processes: Vec<SeenProcess>,
    pub world: u32,
}
