//! Counters of several kinds of launches together, weighted by time; where there are none, samples.

use std::collections::HashMap;

use analysis::{BoundKind, Confidence, Joined, JoinedKernel, Sampled, SampledKernel};
use trace::Quantity;

use super::column::{Column, Kind};
use crate::units::percent;

pub(crate) const NOT_MEASURED: &str = "not measured";

#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    all_ns: i64,
    known_ns: i64,
    /// Of `known_ns`, from the same kernel in another region.
    inferred_ns: i64,
    bounds: Vec<(&'static str, i64)>,
    /// SM, DRAM, occupancy: the sum of percent times time, and the time.
    percents: [(f64, f64); 3],
    /// From samples over time, not from counters of launches.
    sampled: bool,
}

impl Known {
    fn add(&mut self, kernel: &JoinedKernel) {
        self.all_ns = self.all_ns.saturating_add(kernel.gpu_ns);
        if kernel.confidence == Confidence::None {
            return;
        }
        self.known_ns = self.known_ns.saturating_add(kernel.gpu_ns);
        if kernel.confidence == Confidence::OtherRegion {
            self.inferred_ns = self.inferred_ns.saturating_add(kernel.gpu_ns);
        }
        let bound = kernel.bound.as_str();
        match self.bounds.iter_mut().find(|(other, _)| *other == bound) {
            Some((_, time)) => *time = time.saturating_add(kernel.gpu_ns),
            None => self.bounds.push((bound, kernel.gpu_ns)),
        }
        // A kernel too short for the clock still has its numbers.
        let time = kernel.gpu_ns.max(1) as f64;
        let values = [kernel.sm_percent, kernel.dram_percent, kernel.occupancy_percent];
        for (sum, value) in self.percents.iter_mut().zip(values) {
            if let Some(value) = value {
                *sum = (sum.0 + value * time, sum.1 + time);
            }
        }
    }

    /// What samples over time tell of a kernel.
    fn of_samples(kernel: &SampledKernel) -> Self {
        let percent = |value: Option<f64>| value.map_or((0.0, 0.0), |value| (value, 1.0));
        Self {
            bounds: vec![(kernel.limit.unwrap_or(BoundKind::Unknown).as_str(), 1)],
            percents: [
                percent(None),
                percent(kernel.values.dram()),
                percent(kernel.values.mean(Quantity::WarpsActive)),
            ],
            sampled: true,
            ..Self::default()
        }
    }

    /// Whether anything was measured.
    pub(super) fn is_known(&self) -> bool {
        !self.bounds.is_empty()
    }

    /// The one with the most time.
    fn bound(&self) -> &'static str {
        let most = self.bounds.iter().max_by_key(|(_, time)| *time);
        most.map_or(NOT_MEASURED, |(bound, _)| bound)
    }

    fn percent(&self, at: usize) -> Option<f64> {
        let (sum, time) = self.percents[at];
        (time > 0.0).then(|| sum / time)
    }

    fn source(&self) -> String {
        if self.bounds.is_empty() {
            return NOT_MEASURED.to_owned();
        }
        if self.sampled {
            return "sampled".to_owned();
        }
        let part = |ns: i64| percent(ns as f64 / self.all_ns.max(1) as f64);
        let measured = part(self.known_ns.saturating_sub(self.inferred_ns));
        match self.inferred_ns {
            0 => format!("{measured} measured"),
            inferred => format!("{measured} measured, {} inferred", part(inferred)),
        }
    }
}

/// A kernel, or one launch shape of it.
type KernelKey<'a> = (&'a str, Option<([u32; 3], [u32; 3])>);

/// By name, and by name and shape.
pub(super) fn by_kernel(joined: &Joined) -> HashMap<KernelKey<'_>, Known> {
    let mut known: HashMap<KernelKey<'_>, Known> = HashMap::new();
    for kernel in &joined.kernels {
        for shape in [None, Some((kernel.grid, kernel.block))] {
            known.entry((kernel.name.as_str(), shape)).or_default().add(kernel);
        }
    }
    known
}

/// By name, as far as samples tell.
pub(super) fn by_sampled_kernel(sampled: &Sampled) -> HashMap<&str, Known> {
    let told = sampled.kernels.iter().filter(|kernel| kernel.values.get(Quantity::SmActive).is_some());
    told.map(|kernel| (kernel.name.as_str(), Known::of_samples(kernel))).collect()
}

/// Of the kernels that a region started itself.
pub(super) fn by_region(joined: &Joined) -> HashMap<&str, Known> {
    let mut known: HashMap<&str, Known> = HashMap::new();
    for kernel in &joined.kernels {
        if let Some(region) = &kernel.region {
            known.entry(region).or_default().add(kernel);
        }
    }
    known
}

const OF_PEAK: &str = "of its peak, over the duration of the launch";
const WARPS: &str = "active warps, of the maximum";

/// Keys of [`counter_columns`].
pub(super) const COUNTERS: [&str; 5] =
    ["limited_by", "sm_percent", "dram_percent", "occupancy_percent", "counters_for"];

/// Columns that every table with counters beside it has; programs find them in `bounds`.
pub(super) fn counter_columns<'p, R: 'p>(known: fn(&R) -> Option<&Known>) -> [Column<'p, R>; 5] {
    let [limited_by, sm, dram, occupancy, counters_for] = COUNTERS;
    let percent = move |key, title, help, at: usize| {
        Column::new(Kind::Percent, key, title, move |row| {
            known(row).and_then(|known| known.percent(at)).into()
        })
        .help(help)
        .for_people()
    };
    [
        Column::new(Kind::Text, limited_by, "limited by", move |row| {
            known(row).map_or(NOT_MEASURED, Known::bound).into()
        })
        .for_people(),
        percent(sm, "SM", OF_PEAK, 0),
        percent(dram, "DRAM", OF_PEAK, 1),
        percent(occupancy, "occupancy", WARPS, 2),
        Column::new(Kind::Text, counters_for, "counters", move |row| {
            known(row).map_or(NOT_MEASURED.into(), |known| known.source().into())
        })
        .help("of its time; inferred from the same kernel in another region; sampled over time")
        .for_people(),
    ]
}

/// The same for one kind of launch.
pub(super) fn own_counter_columns<'p>() -> [Column<'p, &'p JoinedKernel>; 3] {
    let percent = |key, title, help, of: fn(&JoinedKernel) -> Option<f64>| {
        Column::new(Kind::Percent, key, title, move |row: &&'p JoinedKernel| of(row).into()).help(help)
    };
    let [_, sm, dram, occupancy, _] = COUNTERS;
    [
        percent(sm, "SM", OF_PEAK, |row| row.sm_percent),
        percent(dram, "DRAM", OF_PEAK, |row| row.dram_percent),
        percent(occupancy, "occupancy", WARPS, |row| row.occupancy_percent),
    ]
}
