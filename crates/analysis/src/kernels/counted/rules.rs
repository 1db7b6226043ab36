//! How a metric of many launches becomes one value.
//!
//! The aim is the value that one measurement of all launches together would have given.
//! Where the values of single launches cannot give that, there is none.
//!
//! | metric | rule | why |
//! |---|---|---|
//! | `X.sum` | sum | counts, bytes and times add up |
//! | `X.avg` of a count | sum | it is a mean over the units of the device, not over launches: the mean of a total is the total of the means |
//! | `X.max`, `X.min`, with or without more behind them | max, min | of one unit in one launch; the unit that had the most in all is not known |
//! | `X.sum.per_second`, `X.avg.pct_of_peak_…`, `X.sum.per_cycle_…`, `X.pct`, `X.ratio` | time-weighted mean | exact for rates of elapsed time at a steady clock, near for those of active cycles and for ratios |
//! | `sm__maximum_warps_per_active_cycle_pct` and what else is a rate by its unit | time-weighted mean | as the rate it is a bound of |
//! | `X.….peak_sustained…`, `X.max_rate` | same | of the device, not of the launch |
//! | `launch__…` (also `launch__waves_per_multiprocessor`), `device__attribute_…`, `nvlink__…`, `numa__…`, `profiler__…` | same | settings |
//! | `derived__…` | same | sums, rates and peaks, and the name does not say which |
//! | `inst_executed`, `memory_l2_…`, `smsp__pcsamp_warps_…`: counts by line of source | sum | samples only where all were taken at one interval |
//! | `gpu__time_start…`, `gpu__time_end…` | none | timestamps |
//! | `…occupancy_per_…`, `breakdown:…`, `pmsampling:…` | none | the value of a whole curve or list |
//! | anything else, and every text | same | |

/// How the values of several launches become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AggregateRule {
    Sum,
    /// Weighted by `gpu__time_duration`.
    TimeWeightedMean,
    /// Instead of the weighted mean if the time of a launch is unknown.
    Mean,
    Max,
    Min,
    /// The value, where all launches have the same one.
    Same,
    None,
}

impl AggregateRule {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::TimeWeightedMean => "time-weighted mean",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::Min => "min",
            Self::Same => "same",
            Self::None => "none",
        }
    }

    /// Whether a launch decides the value by what it does, not by how it was set up.
    pub fn is_measured(self) -> bool {
        !matches!(self, Self::Same | Self::None)
    }
}

/// Metrics that describe the setup of a launch, a device or a replay, or are undocumented.
const SETTINGS: [&str; 8] = [
    "launch__",
    "device__attribute_",
    "nvlink__",
    "c2clink__",
    "numa__",
    "profiler__",
    "derived__",
    "smsp__pcsamp_interval",
];
/// Counts by line of source, which have no `.sum` in their names.
const BY_LINE: [&str; 6] = [
    "inst_executed",
    "thread_inst_executed",
    "memory_l1_",
    "memory_l2_",
    "smsp__branch_targets_",
    "smsp__pcsamp_warps_",
];

/// The table above. Never [`AggregateRule::Mean`], which only the launches can tell.
pub fn aggregate_rule(name: &str, unit: &str) -> AggregateRule {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if name.contains(':') || name.contains("occupancy_per_") || name.starts_with("derived_temp") {
        return AggregateRule::None;
    }
    if starts(&["gpu__time_start", "gpu__time_end"]) {
        return AggregateRule::None;
    }
    if starts(&SETTINGS) {
        return AggregateRule::Same;
    }
    let is_rate = unit.contains(['%', '/']) || unit.to_ascii_lowercase().ends_with("hz");
    let mut parts = name.split('.');
    let base = parts.next().unwrap_or_default();
    let suffixes: Vec<&str> = parts.collect();
    if suffixes.iter().any(|suffix| suffix.starts_with("peak_") || *suffix == "max_rate") {
        return AggregateRule::Same;
    }
    match suffixes.as_slice() {
        ["max", ..] => AggregateRule::Max,
        ["min", ..] => AggregateRule::Min,
        ["sum" | "avg"] if is_rate || base.contains("__average_") => AggregateRule::TimeWeightedMean,
        ["sum" | "avg"] => AggregateRule::Sum,
        ["sum" | "avg", of, ..] if of.starts_with("pct") || of.starts_with("per_") => {
            AggregateRule::TimeWeightedMean
        }
        ["pct" | "ratio"] => AggregateRule::TimeWeightedMean,
        [] if is_rate || base.contains("_per_active_cycle") || base.ends_with("_pct") => {
            AggregateRule::TimeWeightedMean
        }
        [] if starts(&BY_LINE) => AggregateRule::Sum,
        _ => AggregateRule::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AggregateRule::{Max, Min, None, Same, Sum, TimeWeightedMean};

    #[test]
    fn rules() {
        let rules = [
            ("dram__bytes.sum", "byte", Sum),
            ("gpu__time_duration.sum", "ns", Sum),
            ("gpu__time_duration.max", "ns", Max),
            ("smsp__cycles_active.avg", "cycle", Sum),
            ("sm__cycles_active.min", "cycle", Min),
            ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", Sum),
            ("inst_executed", "inst", Sum),
            ("smsp__pcsamp_warps_issue_stalled_wait", "", Sum),
            ("dram__bytes.sum.per_second", "byte/s", TimeWeightedMean),
            ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", TimeWeightedMean),
            ("lts__t_sectors.sum.pct_of_peak_sustained_elapsed", "%", TimeWeightedMean),
            ("sm__warps_active.avg.per_cycle_active", "warp", TimeWeightedMean),
            ("sm__cycles_elapsed.avg.per_second", "hz", TimeWeightedMean),
            ("l1tex__t_sector_hit_rate.pct", "%", TimeWeightedMean),
            ("smsp__thread_inst_executed_per_inst_executed.ratio", "", TimeWeightedMean),
            ("sm__maximum_warps_per_active_cycle_pct", "%", TimeWeightedMean),
            ("sm__maximum_warps_avg_per_active_cycle", "warp", TimeWeightedMean),
            ("sm__throughput.max.pct_of_peak_sustained_elapsed", "%", Max),
            ("dram__cycles_elapsed.min.per_second", "hz", Min),
            ("dram__bytes.sum.peak_sustained", "byte/cycle", Same),
            ("smsp__inst_executed.sum.peak_sustained_active.per_second", "inst/s", Same),
            ("l1tex__t_sector_hit_rate.max_rate", "", Same),
            ("launch__waves_per_multiprocessor", "", Same),
            ("launch__occupancy_cluster_pct", "%", Same),
            ("launch__registers_per_thread", "register/thread", Same),
            ("device__attribute_clock_rate", "", Same),
            ("profiler__replayer_bytes_mem_backed_up.sum", "byte", Same),
            ("derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2", "inst", Same),
            ("smsp__pcsamp_interval_cycles", "cycle", Same),
            ("memory_access_type", "", Same),
            ("flop_count_hp", "", Same),
            ("launch__occupancy_per_block_size", "", None),
            ("derived__pct_occupancy_per_block_size", "%", None),
            ("derived_tempMetric0", "", None),
            ("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", None),
            ("pmsampling:dram__bytes.sum", "byte", None),
            ("gpu__time_start.sum", "ns", None),
        ];
        for (name, unit, rule) in rules {
            assert_eq!(aggregate_rule(name, unit), rule, "{name}");
        }
    }
}
