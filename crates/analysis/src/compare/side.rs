//! One side of a comparison: some processes of the same program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::profile::{Count, LoopProfile, Often, Part, What};

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
    /// What limits the program, by cause.
    pub limits: Vec<String>,
    /// Something is missing from the recording.
    pub lost: bool,
}

/// Host time of a stage's instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageTimes {
    pub name: String,
    pub p50_ns: i64,
    pub p95_ns: i64,
}

/// The loops of a side, put together.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// The means over all processes that have the loop.
    pub(super) parts: BTreeMap<(Option<String>, What), (f64, Option<Often>)>,
    pub(super) calls: BTreeMap<String, Often>,
    pub(super) regions: BTreeMap<String, Often>,
    /// The mean of the medians.
    pub(super) iteration_ns: f64,
}

impl Together {
    pub(super) fn of(profiles: &[Profile]) -> Self {
        let loops: Vec<&LoopProfile> = profiles.iter().filter_map(|profile| profile.main.as_ref()).collect();
        let count = loops.len().max(1) as f64;
        let mut together = Self {
            calls: counts(&loops, |main| &main.calls),
            regions: counts(&loops, |main| &main.regions),
            iteration_ns: loops.iter().map(|main| main.median_ns).sum::<f64>() / count,
            ..Self::default()
        };
        let mut often: BTreeMap<(Option<String>, What), Vec<Often>> = BTreeMap::new();
        for part in loops.iter().flat_map(|main| &main.parts) {
            let Part { place, what, ns, .. } = part;
            let key = (place.clone(), what.clone());
            together.parts.entry(key.clone()).or_default().0 += ns / count;
            if let Some(seen) = part.often {
                often.entry(key).or_default().push(seen);
            }
        }
        for (key, seen) in often {
            together.parts.entry(key).or_default().1 = Some(in_all(&seen, loops.len()));
        }
        together
    }
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
