//! Columns that say what was measured; all others are metrics.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::ranges;
use crate::kernel_name::{bare, without_casts};
use crate::model::{Kernel, Measured, Process, Subject};

/// Columns of every row, whatever else it holds.
const FIXED: [&str; 12] = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Kernel Time",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
];
/// The names of the two columns with NVTX ranges describe their layout.
const PUSHED: &str = "thread Domain:";
const STARTED: &str = "Id:Domain:";

/// Printed by ncu for an unknown device.
const NO_DEVICE: u32 = 255;

pub(super) struct Header {
    names: Vec<String>,
    places: HashMap<String, usize>,
    pushed: Option<usize>,
    started: Option<usize>,
}

impl Header {
    pub(super) fn new(cells: &[Cow<'_, str>]) -> Self {
        let names: Vec<String> = cells.iter().map(|cell| cell.trim().to_owned()).collect();
        let starting = |start: &str| names.iter().position(|name| name.starts_with(start));
        Self {
            places: names.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect(),
            pushed: starting(PUSHED),
            started: starting(STARTED),
            names,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Columns that are metrics, and those that are nothing we know.
    pub(super) fn metrics(&self) -> (Vec<(usize, &str)>, Vec<&str>) {
        let (mut metrics, mut unknown) = (Vec::new(), Vec::new());
        for (at, name) in self.names.iter().enumerate() {
            if FIXED.contains(&name.as_str()) || self.pushed == Some(at) || self.started == Some(at) {
                continue;
            }
            // No metric has a space in its name.
            if name.is_empty() || name.contains(' ') {
                unknown.push(name.as_str());
            } else {
                metrics.push((at, name.as_str()));
            }
        }
        (metrics, unknown)
    }

    /// A result without its metrics. `last` is the process of the row before.
    pub(super) fn measured(&self, cells: &[Cow<'_, str>], last: &mut Arc<Process>) -> Measured {
        let at =
            |place: Option<usize>| place.and_then(|place| cells.get(place)).map_or("", |cell| cell.trim());
        let cell = |name: &str| at(self.place(name));
        let process = Process {
            id: cell("Process ID").parse().unwrap_or(0),
            name: cell("Process Name").to_owned(),
            host: Some(cell("Host Name").to_owned()).filter(|host| !host.is_empty()),
        };
        if **last != process {
            *last = Arc::new(process);
        }
        let (name, stream) = (cell("Kernel Name"), cell("Stream").parse().ok());
        let (grid, block) = (dimensions(cell("Grid Size")), dimensions(cell("Block Size")));
        let subject = match name {
            "range" if block.is_none() && stream.is_none() => Subject::Range,
            "graph" if block.is_none() => Subject::Graph { stream },
            name => Subject::Kernel(Kernel {
                name: without_casts(name),
                short_name: bare(name).to_owned(),
                mangled: String::new(),
                grid: grid.unwrap_or_default(),
                block: block.unwrap_or_default(),
                stream,
            }),
        };
        let mut measured = Measured::new(subject, last.clone());
        (measured.nvtx, measured.thread) = ranges::state(at(self.pushed), at(self.started));
        measured.context = cell("Context").parse().ok();
        measured.device = cell("Device").parse().ok().filter(|device| *device != NO_DEVICE);
        measured.compute_capability = cell("CC")
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
            .filter(|capability| *capability != (0, 0));
        measured
    }
}

/// `(256, 1, 1)`.
fn dimensions(cell: &str) -> Option<[u64; 3]> {
    let mut sizes =
        cell.strip_prefix('(')?.strip_suffix(')')?.split(',').map(|size| size.trim().parse().ok());
    Some([sizes.next()??, sizes.next()??, sizes.next()??])
}
