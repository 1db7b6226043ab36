//! A process of the workload, as it was seen from outside.

use serde::{Deserialize, Serialize};

use crate::ending::Ending;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenProcess {
    pub pid: u32,
    /// Its parent when it was first seen; 0 if it was never seen, but recorded.
    pub parent: u32,
    /// As the system knows it: at most 15 bytes.
    pub name: String,
    /// How it came about, where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// When it was first and last seen, since the pass began.
    pub first_ms: u64,
    pub last_ms: u64,
    /// Whether it had a CUDA context.
    pub cuda: bool,
    /// Its environment lacks the variables by which the tracer is loaded.
    pub without_tracer: bool,
    /// What the tracer recorded of it; absent if it left nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedProcess>,
    /// Why the tracer, which it loaded, could not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<String>,
    /// What has become of its recording, which was whole when its rank had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harmed: Option<String>,
    /// Its rank in a distributed program, and how many there are, as its launcher says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// How it ended, where the system tells that to others than its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
}

impl SeenProcess {
    /// One of which nothing is known but its number and its name.
    pub fn unseen(pid: u32, name: String) -> Self {
        Self {
            pid,
            parent: 0,
            name,
            start: None,
            first_ms: 0,
            last_ms: 0,
            cuda: false,
            without_tracer: false,
            recorded: None,
            unrecorded: None,
            harmed: None,
            rank: None,
            ending: None,
        }
    }
}

/// The place of a process in a distributed program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rank {
    pub rank: u32,
    /// Of how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<u32>,
    pub by: Launcher,
}

/// Who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Launcher {
    /// `RANK`: of torchrun and others that start ranks themselves.
    Torchrun,
    OpenMpi,
    Mpich,
    /// Also of programs that start the ranks.
    Slurm,
}

/// What a process did, as far as it was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedProcess {
    pub ranges: u64,
    /// And whole graphs.
    pub kernels: u64,
    pub gpu_ns: i64,
}

/// How a process came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// A copy of its parent that runs the same program.
    Fork,
    /// Another program.
    Program,
    /// Of Python's multiprocessing: a new interpreter for each process.
    Spawn,
    /// Of Python's multiprocessing: a process that is forked for each other one, or one of those.
    Forkserver,
    /// Of Python's multiprocessing: it cleans up after others.
    ResourceTracker,
}

impl Start {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::Program => "program",
            Self::Spawn => "spawn",
            Self::Forkserver => "forkserver",
            Self::ResourceTracker => "resource tracker",
        }
    }
}
