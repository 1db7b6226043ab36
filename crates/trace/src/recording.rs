//! Which recording a process or a device of a trace is in.

use crate::model::{Recording, Trace};

impl Recording {
    /// All of a trace.
    pub(crate) fn of(trace: &Trace, file: String) -> Self {
        Self {
            file,
            source: trace.source.clone(),
            processes: 0..trace.processes.len() as u32,
            devices: 0..u16::try_from(trace.devices.len()).unwrap_or(u16::MAX),
            moved_by: 0,
            nothing: trace.nothing.clone(),
        }
    }
}

impl Trace {
    /// Which of several recordings a process is in; None if there is only one.
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
