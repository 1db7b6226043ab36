//! The timeline's kernels with what ncu measured on some of them.
//!
//! A kind of launch (a kernel in a shape, started in a region) is described by the results of
//! the same kind; where there are none, by results of the same kernel and shape in other
//! regions, which is reported. Times come from the timeline: replayed kernels are slower and run with cold caches.
//!
//! ncu names the ranges of the launching thread. So results are found by those, and rows are by the region that
//! the launches belong to, as in all tables: of a thread without a range, that may be the region of another thread.

use std::collections::{BTreeMap, HashMap};

use counters::{Measured, Report, Subject, Value};
use nvtx::RegionPath;
use serde::Serialize;
use trace::{NONE, Trace};

use super::bounds::{BoundKind, bound};
use crate::attribute::{LaunchGroup, LaunchGroups, attribute, launch_groups, region_of};

/// How well the counters of a kind are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Measured in this region.
    Measured,
    /// Measured on the same kernel and shape in another region.
    OtherRegion,
    None,
}

/// All kinds of launches, and what is known about them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Joined {
    /// The most time first.
    pub kernels: Vec<JoinedKernel>,
    /// Regions by their innermost path, null for kernels outside all regions. The most time first.
    pub regions: Vec<JoinedRegion>,
    /// Parts of the GPU's time.
    pub measured_share: f64,
    pub other_region_share: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JoinedKernel {
    pub name: String,
    pub short_name: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub region: Option<String>,
    /// Launched by threads that had no range open, while only the region's thread had one.
    pub other_thread: bool,
    pub launches: u64,
    pub gpu_ns: i64,
    /// Of the GPU's time.
    pub share: f64,
    pub confidence: Confidence,
    /// Numbers of the results in the report.
    pub results: Vec<usize>,
    pub bound: BoundKind,
    pub why: String,
    /// Means over the results; absent where they were not measured.
    pub sm_percent: Option<f64>,
    pub dram_percent: Option<f64>,
    pub occupancy_percent: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JoinedRegion {
    pub region: Option<String>,
    pub gpu_ns: i64,
    /// The part of its time whose kernels' counters are known.
    pub covered: f64,
    /// Parts of its time by what limits it, the largest first; what is not known is `unknown`.
    pub bounds: Vec<(BoundKind, f64)>,
}

pub fn join(trace: &Trace, report: &Report) -> Joined {
    let launches = launch_groups(trace);
    let index = Index::new(report);
    let total = launches.total_ns().max(1) as f64;
    let kernels: Vec<JoinedKernel> =
        kinds(trace, &launches).iter().map(|kind| joined(kind, report, &index, total)).collect();
    let share = |wanted: Confidence| {
        kernels.iter().filter(|kernel| kernel.confidence == wanted).map(|kernel| kernel.share).sum()
    };
    Joined {
        measured_share: share(Confidence::Measured),
        other_region_share: share(Confidence::OtherRegion),
        regions: regions(&kernels),
        kernels,
    }
}

/// Launches of one kernel in one shape that belong to one region.
struct Kind<'l> {
    region: Option<String>,
    other_thread: bool,
    launches: u64,
    gpu_ns: i64,
    /// The same as ncu sees them.
    groups: Vec<&'l LaunchGroup>,
}

/// The most time first.
fn kinds<'l>(trace: &Trace, launches: &'l LaunchGroups) -> Vec<Kind<'l>> {
    let attribution = attribute(trace);
    let mut kinds: Vec<Kind<'l>> = Vec::new();
    let (mut places, mut members) = (HashMap::new(), HashMap::new());
    for (launch, activity) in launches.activity.iter().enumerate() {
        let (activity, group) = (*activity as usize, launches.sequence[launch]);
        let node = region_of(trace, &attribution, activity);
        let other_thread = attribution.by_other_thread[activity] && node != NONE;
        let key = (trace.activities.detail[activity], node, other_thread);
        let place = *places.entry(key).or_insert_with(|| {
            let region = (node != NONE).then(|| attribution.tree.path(trace, node).to_string());
            kinds.push(Kind { region, other_thread, launches: 0, gpu_ns: 0, groups: Vec::new() });
            kinds.len() - 1
        });
        members.entry((place, group)).or_insert_with(|| {
            kinds[place].groups.push(&launches.groups[group as usize]);
        });
        kinds[place].launches += 1;
        kinds[place].gpu_ns = kinds[place].gpu_ns.saturating_add(launches.gpu_ns[launch]);
    }
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.gpu_ns));
    kinds
}

/// A name, a grid and a block.
type Shaped<'a> = (&'a str, [u64; 3], [u64; 3]);

/// Results by mangled name, or by the function's where that is not known, and shape.
struct Index<'a> {
    by_shape: BTreeMap<Shaped<'a>, Vec<usize>>,
    regions: Vec<Option<RegionPath>>,
}

impl<'a> Index<'a> {
    fn new(report: &'a Report) -> Self {
        let mut by_shape: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, result) in report.results.iter().enumerate() {
            if let Subject::Kernel(kernel) = &result.subject {
                // A C function has the same name in both: it counts once.
                let same = kernel.mangled == kernel.short_name;
                let short_name = if same { "" } else { kernel.short_name.as_str() };
                for name in [kernel.mangled.as_str(), short_name] {
                    if !name.is_empty() {
                        by_shape.entry((name, kernel.grid, kernel.block)).or_default().push(at);
                    }
                }
            }
        }
        let region = |result: &Measured| result.region_paths().into_iter().next();
        Self { by_shape, regions: report.results.iter().map(region).collect() }
    }

    /// Results of a kind, and how well they fit.
    fn find(&self, kind: &Kind<'_>) -> (Confidence, Vec<usize>) {
        let found: Vec<(Confidence, Vec<usize>)> =
            kind.groups.iter().map(|group| self.find_group(group)).collect();
        let best = found.iter().map(|(confidence, _)| *confidence).min().unwrap_or(Confidence::None);
        let mut results: Vec<usize> = found
            .into_iter()
            .filter(|(confidence, _)| *confidence == best)
            .flat_map(|(_, results)| results)
            .collect();
        results.sort_unstable();
        results.dedup();
        (best, results)
    }

    fn find_group(&self, group: &LaunchGroup) -> (Confidence, Vec<usize>) {
        let (grid, block) = (group.grid.map(u64::from), group.block.map(u64::from));
        let named = [group.mangled.as_str(), group.short_name.as_str()];
        let found = named
            .iter()
            .filter(|name| !name.is_empty())
            .find_map(|name| self.by_shape.get(&(*name, grid, block)));
        let Some(found) = found else { return (Confidence::None, Vec::new()) };
        let is_here = |at: &usize| match (&group.region, &self.regions[*at]) {
            (Some(region), Some(measured)) => region.covers(measured),
            (region, measured) => region.is_none() && measured.is_none(),
        };
        let here: Vec<usize> = found.iter().copied().filter(is_here).collect();
        match here.is_empty() {
            false => (Confidence::Measured, here),
            true => (Confidence::OtherRegion, found.clone()),
        }
    }
}

fn joined(kind: &Kind<'_>, report: &Report, index: &Index<'_>, total: f64) -> JoinedKernel {
    let (confidence, results) = index.find(kind);
    let group = kind.groups[0];
    let bound = results.first().map(|at| bound(report, &report.results[*at]));
    let mean = |names: &[&str]| {
        let of = |at: &usize| {
            names.iter().find_map(|name| report.value(&report.results[*at], name).and_then(Value::as_f64))
        };
        let values: Vec<f64> = results.iter().filter_map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    JoinedKernel {
        name: group.name.clone(),
        short_name: group.short_name.clone(),
        grid: group.grid,
        block: group.block,
        region: kind.region.clone(),
        other_thread: kind.other_thread,
        launches: kind.launches,
        gpu_ns: kind.gpu_ns,
        share: kind.gpu_ns as f64 / total,
        confidence,
        bound: bound.as_ref().map_or(BoundKind::Unknown, |bound| bound.kind),
        why: bound.map_or_else(|| "none of its launches was measured".to_owned(), |bound| bound.why),
        sm_percent: mean(&["sm__throughput.avg.pct_of_peak_sustained_elapsed"]),
        dram_percent: mean(&[
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        ]),
        occupancy_percent: mean(&["sm__warps_active.avg.pct_of_peak_sustained_active"]),
        results,
    }
}

fn regions(kernels: &[JoinedKernel]) -> Vec<JoinedRegion> {
    let mut sums: BTreeMap<Option<String>, (i64, i64, BTreeMap<BoundKind, i64>)> = BTreeMap::new();
    for kernel in kernels {
        let (all, covered, bounds) = sums.entry(kernel.region.clone()).or_default();
        *all += kernel.gpu_ns;
        if kernel.confidence != Confidence::None {
            *covered += kernel.gpu_ns;
        }
        *bounds.entry(kernel.bound).or_default() += kernel.gpu_ns;
    }
    let mut regions: Vec<JoinedRegion> = sums
        .into_iter()
        .map(|(region, (gpu_ns, covered, bounds))| {
            let part = |ns: i64| ns as f64 / gpu_ns.max(1) as f64;
            let mut bounds: Vec<(BoundKind, f64)> =
                bounds.into_iter().map(|(kind, ns)| (kind, part(ns))).collect();
            bounds.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            JoinedRegion { region, gpu_ns, covered: part(covered), bounds }
        })
        .collect();
    regions.sort_by_key(|region| std::cmp::Reverse(region.gpu_ns));
    regions
}
