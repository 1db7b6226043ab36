//! Power, clocks, temperature and memory, as the driver reports them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trace::{Quantity, SampledSet, SeriesSource, SetClock};

use super::file::Shared;
use crate::clock::monotonic;
use crate::host::parent;
use crate::nvml::{Clock, Device, Nvml};

/// The driver's own values change about this often, and asking takes milliseconds.
const PERIOD: Duration = Duration::from_millis(100);
/// How often we look whether it is over.
const LOOK: Duration = Duration::from_millis(10);
/// `NVML_FI_DEV_POWER_INSTANT`
const POWER_INSTANT: u32 = 186;
/// `NVML_FI_DEV_POWER_AVERAGE`
const POWER_AVERAGE: u32 = 185;
const LINKS: u32 = 18;
/// A process that has more is not looked at to the end.
const MOST_ANCESTORS: usize = 64;

const QUANTITIES: [Quantity; 11] = [
    Quantity::Power,
    Quantity::PowerAveraged,
    Quantity::Energy,
    Quantity::SmClockReported,
    Quantity::MemoryClockReported,
    Quantity::Temperature,
    Quantity::ThrottleReasons,
    Quantity::MemoryUsed,
    Quantity::PcieReplays,
    Quantity::ProgramMemory,
    Quantity::OtherMemory,
];

/// Whether any of the device's links is in use.
pub(crate) fn has_links(nvml: &Nvml, uuid: &str) -> bool {
    let Ok(device) = nvml.device_by_uuid(uuid) else { return false };
    (0..LINKS).any(|link| device.is_link_active(link).unwrap_or(false))
}

/// A device, and its counters as they were at the last sample.
struct Watched<'n> {
    device: Device<'n>,
    set: u32,
    energy_mj: Option<u64>,
    replays: Option<u32>,
    before: u64,
}

/// Samples every device until told to stop. `devices` are their sets, numbers and UUIDs.
pub(crate) fn watch(nvml: &Nvml, devices: &[(u32, u32, String)], file: &Shared, stop: &AtomicBool) {
    let mut watched: Vec<Watched<'_>> = Vec::new();
    for (set, device, uuid) in devices {
        let Ok(found) = nvml.device_by_uuid(uuid) else { continue };
        let set = SampledSet {
            number: *set,
            device: *device,
            source: SeriesSource::Nvml,
            clock: SetClock::Monotonic,
            interval_ns: PERIOD.as_nanos() as u64,
            quantities: QUANTITIES.to_vec(),
        };
        let _ = file.lock().set(&set);
        let number = set.number;
        let before = monotonic();
        watched.push(Watched { device: found, set: number, energy_mj: None, replays: None, before });
    }
    while !watched.is_empty() {
        let over = stop.load(Ordering::Acquire);
        for device in &mut watched {
            let (begin, values) = device.sample();
            let length = u32::try_from(device.before - begin).unwrap_or(u32::MAX);
            let _ = file.lock().samples(device.set, [(begin, length, values.as_slice())]);
        }
        if over {
            return;
        }
        let next = Instant::now() + PERIOD;
        while Instant::now() < next && !stop.load(Ordering::Acquire) {
            std::thread::sleep(LOOK);
        }
    }
}

impl Watched<'_> {
    /// Since when, and the values; one that the driver does not give is not a number.
    fn sample(&mut self) -> (u64, [f32; 11]) {
        let device = &self.device;
        let energy_mj = device.energy().ok();
        let now = monotonic();
        let replays = device.pcie_replays().ok();
        // The driver counts in milliwatts.
        let watts = |milliwatts: u64| milliwatts as f32 / 1e3;
        let [instant, average] = device.fields([POWER_INSTANT, POWER_AVERAGE]);
        let averaged = average.or_else(|| device.power().ok().map(u64::from));
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.checked_sub(before?)? as f32);
        let clock = |clock: Clock| device.clock(clock).ok().map(|mhz| mhz as f32);
        let (program, others) = memory_by_process(device);
        let values = [
            instant.map(watts),
            averaged.map(watts),
            since(energy_mj, self.energy_mj).map(|millijoules| millijoules / 1e3),
            clock(Clock::Sm),
            clock(Clock::Memory),
            device.temperature().ok().map(|degrees| degrees as f32),
            device.throttle_reasons().ok().map(|reasons| reasons as f32),
            device.memory().ok().map(|memory| memory.used as f32),
            since(replays.map(u64::from), self.replays.map(u64::from)),
            program,
            others,
        ]
        .map(|value| value.unwrap_or(f32::NAN));
        (self.energy_mj, self.replays) = (energy_mj, replays);
        let before = std::mem::replace(&mut self.before, now);
        (before, values)
    }
}

/// Of the processes that our parent and its children started, and of all others.
fn memory_by_process(device: &Device<'_>) -> (Option<f32>, Option<f32>) {
    let processes = device.processes().unwrap_or_default();
    let others = processes.iter().filter(|process| process.pid != std::process::id());
    apart(others.filter_map(|process| Some((is_of_program(process.pid), process.used?))))
}

/// Whether it is the program's, and bytes. None if the driver names none of the program's: in some containers it does not know
/// their numbers, and then nobody is another.
fn apart(used: impl Iterator<Item = (bool, u64)>) -> (Option<f32>, Option<f32>) {
    let (ours, others): (Vec<_>, Vec<_>) = used.partition(|(is_ours, _)| *is_ours);
    // Nothing at all is 0: a sum of no floats would be -0.
    let sum = |some: &[(bool, u64)]| some.iter().fold(0.0, |sum, (_, bytes)| sum + *bytes as f32);
    match ours.is_empty() {
        true => (None, None),
        false => (Some(sum(&ours)), Some(sum(&others))),
    }
}

/// Whether a process descends from our parent, as we do.
fn is_of_program(pid: u32) -> bool {
    let ours = std::os::unix::process::parent_id();
    let ancestors = std::iter::successors(Some(pid), |pid| parent(*pid));
    pid != std::process::id()
        && ancestors.take(MOST_ANCESTORS).take_while(|pid| *pid > 1).any(|pid| pid == ours)
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn who_uses_the_memory() {
        let of = |used: &[(bool, u64)]| apart(used.iter().copied());
        assert_eq!(of(&[(true, 5), (false, 7), (true, 1), (false, 2)]), (Some(6.0), Some(9.0)));
        assert_eq!(of(&[(true, 5)]), (Some(5.0), Some(0.0)));
        assert!(of(&[(true, 5)]).1.is_some_and(f32::is_sign_positive));
        // None of them is known to be the program's: all may be.
        assert_eq!(of(&[(false, 7)]), (None, None));
        assert_eq!(of(&[]), (None, None));
    }
}
