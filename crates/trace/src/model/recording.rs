//! The files that a trace was read from, with their processes and devices.

use std::ops::Range;

/// What wrote a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recorder {
    /// Our own.
    Tracer,
    Nsys,
    /// PyTorch's profiler, and whatever else writes its format.
    Kineto,
}

/// One file, or the files of one capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// As it was given.
    pub file: String,
    /// What it is, for people.
    pub source: String,
    /// Its places in [`crate::Trace::processes`].
    pub processes: Range<u32>,
    /// Its places in [`crate::Trace::devices`].
    pub devices: Range<u16>,
    /// By how much its times were moved, so that it begins with the others.
    pub moved_by: i64,
    /// Why there is nothing in it to analyze, and what to do.
    pub nothing: Option<String>,
}

impl Recording {
    /// Behind others.
    pub(crate) fn moved(mut self, processes: u32, devices: u16, by: i64) -> Self {
        self.moved_by = self.moved_by.saturating_add(by);
        self.processes = self.processes.start + processes..self.processes.end + processes;
        let device = |number: u16| number.saturating_add(devices);
        self.devices = device(self.devices.start)..device(self.devices.end);
        self
    }
}
