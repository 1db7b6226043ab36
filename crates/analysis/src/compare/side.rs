//! One side of a comparison: some processes of the same program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::measured::KernelCounters;
use super::moments::{geometric_mean, mean};
use super::profile::{Count, LoopProfile, Often, Part, What};
use crate::kernels::Efficiency;
use crate::time::Stage;

/// Raised when an older reader would misunderstand a newer profile.
pub const PROFILE_SCHEMA: u32 = 1;

/// What one run of the program has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub schema: u32,
    /// The main loop; none if there is none with steady iterations.
    #[serde(rename = "loop")]
    pub main: Option<LoopProfile>,
    /// From the beginning of the recording to its end.
    pub recorded_ns: i64,
    /// From the start of its first process to its end, if we started it.
    #[serde(default)]
    pub process_ns: Option<i64>,
    /// Processes that gave work to devices; without work, that opened ranges.
    pub processes: u64,
    /// Stages with more than one instance, the first one left out.
    #[serde(default)]
    pub stages: Vec<StageTimes>,
    /// The devices that had work, by their models.
    pub devices: Vec<String>,
    /// Of the device in the steady iterations, if it was sampled.
    pub clock_mhz: Option<f64>,
    /// Of an iteration.
    pub energy_j: Option<f64>,
    /// Of the model's stages together, if the model is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mfu: Option<f64>,
    /// Of each of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stage_mfu: BTreeMap<String, f64>,
    /// What limits the program, by cause.
    pub limits: Vec<String>,
    /// What was sampled beside it: findings may rest on that. None of an older profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledKinds>,
    /// What ncu measured of kernels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<KernelCounters>,
    /// Something is missing from the recording.
    pub lost: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledKinds {
    /// The stacks of the program's threads.
    pub stacks: bool,
    /// The counters of devices.
    pub devices: bool,
    /// When the program was launched, by nsys: start-up counts from there.
    #[serde(default)]
    pub launch: bool,
}

impl SampledKinds {
    /// Of any run of a side.
    pub(super) fn of(side: &[Profile]) -> Self {
        side.iter().filter_map(|profile| profile.sampled).fold(Self::default(), |all, one| Self {
            stacks: all.stacks || one.stacks,
            devices: all.devices || one.devices,
            launch: all.launch || one.launch,
        })
    }
}

/// Host time of a stage's instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageTimes {
    pub name: String,
    pub p50_ns: i64,
    pub p95_ns: i64,
}

impl Profile {
    /// Takes over what another run of the same program says about the host's stacks, where this one was not sampled.
    pub fn take_stacks(&mut self, sampled: Self) {
        let (Some(main), Some(sampled)) = (&mut self.main, sampled.main) else { return };
        if !main.stacks.is_empty() || sampled.region != main.region || sampled.median_ns <= 0.0 {
            return;
        }
        let scale = main.median_ns / sampled.median_ns;
        main.stack_samples = sampled.stack_samples;
        main.stacks = sampled.stacks;
        main.stacks.iter_mut().for_each(|stack| stack.ns *= scale);
    }

    /// Adds what is known of the model: MFU of each stage, and of all together.
    pub fn add_efficiency(&mut self, stages: &[Stage], known: &[Efficiency]) {
        let (mut operations, mut possible) = (0.0, 0.0);
        for row in known {
            let Some(mfu) = row.mfu.filter(|mfu| mfu.is_finite()) else { continue };
            let of_stage = stages.iter().find(|stage| stage.region == row.region);
            let instances = of_stage.and_then(|stage| stage.times).map_or(1, |times| times.count) as f64;
            operations += mfu * row.seconds * instances;
            possible += row.seconds * instances;
            self.stage_mfu.insert(row.stage.clone(), mfu);
        }
        self.mfu = (possible > 0.0).then(|| operations / possible);
    }
}

/// By place and what it is: its time, and how often. The means over all processes that have the loop.
pub(super) type Parts = BTreeMap<(Option<String>, What), (f64, Option<Often>)>;

/// The loops of a side, put together.
#[derive(Debug)]
pub(super) struct Together {
    pub(super) parts: Parts,
    pub(super) host: Parts,
    pub(super) operators: Parts,
    pub(super) stacks: BTreeMap<Vec<String>, f64>,
    /// Samples that they are of.
    pub(super) samples: u64,
    pub(super) calls: BTreeMap<String, Often>,
    pub(super) regions: BTreeMap<String, Often>,
    /// The geometric mean of the medians.
    pub(super) iteration_ns: f64,
}

impl Together {
    pub(super) fn of(profiles: &[Profile]) -> Self {
        let loops: Vec<&LoopProfile> = profiles.iter().filter_map(|profile| profile.main.as_ref()).collect();
        let times: Vec<f64> = loops.iter().map(|main| main.median_ns.max(1.0)).collect();
        let iteration_ns = if times.is_empty() { 0.0 } else { geometric_mean(&times) };
        let mean = mean(&times);
        // What is decided about is the geometric mean: the parts add up to that.
        let scale = if mean > 0.0 { iteration_ns / mean } else { 1.0 };
        Self {
            parts: means(&loops, scale, |main| &main.parts),
            host: means(&loops, scale, |main| &main.host),
            operators: means(&loops, scale, |main| &main.operators),
            stacks: stacks(&loops, iteration_ns),
            samples: loops.iter().map(|main| main.stack_samples).sum(),
            calls: counts(&loops, |main| &main.calls),
            regions: counts(&loops, |main| &main.regions),
            iteration_ns,
        }
    }
}

fn means(loops: &[&LoopProfile], scale: f64, of: impl Fn(&LoopProfile) -> &Vec<Part>) -> Parts {
    let count = loops.len().max(1) as f64;
    let mut parts = Parts::new();
    let mut often: BTreeMap<(Option<String>, What), Vec<Often>> = BTreeMap::new();
    for part in loops.iter().flat_map(|main| of(main)) {
        let key = (part.place.clone(), part.what.clone());
        parts.entry(key.clone()).or_default().0 += part.ns * scale / count;
        if let Some(seen) = part.often {
            often.entry(key).or_default().push(seen);
        }
    }
    for (key, seen) in often {
        parts.entry(key).or_default().1 = Some(in_all(&seen, loops.len()));
    }
    parts
}

/// Of the processes whose stacks were sampled: together they are an iteration.
fn stacks(loops: &[&LoopProfile], iteration_ns: f64) -> BTreeMap<Vec<String>, f64> {
    let all: f64 = loops.iter().flat_map(|main| &main.stacks).map(|stack| stack.ns).sum();
    let mut times = BTreeMap::new();
    for stack in loops.iter().flat_map(|main| &main.stacks) {
        *times.entry(stack.frames.clone()).or_default() += stack.ns * iteration_ns / all.max(1.0);
    }
    times
}

fn counts(loops: &[&LoopProfile], of: impl Fn(&LoopProfile) -> &Vec<Count>) -> BTreeMap<String, Often> {
    let mut known: BTreeMap<&str, Vec<Often>> = BTreeMap::new();
    for count in loops.iter().flat_map(|main| of(main)) {
        known.entry(count.name.as_str()).or_default().push(count.often);
    }
    known.into_iter().map(|(name, seen)| (name.to_owned(), in_all(&seen, loops.len()))).collect()
}

/// Of several processes; where it was not seen in one of them, it varies.
fn in_all(seen: &[Often], processes: usize) -> Often {
    let usual = seen.first().map_or(0, |often| often.usual);
    let alike = seen.len() == processes && seen.iter().all(|often| often.usual == usual);
    Often {
        usual,
        varies: !alike || seen.iter().any(|often| often.varies),
        mean: seen.iter().map(|often| often.mean).sum::<f64>() / processes.max(1) as f64,
    }
}
