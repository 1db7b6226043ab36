//! Kernels by name: what the hardware did while they ran.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use trace::{ActivityKind, Measure, Quantity, Series, SeriesSource, StringId, Trace};

use super::least_squares::{Normal, Rate};
use super::limit::limit;
use super::overlap::each_sample;
use super::values::{Estimate, Values, in_all, of_work};
use crate::kernels::bounds::BoundKind;

/// Kernels that are told apart; the others are one.
const MOST: usize = 48;
/// In fewer samples nothing can be told.
const FEWEST_SAMPLES: u64 = 8;
/// An estimate is told if twice its error is at most so many points or this part of it.
const POINTS: f64 = 5.0;
const PART: f64 = 0.15;

/// A kernel, while it runs.
#[derive(Debug, Clone, Serialize)]
pub struct SampledKernel {
    pub name: String,
    pub device: u32,
    pub calls: u64,
    pub total_ns: i64,
    /// In which it ran.
    pub samples: u64,
    /// What is near its peak meanwhile, if that was sampled.
    pub limit: Option<BoundKind>,
    pub values: Values,
}

/// Work of one kind: a kernel by its name, or all copies and such.
struct Classes {
    of: HashMap<Option<StringId>, usize>,
    names: Vec<Option<StringId>>,
    time: Vec<i64>,
    calls: Vec<u64>,
}

impl Classes {
    fn of(trace: &Trace, device: u16) -> Self {
        let activities = &trace.activities;
        let mut sums: HashMap<Option<StringId>, (i64, u64)> = HashMap::new();
        for at in (0..activities.len()).filter(|at| activities.device[*at] == device) {
            let sum = sums.entry(name(trace, at)).or_default();
            sum.0 = sum.0.saturating_add(activities.end[at].saturating_sub(activities.begin[at]));
            sum.1 += 1;
        }
        let mut order: Vec<(Option<StringId>, (i64, u64))> = sums.into_iter().collect();
        order.sort_by_key(|(name, (time, _))| (std::cmp::Reverse(*time), *name));
        let mut classes = Self { of: HashMap::new(), names: Vec::new(), time: Vec::new(), calls: Vec::new() };
        for (at, (name, (time, calls))) in order.into_iter().enumerate() {
            let place = at.min(MOST);
            classes.of.insert(name, place);
            if place == classes.names.len() {
                classes.names.push(name.filter(|_| at < MOST));
                classes.time.push(0);
                classes.calls.push(0);
            }
            classes.time[place] += time;
            classes.calls[place] += calls;
        }
        classes
    }
}

fn name(trace: &Trace, activity: usize) -> Option<StringId> {
    let activities = &trace.activities;
    let is_kernel = activities.kind[activity] == ActivityKind::Kernel;
    is_kernel
        .then(|| activities.launches.get(activities.detail[activity] as usize).map(|launch| launch.name))
        .flatten()
}

/// The kernels whose limit samples tell, by name; none without samples.
pub fn limits_from_samples(trace: &Trace) -> HashSet<String> {
    let counters = trace.series.iter().filter(|series| series.source != SeriesSource::Nvml);
    let rows: Vec<SampledKernel> = counters.flat_map(|series| kernels(trace, series)).collect();
    let (told, open): (Vec<_>, Vec<_>) = rows.into_iter().partition(|kernel| kernel.limit.is_some());
    let open: HashSet<String> = open.into_iter().map(|kernel| kernel.name).collect();
    told.into_iter().map(|kernel| kernel.name).filter(|name| !open.contains(name)).collect()
}

pub(super) fn kernels(trace: &Trace, series: &Series) -> Vec<SampledKernel> {
    let quantities = of_work(series);
    let classes = Classes::of(trace, series.device);
    let mut normal = Normal::new(classes.names.len(), quantities.len());
    let mut samples = vec![0u64; classes.names.len()];
    let mut times: Vec<(usize, f64)> = Vec::new();
    let mut measured: Vec<f64> = Vec::new();
    each_sample(trace, series, |shared| {
        times.clear();
        for (activity, time) in shared.work {
            let class = classes.of[&name(trace, *activity as usize)];
            match times.iter_mut().find(|(known, _)| *known == class) {
                Some((_, sum)) => *sum += *time as f64,
                None => times.push((class, *time as f64)),
            }
        }
        measured.clear();
        measured.extend(
            quantities
                .iter()
                .map(|(quantity, values)| in_all(*quantity, f64::from(values[shared.sample]), shared.length)),
        );
        if measured.iter().all(|value| value.is_finite()) {
            normal.add(&times, &measured);
            times.iter().for_each(|(class, _)| samples[*class] += 1);
        }
    });
    let solved = normal.solve();
    let row = |class: usize| {
        let name = classes.names[class]?;
        let value = |(at, (quantity, _)): (usize, &(Quantity, &[f32]))| {
            let rate = solved[at][class].filter(|_| samples[class] >= FEWEST_SAMPLES)?;
            Some((*quantity, estimate(*quantity, rate, classes.time[class])?))
        };
        let values = Values(quantities.iter().enumerate().filter_map(value).collect());
        Some(SampledKernel {
            name: trace.strings.text(name).to_owned(),
            device: trace.devices[usize::from(series.device)].id,
            calls: classes.calls[class],
            total_ns: classes.time[class],
            samples: samples[class],
            limit: limit(&values),
            values,
        })
    };
    (0..classes.names.len()).filter_map(row).collect()
}

/// What measured twice differs by, whatever the error that the samples show: a kernel's edges blur into its neighbors.
const BLURRED: f64 = 0.05;

/// As people read it: shares in percent, amounts as the sum of all calls. None where it is too uncertain.
fn estimate(quantity: Quantity, rate: Rate, time: i64) -> Option<Estimate> {
    match quantity.measure() {
        Measure::Share => {
            let certain = 2.0 * rate.error <= POINTS.max(PART * rate.rate);
            let mean = rate.rate.clamp(0.0, 100.0);
            certain.then_some(Estimate { mean, plus_minus: Some((2.0 * rate.error).max(BLURRED * mean)) })
        }
        Measure::Amount => {
            let certain = 2.0 * rate.error <= PART * rate.rate || rate.rate.abs() + 2.0 * rate.error < 1.0;
            let mean = (rate.rate * time as f64).max(0.0);
            let error = 2.0 * rate.error * time as f64;
            certain.then_some(Estimate { mean, plus_minus: Some(error.max(BLURRED * mean)) })
        }
        Measure::Level | Measure::Flags => None,
    }
}
