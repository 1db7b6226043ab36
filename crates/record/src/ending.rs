//! How a process ended, and what it used.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    Code(i32),
    Signal(i32),
}

impl Ending {
    /// The code a shell would show: the exit code, or 128 + signal.
    pub fn shell_code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            // In a file that others wrote, any number may stand.
            Self::Signal(signal) => signal.saturating_add(128),
        }
    }

    pub fn success(self) -> bool {
        self == Self::Code(0)
    }

    pub fn is_signal(self) -> bool {
        matches!(self, Self::Signal(_))
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => match nix::sys::signal::Signal::try_from(*signal) {
                Ok(named) => write!(f, "signal {signal} ({named})"),
                Err(_) => write!(f, "signal {signal}"),
            },
        }
    }
}

/// Why we ended a process, if we did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    Timeout,
    /// `capture.duration` was over.
    Stopped,
    Interrupted,
}

/// What the child and all reaped descendants used in total.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Usage {
    pub user_ms: u64,
    pub system_ms: u64,
    /// Of the largest single process.
    pub max_rss_kb: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

/// A descendant that outlived the child and that we terminated.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Leftover {
    pub pid: i32,
    pub name: String,
    /// Still running: it could not be killed.
    pub survived: bool,
}
