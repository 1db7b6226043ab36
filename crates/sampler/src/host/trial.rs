//! Whether stacks can be sampled here, tried on ourselves.

use std::process::{Command, Stdio};

use super::native::may_sample;
use super::process::HostProcess;
use super::unreadable::{Unreadable, perf_paranoid};

/// What of stacks can be read. An error says why not, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackTrial {
    /// Reading the memory of a child: Python, and threads that wait.
    pub memory: Result<(), Unreadable>,
    /// Sampling threads that run code that is not Python.
    pub native: Result<(), Unreadable>,
}

impl StackTrial {
    /// `argument` makes our own program wait for its input.
    pub fn make(argument: &str) -> Self {
        let native = may_sample().map_err(|refused| Unreadable::NoNativeStacks {
            errno: refused.errno,
            paranoid: perf_paranoid(),
        });
        Self { memory: read_a_child(argument), native }
    }
}

fn read_a_child(argument: &str) -> Result<(), Unreadable> {
    let unavailable = |error: std::io::Error| Unreadable::Unavailable {
        path: "/proc/self/exe".to_owned(),
        problem: error.to_string(),
    };
    let mut command = Command::new("/proc/self/exe");
    command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(unavailable)?;
    let read = HostProcess::open(child.id()).map(drop);
    let _ = child.kill();
    let _ = child.wait();
    read
}
