//! The files that a trace was read from: whose processes and devices are whose.

use std::ops::Range;

use crate::model::Trace;

/// One file, or the files of one capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// As it was given.
    pub file: String,
    /// What it is, for people.
    pub source: String,
    /// Its places in [`Trace::processes`].
    pub processes: Range<u32>,
    /// Its places in [`Trace::devices`].
    pub devices: Range<u16>,
    /// Why there is nothing in it to analyze, and what to do.
    pub nothing: Option<String>,
}

impl Recording {
    /// All of a trace.
    pub(crate) fn of(trace: &Trace, file: String) -> Self {
        Self {
            file,
            source: trace.source.clone(),
            processes: 0..trace.processes.len() as u32,
            devices: 0..u16::try_from(trace.devices.len()).unwrap_or(u16::MAX),
            nothing: trace.nothing.clone(),
        }
    }

    /// Behind others.
    pub(crate) fn moved(mut self, processes: u32, devices: u16) -> Self {
        self.processes = self.processes.start + processes..self.processes.end + processes;
        let device = |number: u16| number.saturating_add(devices);
        self.devices = device(self.devices.start)..device(self.devices.end);
        self
    }
}

impl Trace {
    /// Which of several recordings a process is in; None where there is one only.
    pub fn recording_of_process(&self, process: u32) -> Option<u32> {
        self.recording(|recording| recording.processes.contains(&process))
    }

    /// The same, of a device.
    pub fn recording_of_device(&self, device: u16) -> Option<u32> {
        self.recording(|recording| recording.devices.contains(&device))
    }

    fn recording(&self, has: impl Fn(&Recording) -> bool) -> Option<u32> {
        let several = self.recordings.len() > 1;
        let found = self.recordings.iter().position(has).filter(|_| several);
        found.and_then(|found| u32::try_from(found).ok())
    }
}
