//! Where samples go.

use super::names::Names;
use super::process::ThreadSample;
use super::unreadable::Unreadable;

/// One thread of one process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Nanoseconds of the monotonic clock.
    pub at: u64,
    /// Nanoseconds since the process was sampled before: what this sample stands for.
    pub span: u64,
    pub pid: u32,
    pub thread: ThreadSample,
}

/// How the sampling went.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub ticks: u64,
    /// Ticks left out because the one before took too long, or cost too much.
    pub skipped: u64,
    pub samples: u64,
    /// Samples whose stack could not be read, or changed while it was.
    pub torn: u64,
    pub processes: u64,
}

/// Takes samples, on the sampler's thread.
pub trait Sink: Send {
    /// `names` has all numbers in the sample; it only ever grows.
    fn sample(&mut self, sample: &Sample, names: &Names);

    /// Whether a process is of interest; asked before it is looked into.
    fn wants(&mut self, pid: u32) -> bool {
        let _ = pid;
        true
    }

    /// A process, or its Python, cannot be read from this moment on; told once for each reason. Its samples have no stacks.
    fn unreadable(&mut self, at: u64, pid: u32, why: &Unreadable) {
        let _ = (at, pid, why);
    }

    /// Another round of samples begins, in nanoseconds of the monotonic clock.
    fn tick(&mut self, at: u64) {
        let _ = at;
    }

    /// Nothing was sampled on purpose, in nanoseconds of the monotonic clock.
    fn paused(&mut self, begin: u64, end: u64) {
        let _ = (begin, end);
    }

    /// A process has ended, or cannot be read anymore.
    fn ended(&mut self, pid: u32) {
        let _ = pid;
    }
}
