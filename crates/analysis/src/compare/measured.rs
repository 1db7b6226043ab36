//! What ncu measured of kernels, in a form that can be kept and compared.
//!
//! ncu replays a kernel alone, with clocks and caches of its own: its times are not those of the program. What limits a
//! kernel is the same from one replay to the next, so it is compared without a question of chance.

use std::collections::BTreeMap;

use ::counters::{Report, Subject, Value};
use serde::{Deserialize, Serialize};

use super::profile::Kernel;
use crate::kernels::{BoundKind, Families, bound};

const TIME: &str = "gpu__time_duration.sum";

/// The launches of a kernel in one shape: means of what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelCounters {
    #[serde(flatten)]
    pub kernel: Kernel,
    /// That were measured.
    pub launches: u64,
    /// Of one, as ncu measured it.
    pub ns: Option<f64>,
    /// Of most launches.
    pub limit: BoundKind,
    pub levels: Vec<LevelShare>,
}

/// How much of its peak a level reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelShare {
    pub level: BoundKind,
    pub percent: f64,
}

/// By kernel and shape, those with the most time first.
pub fn kernel_counters(report: &Report, families: &Families) -> Vec<KernelCounters> {
    let mut known: BTreeMap<Kernel, Sums> = BTreeMap::new();
    for result in &report.results {
        let Subject::Kernel(measured) = &result.subject else { continue };
        let shape = |shape: [u64; 3]| shape.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
        let kernel = Kernel {
            name: measured.name.clone(),
            short_name: measured.short_name.clone(),
            family: families.family_of(&measured.name).as_str().to_owned(),
            grid: shape(measured.grid),
            block: shape(measured.block),
        };
        let found = bound(report, result);
        let time = report.value(result, TIME).and_then(Value::as_f64).filter(|time| time.is_finite());
        known.entry(kernel).or_default().add(found.kind, time, &found.levels);
    }
    let mut all: Vec<KernelCounters> = known.into_iter().map(|(kernel, sums)| sums.means(kernel)).collect();
    all.sort_by(|a, b| total(b).total_cmp(&total(a)));
    all
}

fn total(kernel: &KernelCounters) -> f64 {
    kernel.ns.unwrap_or(0.0) * kernel.launches as f64
}

#[derive(Default)]
struct Sums {
    launches: u64,
    timed: u64,
    ns: f64,
    limits: BTreeMap<BoundKind, u64>,
    levels: BTreeMap<BoundKind, (f64, u64)>,
}

impl Sums {
    fn add(&mut self, limit: BoundKind, time: Option<f64>, levels: &[crate::kernels::Level]) {
        self.launches += 1;
        *self.limits.entry(limit).or_default() += 1;
        if let Some(time) = time {
            self.timed += 1;
            self.ns += time;
        }
        for level in levels.iter().filter(|level| level.percent.is_finite()) {
            let sum = self.levels.entry(level.kind).or_default();
            *sum = (sum.0 + level.percent, sum.1 + 1);
        }
    }

    fn means(self, kernel: Kernel) -> KernelCounters {
        let most = self.limits.iter().max_by_key(|(_, launches)| **launches);
        let level = |(level, (sum, times)): (BoundKind, (f64, u64))| LevelShare {
            level,
            percent: sum / times as f64,
        };
        KernelCounters {
            kernel,
            launches: self.launches,
            ns: (self.timed > 0).then(|| self.ns / self.timed as f64),
            limit: most.map_or(BoundKind::Unknown, |(limit, _)| *limit),
            levels: self.levels.into_iter().map(level).collect(),
        }
    }
}
