//! What counters say about each region.
//!
//! A launch lies in the stacks of the thread that made it: one path in each domain, which
//! it counts for on its own account (exclusive), as do all the paths above (inclusive).
//! Start/end regions overlap anything and count for themselves. What was measured on a
//! whole range is never added to anything.

use std::collections::{BTreeMap, BTreeSet};

use counters::{Metric, Report, Subject, Value};
use nvtx::{Kind, RegionPath};

use super::aggregate::{MetricRow, metrics, time_ns};
use super::known::{Known, KnownRegion};
use super::results::{RegionResults, ResultsByRegion};
use crate::attribute::region_labels;
use crate::kernels::filter::KernelPatterns;

#[derive(Debug, Clone, PartialEq)]
pub struct CounterRegions {
    /// Parents before their children.
    pub regions: Vec<CounterRegion>,
    /// In no region of any domain and in no start/end region.
    pub outside: Counted,
    /// How each domain shares out all launches.
    pub domains: Vec<DomainLaunches>,
    pub launches: u64,
    /// Launches that the patterns leave out.
    pub left_out: u64,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    /// The measured ones among the metrics that an engineer reads first.
    pub headlines: Vec<Headline>,
    /// Measured on a whole range whose region is unknown.
    pub measured_on_the_whole_range: Vec<WholeRange>,
    /// What is missing or doubtful in the report.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CounterRegion {
    /// For a folder: safe and unique.
    pub label: String,
    pub path: RegionPath,
    pub kind: Kind,
    pub parent: Option<RegionPath>,
    /// None where only the counters saw it.
    pub known: Option<Known>,
    pub counted: Counted,
    pub measured_on_the_whole_range: Vec<WholeRange>,
}

/// Launches and what was measured on them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    pub launches_inclusive: u64,
    pub launches_exclusive: u64,
    /// Not among those above: the patterns leave them out.
    pub left_out: u64,
    /// On the device, as ncu measured it; None where no launch has a time.
    pub time_inclusive_ns: Option<f64>,
    pub time_exclusive_ns: Option<f64>,
    /// Launches that have no time.
    pub untimed: u64,
    pub distinct_kernels: u64,
    /// Longest first.
    pub kernels: Vec<CountedKernel>,
    /// By name.
    pub metrics: Vec<MetricRow>,
    /// In the order they were measured.
    pub launches: Vec<CountedLaunch>,
}

/// Launches of one kernel in one shape, or of graphs.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedKernel {
    pub name: String,
    pub short_name: String,
    /// Grid and block; None if it is not a kernel.
    pub shape: Option<[[u64; 3]; 2]>,
    pub launches: u64,
    pub time_ns: Option<f64>,
    /// Of the time of all launches.
    pub share: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CountedLaunch {
    /// Its number in the report, ncu's `ID`.
    pub result: usize,
    /// Not in a region inside this one.
    pub own: bool,
    pub short_name: String,
    pub time_ns: Option<f64>,
    /// By [`CounterRegions::headlines`].
    pub headlines: Vec<Option<f64>>,
}

/// The launches of one domain's push/pop regions, and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainLaunches {
    pub domain: String,
    pub inside: u64,
    pub outside: u64,
}

/// One result of range replay.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeRange {
    /// Its number in the report, ncu's `ID`.
    pub result: usize,
    /// Other regions that were open as well: which of them was measured is not known.
    pub also_open: Vec<RegionPath>,
    pub time_ns: Option<f64>,
    pub headlines: Vec<Option<f64>>,
    /// Name, unit and value, by name.
    pub metrics: Vec<(String, String, Value)>,
}

/// A percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headline {
    pub title: &'static str,
    pub metric: &'static str,
}

/// The first metric of each that was measured. Names differ between devices and sets.
const HEADLINES: [(&str, &[&str]); 6] = [
    ("SM", &["sm__throughput.avg.pct_of_peak_sustained_elapsed"]),
    (
        "DRAM",
        &[
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        ],
    ),
    ("L2", &["lts__throughput.avg.pct_of_peak_sustained_elapsed"]),
    ("occupancy", &["sm__warps_active.avg.pct_of_peak_sustained_active"]),
    (
        "tensor pipe",
        &[
            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
            "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
        ],
    ),
    (
        "issue active",
        &[
            "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
            "smsp__issue_active.avg.pct_of_peak_sustained_active",
            "sm__inst_issued.avg.pct_of_peak_sustained_active",
            "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
        ],
    ),
];

/// `known` regions are shown even if nothing was measured in them.
pub fn counter_regions(report: &Report, known: &[KnownRegion], select: &KernelPatterns) -> CounterRegions {
    let mut places = ResultsByRegion::default();
    for region in known {
        places.add_known(region);
    }
    for (result, measured) in report.results.iter().enumerate() {
        match Launched::from_subject(&measured.subject) {
            None => places.add_range(result, measured),
            Some(launched) => places.add_launch(result, measured, select.keep(launched.name)),
        }
    }
    let reader = Reader { report, headlines: headlines(report) };
    let order = places.forest.order();
    let paths: Vec<RegionPath> = (0..places.forest.len()).map(|node| places.forest.path(node)).collect();
    let named: Vec<(&RegionPath, Kind)> =
        order.iter().map(|node| (&paths[*node], places.forest.kind(*node))).collect();
    let none = RegionResults::default();
    let regions = order
        .iter()
        .zip(region_labels(&named))
        .map(|(node, label)| {
            let place = places.by_node.get(node).unwrap_or(&none);
            CounterRegion {
                label,
                path: paths[*node].clone(),
                kind: places.forest.kind(*node),
                parent: places.forest.parent(*node).map(|parent| paths[parent].clone()),
                known: place.known,
                counted: reader.counted(place),
                measured_on_the_whole_range: reader.whole_ranges(&place.ranges),
            }
        })
        .collect();
    let domains = places.domains.into_iter();
    CounterRegions {
        regions,
        outside: reader.counted(&places.outside),
        domains: domains
            .map(|(domain, inside)| DomainLaunches { domain, inside, outside: places.launches - inside })
            .collect(),
        launches: places.launches,
        left_out: places.left_out,
        include: select.include().to_vec(),
        exclude: select.exclude().to_vec(),
        measured_on_the_whole_range: reader.whole_ranges(&places.outside.ranges),
        headlines: reader.headlines,
        notes: report.notes.iter().cloned().chain(report.damage.as_ref().map(ToString::to_string)).collect(),
    }
}

/// What ran: a kernel, or what ncu measures like one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Launched<'a> {
    name: &'a str,
    short_name: &'a str,
    shape: Option<[[u64; 3]; 2]>,
}

impl<'a> Launched<'a> {
    /// None for a range.
    fn from_subject(subject: &'a Subject) -> Option<Self> {
        let (name, short_name, shape) = match subject {
            Subject::Kernel(kernel) => {
                (kernel.name.as_str(), kernel.short_name.as_str(), Some([kernel.grid, kernel.block]))
            }
            Subject::Graph { .. } => ("CUDA graph", "CUDA graph", None),
            Subject::CommandList { name, .. } => (name.as_str(), name.as_str(), None),
            Subject::Range => return None,
        };
        Some(Self { name, short_name, shape })
    }
}

fn headlines(report: &Report) -> Vec<Headline> {
    let measured = |name: &&&str| report.results.iter().any(|result| report.value(result, name).is_some());
    let found = HEADLINES.iter().filter_map(|(title, names)| Some((*title, *names.iter().find(measured)?)));
    found.map(|(title, metric)| Headline { title, metric }).collect()
}

#[derive(Debug)]
struct Reader<'a> {
    report: &'a Report,
    headlines: Vec<Headline>,
}

impl<'a> Reader<'a> {
    fn counted(&self, place: &RegionResults) -> Counted {
        let times = |results: &[usize]| -> Vec<f64> {
            results.iter().filter_map(|result| time_ns(self.report, *result)).collect()
        };
        let (inclusive, exclusive) = (times(&place.inclusive), times(&place.exclusive));
        let total = |times: &[f64]| (!times.is_empty()).then(|| times.iter().sum());
        let kernels = self.kernels(&place.inclusive, total(&inclusive));
        let names: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        Counted {
            launches_inclusive: place.inclusive.len() as u64,
            launches_exclusive: place.exclusive.len() as u64,
            left_out: place.left_out,
            time_inclusive_ns: total(&inclusive),
            time_exclusive_ns: total(&exclusive),
            untimed: (place.inclusive.len() - inclusive.len()) as u64,
            distinct_kernels: names.len() as u64,
            kernels,
            metrics: metrics(self.report, &place.inclusive, &place.exclusive),
            launches: self.launches(place),
        }
    }

    fn launched(&self, result: usize) -> Option<Launched<'a>> {
        Launched::from_subject(&self.report.results[result].subject)
    }

    fn kernels(&self, results: &[usize], total: Option<f64>) -> Vec<CountedKernel> {
        let mut groups: BTreeMap<Launched<'_>, CountedKernel> = BTreeMap::new();
        for result in results {
            let Some(launched) = self.launched(*result) else { continue };
            let row = groups.entry(launched).or_insert_with(|| CountedKernel {
                name: launched.name.to_owned(),
                short_name: launched.short_name.to_owned(),
                shape: launched.shape,
                launches: 0,
                time_ns: None,
                share: None,
            });
            row.launches += 1;
            if let Some(time) = time_ns(self.report, *result) {
                *row.time_ns.get_or_insert(0.0) += time;
            }
        }
        let mut rows: Vec<CountedKernel> = groups.into_values().collect();
        for row in &mut rows {
            row.share =
                row.time_ns.zip(total).filter(|(_, total)| *total > 0.0).map(|(time, total)| time / total);
        }
        rows.sort_by(|a, b| b.time_ns.unwrap_or(-1.0).total_cmp(&a.time_ns.unwrap_or(-1.0)));
        rows
    }

    fn launches(&self, place: &RegionResults) -> Vec<CountedLaunch> {
        let mut own = place.exclusive.iter().copied().peekable();
        let row = |result: &usize| {
            Some(CountedLaunch {
                result: *result,
                own: own.next_if_eq(result).is_some(),
                short_name: self.launched(*result)?.short_name.to_owned(),
                time_ns: time_ns(self.report, *result),
                headlines: self.headlines_of(*result),
            })
        };
        place.inclusive.iter().filter_map(row).collect()
    }

    fn headlines_of(&self, result: usize) -> Vec<Option<f64>> {
        let measured = &self.report.results[result];
        let value = |headline: &Headline| self.report.value(measured, headline.metric)?.as_f64();
        self.headlines.iter().map(value).collect()
    }

    fn whole_ranges(&self, ranges: &[(usize, Vec<RegionPath>)]) -> Vec<WholeRange> {
        let names = &self.report.metric_names;
        let row = |(result, also_open): &(usize, Vec<RegionPath>)| {
            let measured = &self.report.results[*result].metrics;
            let mut metrics: Vec<(String, String, Value)> = measured
                .iter()
                .filter_map(|Metric { name, value, .. }| {
                    Some((names.name(*name).to_owned(), names.unit(*name).to_owned(), value.clone()?))
                })
                .collect();
            metrics.sort_by(|a, b| a.0.cmp(&b.0));
            WholeRange {
                result: *result,
                also_open: also_open.clone(),
                time_ns: time_ns(self.report, *result),
                headlines: self.headlines_of(*result),
                metrics,
            }
        };
        ranges.iter().map(row).collect()
    }
}
