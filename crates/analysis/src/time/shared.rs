//! Devices that several processes of the program work on at once.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use serde::Serialize;
use trace::{ActivityKind, Multiply, Trace};

use crate::origin::Origin;

/// A process with a smaller part of a device's time does not share it.
const WORTH_A_WORD: f64 = 0.01;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SharedDevice {
    pub device: u32,
    #[serde(flatten)]
    pub origin: Origin,
    /// Those that had work on it at the same time as another, the one with the most first.
    pub processes: Vec<Sharer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sharer {
    pub process: u32,
    /// Its kernels' part of the time of all kernels on the device.
    pub share: f64,
}

/// What tells devices apart: their recording, and what they are.
type Key = (Option<u32>, String);

/// The work of a process on a device.
#[derive(Debug, Clone, Copy)]
struct Work {
    begin: i64,
    end: i64,
    time: i64,
}

impl Work {
    fn add(&mut self, begin: i64, end: i64, time: i64) {
        self.begin = self.begin.min(begin);
        self.end = self.end.max(end);
        self.time = self.time.saturating_add(time);
    }
}

/// Times of different recordings have no clock in common.
pub(crate) fn shared_devices(trace: &Trace) -> Vec<SharedDevice> {
    let activities = &trace.activities;
    let mut devices: BTreeMap<Key, (u16, BTreeMap<u32, Work>)> = BTreeMap::new();
    let keys: Vec<Key> = (0u16..)
        .zip(&trace.devices)
        .map(|(number, device)| {
            let identity = device.identity.clone().unwrap_or_else(|| number.to_string());
            (Origin::of_device(trace, number).recording, identity)
        })
        .collect();
    let mut works: HashMap<(u16, u32), Work, BuildHasherDefault<Multiply>> = HashMap::default();
    for at in 0..activities.len() {
        if !matches!(activities.kind[at], ActivityKind::Kernel | ActivityKind::Graph) {
            continue;
        }
        let (begin, end) = (activities.begin[at], activities.end[at]);
        let of = (activities.device[at], activities.process[at]);
        works.entry(of).or_insert(Work { begin, end, time: 0 }).add(
            begin,
            end,
            end.saturating_sub(begin).max(0),
        );
    }
    let mut works: Vec<_> = works.into_iter().collect();
    works.sort_by_key(|(of, _)| *of);
    for ((number, process), Work { begin, end, time }) in works {
        let (_, processes) =
            devices.entry(keys[usize::from(number)].clone()).or_insert_with(|| (number, BTreeMap::new()));
        processes.entry(process).or_insert(Work { begin, end, time: 0 }).add(begin, end, time);
    }
    devices.into_values().filter_map(|(number, processes)| shared(trace, number, &processes)).collect()
}

fn shared(trace: &Trace, number: u16, processes: &BTreeMap<u32, Work>) -> Option<SharedDevice> {
    let all = processes.values().fold(0i64, |sum, work| sum.saturating_add(work.time)).max(1) as f64;
    let matters: Vec<(u32, Work)> = processes
        .iter()
        .map(|(process, work)| (*process, *work))
        .filter(|(_, work)| work.time as f64 >= WORTH_A_WORD * all)
        .collect();
    let is_beside = |one: &&(u32, Work)| {
        let meets = |other: &Work| one.1.begin < other.end && other.begin < one.1.end;
        matters.iter().any(|(process, other)| *process != one.0 && meets(other))
    };
    let mut sharers: Vec<Sharer> = matters
        .iter()
        .filter(is_beside)
        .map(|(process, work)| Sharer {
            process: trace.processes[*process as usize].pid,
            share: work.time as f64 / all,
        })
        .collect();
    sharers.sort_by(|a, b| b.share.total_cmp(&a.share));
    (!sharers.is_empty()).then(|| SharedDevice {
        device: trace.devices[usize::from(number)].id,
        origin: Origin::of_device(trace, number),
        processes: sharers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Activity, Device, Process};

    fn trace(work: &[(u32, u16, i64, i64)]) -> Trace {
        let mut trace = Trace::default();
        trace.processes.extend([7, 8, 9].map(|pid| Process { pid, ..Process::default() }));
        // The second process counts the first device anew.
        for (id, identity) in [(0, "GPU-a"), (0, "GPU-a"), (1, "GPU-b")] {
            let identity = Some(identity.to_owned());
            trace.devices.push(Device { id, identity, ..Device::default() });
        }
        for (process, device, begin, end) in work.iter().copied() {
            let kind = ActivityKind::Kernel;
            trace.activities.push(Activity { process, device, begin, end, kind, ..Activity::default() });
        }
        trace
    }

    #[test]
    fn only_what_is_used_at_once_is_shared() {
        let work = [(0, 0, 0, 30), (1, 1, 10, 20), (0, 0, 50, 80), (2, 2, 0, 90)];
        let found = shared_devices(&trace(&work));
        assert_eq!(found.len(), 1);
        let shares: Vec<(u32, f64)> = found[0].processes.iter().map(|one| (one.process, one.share)).collect();
        assert_eq!((found[0].device, shares), (0, vec![(7, 60.0 / 70.0), (8, 10.0 / 70.0)]));
        // One after the other, too little to matter, and devices of their own.
        assert_eq!(shared_devices(&trace(&[(0, 0, 0, 30), (1, 1, 30, 60)])), []);
        assert_eq!(shared_devices(&trace(&[(0, 0, 0, 1_000), (1, 1, 30, 35)])), []);
        assert_eq!(shared_devices(&trace(&[(0, 0, 0, 30), (1, 2, 10, 40)])), []);
    }
}
