//! What the rows of a table are summed over.

use serde::Serialize;
use trace::Trace;

use crate::origin::Origin;

/// Rows for each process, each device, or both together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Scope {
    pub by_process: bool,
    pub by_device: bool,
}

/// Where the members of a row come from: a process and a device where there is only
/// one of each, else none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Place {
    pub process: Option<u32>,
    pub device: Option<u32>,
    #[serde(flatten)]
    pub origin: Origin,
}

/// What separates the rows of one name: indexes, or none where they are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Split {
    pub(crate) process: Option<u32>,
    pub(crate) device: Option<u16>,
}

impl Scope {
    /// Several recordings are kept apart unless somebody says otherwise: ranks added up look like one slow rank.
    pub fn of_recordings(recordings: usize) -> Self {
        Self { by_process: recordings > 1, by_device: false }
    }

    pub(crate) fn split(self, process: u32, device: u16) -> Split {
        Split { device: self.by_device.then_some(device), ..self.host_split(process) }
    }

    /// For host events, which have no device.
    pub(crate) fn host_split(self, process: u32) -> Split {
        Split { process: self.by_process.then_some(process), device: None }
    }
}

/// Collects places; [`Place`] says what they have in common.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Places {
    process: Option<u32>,
    device: Option<u16>,
    several_processes: bool,
    several_devices: bool,
}

impl Places {
    pub(crate) fn add_process(&mut self, process: u32) {
        self.several_processes |= *self.process.get_or_insert(process) != process;
    }

    pub(crate) fn add(&mut self, process: u32, device: u16) {
        self.add_process(process);
        self.several_devices |= *self.device.get_or_insert(device) != device;
    }

    pub(crate) fn join(&mut self, other: Self) {
        if let Some(process) = other.process {
            self.add_process(process);
        }
        if let Some(device) = other.device {
            self.several_devices |= *self.device.get_or_insert(device) != device;
        }
        self.several_processes |= other.several_processes;
        self.several_devices |= other.several_devices;
    }

    /// As the system and the tools count them.
    pub(crate) fn place(self, trace: &Trace) -> Place {
        let process = self.process.filter(|_| !self.several_processes);
        let device = self.device.filter(|_| !self.several_devices);
        Place {
            process: process.map(|process| trace.processes[process as usize].pid),
            device: device.map(|device| trace.devices[usize::from(device)].id),
            origin: process.map(|process| Origin::of_process(trace, process)).unwrap_or_default(),
        }
    }
}
