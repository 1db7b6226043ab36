//! What the machine was doing during a run.

use sampler::{Clock, Nvml};
use serde::Serialize;

/// At the end of a run, and what happened during it.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct State {
    /// Programs that wanted to run, on average over the last minute.
    pub(super) load: Option<f64>,
    /// The part of the processors' time that others took: another virtual machine, for example.
    pub(super) stolen: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) gpus: Vec<GpuState>,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct GpuState {
    sm_mhz: Option<u32>,
    memory_mhz: Option<u32>,
    celsius: Option<u32>,
    /// The bits of NVML's reasons for a lower clock.
    throttle_reasons: Option<u64>,
}

/// All of the processors' time, and what was stolen of it, since the machine started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticks(Option<(u64, u64)>);

impl Ticks {
    pub(super) fn now() -> Self {
        Self(ticks())
    }
}

impl State {
    /// Now, and since then.
    pub(super) fn since(before: Ticks) -> Self {
        let stolen = ticks().zip(before.0).and_then(|(now, before)| {
            let (all, stolen) = (now.0.checked_sub(before.0)?, now.1.checked_sub(before.1)?);
            (all > 0).then(|| stolen as f64 / all as f64)
        });
        Self { load: load(), stolen, gpus: gpus() }
    }
}

fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().next()?.parse().ok()
}

fn ticks() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let numbers: Vec<u64> =
        text.lines().next()?.split_ascii_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal; what guests take is in the first two already.
    Some((numbers.iter().take(8).sum(), *numbers.get(7)?))
}

fn gpus() -> Vec<GpuState> {
    let Ok(nvml) = Nvml::open() else { return Vec::new() };
    nvml.devices()
        .into_iter()
        .map(|(_, device)| GpuState {
            sm_mhz: device.clock(Clock::Sm).ok(),
            memory_mhz: device.clock(Clock::Memory).ok(),
            celsius: device.temperature().ok(),
            throttle_reasons: device.throttle_reasons().ok(),
        })
        .collect()
}
