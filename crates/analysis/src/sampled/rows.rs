//! What is told about samples.

use serde::Serialize;
use trace::{Quantity, Series, SeriesSource, Trace};

use super::clock::{ClockRange, changed_clock};
use super::cost::{SamplingCost, sampling_cost};
use super::energy::{Energy, Throttle, energy, throttling};
use super::kernels::{SampledKernel, kernels};
use super::regions::{SampledRegion, regions};
use super::spans::over;
use super::values::Values;
use crate::attribute::Attribution;
use crate::limit::Limit;
use crate::loop_::Loop;

/// One device.
#[derive(Debug, Clone, Serialize)]
pub struct SampledDevice {
    /// As the tools count it.
    pub device: u32,
    pub samples: u64,
    /// As it was asked for.
    pub interval_ns: i64,
    pub lost_ns: i64,
    /// From its first work to its last.
    pub recording: Option<Values>,
    /// In the steady iterations of the main loop, with what is idle in them.
    pub steady: Option<Values>,
    /// Of the same iterations.
    pub energy: Option<Energy>,
    pub throttled: Vec<Throttle>,
    /// Of the same iterations, if the clock changed in them.
    pub changed_clock: Option<ClockRange>,
    /// The highest clock that the driver reported in the recording.
    pub highest_mhz: Option<f64>,
    /// The most memory that was in use, by anyone.
    pub most_memory_bytes: Option<f64>,
    /// The most that the program's own processes used, if the driver tells.
    pub most_program_memory_bytes: Option<f64>,
    /// And the most that processes of others did, at the same time as the program.
    pub most_other_memory_bytes: Option<f64>,
}

/// What the hardware did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sampled {
    pub devices: Vec<SampledDevice>,
    pub regions: Vec<SampledRegion>,
    pub kernels: Vec<SampledKernel>,
    /// The share of a core that sampling took.
    pub processor_share: Option<f64>,
    /// What it cost the main loop.
    pub cost: Option<SamplingCost>,
}

/// None if nothing was sampled that is told here; stacks have tables of their own, but what they cost is.
pub(crate) fn sampled(
    trace: &Trace,
    attribution: &Attribution,
    loops: &[Loop],
    limit: Limit,
) -> Option<Sampled> {
    if trace.series.iter().all(Series::is_empty) && trace.sampling.pauses.is_empty() {
        return None;
    }
    let mut all = Sampled::default();
    if trace.sampling.wall_ns > 0 {
        all.processor_share = Some(trace.sampling.processor_ns as f64 / trace.sampling.wall_ns as f64);
    }
    all.cost = loops.first().and_then(|main| sampling_cost(&trace.sampling.pauses, main));
    for number in 0..trace.devices.len() as u16 {
        let of = |is_meant: &dyn Fn(SeriesSource) -> bool| {
            trace.series.iter().find(|series| series.device == number && is_meant(series.source))
        };
        let counters = of(&|source| source != SeriesSource::Nvml);
        let power = of(&|source| source == SeriesSource::Nvml);
        let Some(device) = device(trace, number, counters, power, loops) else { continue };
        all.devices.push(device);
        if let Some(series) = counters {
            all.regions.extend(regions(trace, attribution, series).into_iter().take(limit.rows));
            all.kernels.extend(kernels(trace, series).into_iter().take(limit.rows));
        }
    }
    (!all.devices.is_empty() || all.cost.is_some()).then_some(all)
}

fn device(
    trace: &Trace,
    number: u16,
    counters: Option<&Series>,
    power: Option<&Series>,
    loops: &[Loop],
) -> Option<SampledDevice> {
    let main = counters.or(power)?;
    let activities = &trace.activities;
    let of_device = || (0..activities.len()).filter(|at| activities.device[*at] == number);
    let begin = of_device().map(|at| activities.begin[at]).min();
    let end = of_device().map(|at| activities.end[at]).max();
    let steady = loops.first().and_then(|found| {
        let begin = *found.steady.on_device.first()?;
        let iterations = found.iterations.saturating_sub(found.warm_up);
        Some((begin, found.steady.end, iterations)).filter(|(begin, end, _)| begin < end)
    });
    let both = |begin: i64, end: i64| {
        let parts = [counters, power].into_iter().flatten().filter_map(|series| over(series, begin, end));
        let values: Vec<_> = parts.flat_map(|values| values.0).collect();
        (!values.is_empty()).then_some(Values(values))
    };
    let most = |quantity: Quantity| power.and_then(|power| power.values(quantity)).and_then(highest);
    Some(SampledDevice {
        device: trace.devices[usize::from(number)].id,
        samples: main.len() as u64,
        interval_ns: main.interval_ns,
        lost_ns: main.lost.iter().map(|(begin, end)| end - begin).sum(),
        recording: begin.zip(end).and_then(|(begin, end)| both(begin, end)),
        steady: steady.and_then(|(begin, end, _)| both(begin, end)),
        energy: power.zip(steady).and_then(|(power, (begin, end, count))| energy(power, begin, end, count)),
        changed_clock: steady.and_then(|(begin, end, _)| changed_clock(main, begin, end)),
        highest_mhz: most(Quantity::SmClockReported),
        most_memory_bytes: most(Quantity::MemoryUsed),
        most_program_memory_bytes: most(Quantity::ProgramMemory),
        most_other_memory_bytes: most(Quantity::OtherMemory),
        throttled: power
            .zip(steady)
            .map_or_else(Vec::new, |(power, (begin, end, _))| throttling(power, begin, end)),
    })
}

fn highest(values: &[f32]) -> Option<f64> {
    values.iter().filter(|value| value.is_finite()).map(|value| f64::from(*value)).max_by(f64::total_cmp)
}
