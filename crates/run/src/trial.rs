//! What of sampling works on this machine, tried for a moment.

use std::time::Duration;

use record::{Cause, Tool, Verdict};
use sampler::host::StackTrial;
use sampler::{Pauses, SAMPLER_ARGUMENT};
use trace::{Extent, Trace, read_sampled_files};

use crate::config::{CounterInterval, Enable};
use crate::provenance::Gpus;
use crate::rehearsal::locate_cupti;
use crate::sampling::{Sampling, Wanted, judge, sample_files};

/// What of sampling works on this machine.
#[derive(Debug)]
pub struct SamplingTrial {
    /// None without a GPU.
    pub counters: Option<Verdict>,
    pub stacks: StackTrial,
}

/// How long counters are sampled to see whether they come.
const TRIAL: Duration = Duration::from_millis(200);

/// Tries it: samples every GPU for a moment, and reads a process of our own.
pub fn try_sampling(gpus: &Gpus) -> SamplingTrial {
    SamplingTrial { counters: try_counters(gpus), stacks: StackTrial::make(SAMPLER_ARGUMENT) }
}

fn try_counters(gpus: &Gpus) -> Option<Verdict> {
    let cuda = gpus.cuda.as_deref().filter(|_| !gpus.visible.is_empty())?;
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return Some(Verdict::failed(Tool::Sampler, Cause::NotStarted, error.to_string())),
    };
    let sampling = Sampling::begin(Wanted {
        enable: Enable::True,
        interval: CounterInterval::Auto,
        pauses: Pauses::default(),
        gpus,
        cupti: locate_cupti(None, Some(cuda)),
        starts_slowly: false,
        folder: folder.path(),
        environment: std::env::vars_os().collect(),
    });
    std::thread::sleep(TRIAL);
    let ended = sampling.end();
    let mut trace = Trace::default();
    // A device comes with what it does, and here it does nothing.
    trace.devices.extend(gpus.visible.iter().map(|gpu| trace::Device {
        id: u32::try_from(gpu.ordinal).unwrap_or(u32::MAX),
        ..trace::Device::default()
    }));
    read_sampled_files(&sample_files(folder.path()), &Extent::whole(), &mut trace);
    judge(&ended, Some(&trace), Enable::True, gpus)
}
