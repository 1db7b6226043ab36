//! The process itself: told what to sample on stdin, it samples until stdin closes.

use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use trace::{SampledDevice, Trouble};

use super::counters::Counters;
use super::cupti::Cupti;
use super::driver::wake_driver;
use super::file::Shared;
use super::order::{DeviceOrder, Order};
use super::refusal::Refusal;
use super::watch::{has_links, watch};
use crate::clock::{monotonic, process_time};
use crate::nvml::Nvml;

/// The hidden first argument that makes our binary a sampler.
pub const SAMPLER_ARGUMENT: &str = "__sampler";

/// What it says on stdout when it samples.
pub(crate) const READY: &[u8] = b"ready\n";

/// How often the clocks are compared and the file is flushed.
const PERIOD: Duration = Duration::from_millis(500);

/// Runs a sampler. Returns its exit code.
pub fn sampler_main() -> i32 {
    match sample() {
        Ok(()) => 0,
        // There is no one to report to: the file does not end as it should.
        Err(_) => 1,
    }
}

fn sample() -> io::Result<()> {
    // A signal for the workload's terminal is not for us.
    SigSet::all().thread_block()?;
    let mut stdin = io::stdin().lock();
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let order: Order = serde_json::from_slice(line.as_bytes())?;
    let file = Shared::create(&order.file)?;
    file.clock()?;
    for device in &order.devices {
        let DeviceOrder { id, name, uuid, .. } = device.clone();
        file.lock().device(&SampledDevice { id, name, uuid })?;
    }
    let nvml = Nvml::open().map_err(|error| file.say(Trouble::NoNvml, None, &error.to_string())).ok();
    let cupti = opened(&order, &file);
    let stop = AtomicBool::new(false);
    let (clock, used) = (monotonic(), process_time());
    std::thread::scope(|scope| {
        // Numbers of sets: those of counters are even, those of NVML odd.
        for (number, device) in (0u32..).zip(&order.devices) {
            let Some(cupti) = &cupti else { break };
            let links = nvml.as_ref().is_some_and(|nvml| has_links(nvml, &device.uuid));
            match started(cupti, device, 2 * number, &order, links, &file) {
                Ok(counters) => {
                    let (file, stop) = (&file, &stop);
                    let pauses = order.pauses;
                    scope.spawn(move || counters.run(pauses, file, stop));
                }
                Err(refusal) => file.refused(&refusal, Some(device.id)),
            }
        }
        if let Some(nvml) = &nvml {
            let watched: Vec<(u32, u32, String)> = (0u32..)
                .zip(&order.devices)
                .map(|(number, device)| (2 * number + 1, device.id, device.uuid.clone()))
                .collect();
            let (file, stop) = (&file, &stop);
            scope.spawn(move || watch(nvml, &watched, file, stop));
        }
        let _ = io::stdout().write_all(READY);
        let _ = io::stdout().flush();
        // Until the other end is closed, on purpose or not.
        while !is_closed_within(PERIOD) {
            let _ = file.clock();
        }
        stop.store(true, Ordering::Release);
    });
    file.clock()?;
    let mut file = file.lock();
    file.cost(process_time() - used, monotonic() - clock)?;
    file.end()
}

/// Whether stdin has ended.
fn is_closed_within(period: Duration) -> bool {
    let stdin = rustix::stdio::stdin();
    let mut watched = [PollFd::from_borrowed_fd(stdin, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(period.subsec_nanos()) };
    match poll(&mut watched, Some(&timeout)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => false,
        // Nothing is sent after the order.
        Ok(_) | Err(_) => true,
    }
}

fn started<'c>(
    cupti: &'c Cupti,
    device: &DeviceOrder,
    set: u32,
    order: &Order,
    links: bool,
    file: &Shared,
) -> Result<Counters<'c>, Refusal> {
    if device.mig {
        return Err(Refusal::new(Trouble::NotOnThisGpu, "MIG is on"));
    }
    Counters::start(cupti, device, set, order.interval, links, file)
}

/// The library, ready to sample.
fn opened(order: &Order, file: &Shared) -> Option<Cupti> {
    let Some(path) = order.cupti.as_ref() else {
        file.say(Trouble::NoCupti, None, "no libcupti was found");
        return None;
    };
    let open = || {
        let cupti = Cupti::open(path)?;
        wake_driver()?;
        cupti.initialize_profiler()?;
        Ok(cupti)
    };
    open().map_err(|refusal: Refusal| file.refused(&refusal, None)).ok()
}
