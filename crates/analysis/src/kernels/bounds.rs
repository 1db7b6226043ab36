//! What limits a kernel, from every level that was measured.
//!
//! Each level has a share of its peak, over the whole time of the kernel: `…_elapsed`. A share
//! `…_active` says nothing about the kernel, which may have kept one SM of many busy. The
//! highest level is the bound when it reaches 60 % of its peak. What comes from DRAM passes
//! through L2 and L1, what the tensor pipe multiplies through shared memory, and every
//! instruction of a pipe has to be issued: DRAM counts before the caches, the tensor pipe before
//! L1, and a pipe before the issue slots, unless they are more than 15 points above it.
//! Below 60 % nothing is near its limit: the kernel waits, and is latency-bound. Where
//! compute or memory was not measured the bound is unknown.
//!
//! The throughput of an SM is the highest of all its pipes. Without it single pipes can still
//! be seen at their limit, and the metric is named. To conclude that nothing is at its limit, all other
//! levels must be measured, with too few instructions for most unmeasured pipes and too few blocks to fill the device.

use counters::{Measured, Report, Value};
use serde::{Deserialize, Serialize};

/// A level is a limit from here on, in percent of its peak.
pub const NEAR_PEAK: f64 = 60.0;
/// How many points a level may be below the one that its traffic passes through.
pub(crate) const PASSES_THROUGH: f64 = 15.0;
/// The highest of all that an SM does.
const SM: &str = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
/// Percent of the issue slots that an unmeasured pipe needs to be near its peak: special functions
/// at 95 % of theirs took 24 on an H200, FP64 at 99 % took 50.
const UNSEEN_PIPE: f64 = 15.0;
/// A launch whose blocks are less of a wave than this leaves SMs without work.
pub(crate) const FULL_WAVE: f64 = 0.9;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundKind {
    Tensor,
    Fp32,
    Fp64,
    /// Another pipe: integers, special functions, loads and stores.
    OtherPipe,
    Issue,
    Dram,
    L2,
    /// L1 or shared memory.
    L1,
    /// Nothing is near its peak.
    Latency,
    Unknown,
}

impl BoundKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tensor => "tensor pipe",
            Self::Fp32 => "FP32 pipe",
            Self::Fp64 => "FP64 pipe",
            Self::OtherPipe => "another pipe",
            Self::Issue => "issue slots",
            Self::Dram => "DRAM",
            Self::L2 => "L2",
            Self::L1 => "L1 and shared memory",
            Self::Latency => "latency",
            Self::Unknown => "unknown",
        }
    }

    pub(crate) fn is_memory(self) -> bool {
        matches!(self, Self::Dram | Self::L2 | Self::L1)
    }
}

/// What limits one result, and what that is based on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    pub kind: BoundKind,
    /// One sentence with its numbers.
    pub why: String,
    /// Every level that was measured, the highest first.
    pub levels: Vec<Level>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    pub kind: BoundKind,
    /// Of its peak, over the whole time.
    pub percent: f64,
    pub metric: String,
}

impl Level {
    /// The metric, without the common suffix.
    fn name(&self) -> &str {
        self.metric.trim_end_matches(ELAPSED)
    }
}

/// Metrics of a level: the first that was measured, or the highest of those that fit a pattern.
const LEVELS: [(BoundKind, &[&str]); 5] = [
    (
        BoundKind::Dram,
        &[
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        ],
    ),
    (BoundKind::L2, &["lts__throughput.avg.pct_of_peak_sustained_elapsed"]),
    (BoundKind::L1, &["l1tex__throughput.avg.pct_of_peak_sustained_elapsed"]),
    (
        BoundKind::Issue,
        &[
            "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
            "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
            "sm__inst_executed.avg.pct_of_peak_sustained_elapsed",
        ],
    ),
    (BoundKind::OtherPipe, &[SM]),
];

/// What has to be measured for latency where the throughput of an SM was not.
const FOR_LATENCY: [BoundKind; 7] = [
    BoundKind::Dram,
    BoundKind::L2,
    BoundKind::L1,
    BoundKind::Issue,
    BoundKind::Tensor,
    BoundKind::Fp32,
    BoundKind::OtherPipe,
];

const ELAPSED: &str = ".avg.pct_of_peak_sustained_elapsed";

pub fn bound(report: &Report, result: &Measured) -> Bound {
    let mut levels = levels(report, result);
    levels.sort_by(|a, b| b.percent.total_cmp(&a.percent).then(a.kind.cmp(&b.kind)));
    let compute = levels.iter().any(|level| !level.kind.is_memory());
    let memory = levels.iter().any(|level| level.kind.is_memory());
    let Some(highest) = levels.first().filter(|_| compute && memory) else {
        let missing = if compute { "memory" } else { "compute" };
        let why = match levels.is_empty() {
            true => "no throughput was measured".to_owned(),
            false => format!("no {missing} throughput was measured"),
        };
        return Bound { kind: BoundKind::Unknown, why, levels };
    };
    let all_pipes = levels.iter().any(|level| level.metric == SM);
    if highest.percent < NEAR_PEAK {
        let (kind, why) = match all_pipes {
            true => (BoundKind::Latency, latency(report, result, highest)),
            false => latency_without_sm(report, result, &levels, highest),
        };
        return Bound { kind, why, levels };
    }
    let first = behind(&levels, highest);
    let mut why = format!("{} is at {:.1} % of its peak", first.kind.as_str(), first.percent);
    if !all_pipes {
        why.push_str(&format!(" (`{}`)", first.name()));
    }
    Bound { kind: first.kind, why, levels }
}

/// Where the highest level's traffic comes from, if that is also near its peak.
fn behind<'a>(levels: &'a [Level], highest: &'a Level) -> &'a Level {
    let close =
        |level: &&Level| level.percent >= NEAR_PEAK && level.percent + PASSES_THROUGH >= highest.percent;
    let comes_first = |level: &&Level| match highest.kind {
        BoundKind::L2 => level.kind == BoundKind::Dram,
        BoundKind::L1 => matches!(level.kind, BoundKind::Dram | BoundKind::Tensor),
        // The highest of all pipes stands for the one that has a name; a single one for itself.
        BoundKind::OtherPipe if highest.metric != SM => false,
        BoundKind::Issue | BoundKind::OtherPipe => {
            let single = level.kind == BoundKind::OtherPipe && level.metric != SM;
            single || matches!(level.kind, BoundKind::Tensor | BoundKind::Fp32 | BoundKind::Fp64)
        }
        _ => false,
    };
    levels.iter().filter(comes_first).find(close).unwrap_or(highest)
}

/// Why nothing is near its peak, as far as the launch shows.
fn latency(report: &Report, result: &Measured, highest: &Level) -> String {
    let number = |name: &str| report.value(result, name).and_then(Value::as_f64);
    let start = format!(
        "nothing is near its peak; the highest is {} at {:.1} %",
        highest.kind.as_str(),
        highest.percent
    );
    let waves = number("launch__waves_per_multiprocessor").filter(|waves| *waves < FULL_WAVE);
    let occupancy = number("sm__warps_active.avg.pct_of_peak_sustained_active");
    match (waves, number("launch__grid_size"), occupancy) {
        (Some(waves), Some(blocks), _) => {
            format!(
                "{start}; a grid of {blocks:.0} is only {waves:.2} of a wave, too little work for the SMs"
            )
        }
        (_, _, Some(occupancy)) if occupancy < 30.0 => {
            format!("{start}; occupancy is {occupancy:.0} %, too low to hide latency")
        }
        _ => format!("{start}; its warps wait for each other or for memory"),
    }
}

/// Without the throughput of an SM: what was not measured may be near its peak.
fn latency_without_sm(
    report: &Report,
    result: &Measured,
    levels: &[Level],
    highest: &Level,
) -> (BoundKind, String) {
    let of = |kind: BoundKind| levels.iter().find(|level| level.kind == kind);
    let missing: Vec<&str> =
        FOR_LATENCY.into_iter().filter(|kind| of(*kind).is_none()).map(BoundKind::as_str).collect();
    if !missing.is_empty() {
        let why = format!("nothing that was measured is near its peak; not measured: {}", missing.join(", "));
        return (BoundKind::Unknown, why);
    }
    let waves = report.value(result, "launch__waves_per_multiprocessor").and_then(Value::as_f64);
    let fills = waves.is_none_or(|waves| waves >= FULL_WAVE);
    let busy = of(BoundKind::Issue).filter(|issue| fills || issue.percent >= UNSEEN_PIPE);
    if let Some(issue) = busy {
        let why = format!(
            "nothing that was measured is near its peak, but an unmeasured pipe may be: issue slots are at {:.1} %",
            issue.percent
        );
        return (BoundKind::Unknown, why);
    }
    let names: Vec<String> = levels.iter().map(|level| format!("`{}`", level.name())).collect();
    let why = format!("{}; based only on {}", latency(report, result, highest), names.join(", "));
    (BoundKind::Latency, why)
}

fn levels(report: &Report, result: &Measured) -> Vec<Level> {
    let measured: Vec<(&str, f64)> = result
        .metrics
        .iter()
        .filter_map(|metric| {
            let name = report.metric_names.name(metric.name);
            Some((name, metric.value.as_ref()?.as_f64()?))
        })
        .filter(|(name, value)| name.ends_with(ELAPSED) && !name.contains(':') && value.is_finite())
        .collect();
    let level =
        |kind: BoundKind, (name, percent): (&str, f64)| Level { kind, percent, metric: name.to_owned() };
    let mut found: Vec<Level> = Vec::new();
    for (kind, names) in LEVELS {
        let known = names.iter().find_map(|name| measured.iter().find(|(other, _)| other == name));
        found.extend(known.map(|known| level(kind, *known)));
    }
    let highest = |fits: &dyn Fn(&str) -> bool| {
        let fitting = measured.iter().filter(|(name, _)| fits(name));
        fitting.max_by(|a, b| a.1.total_cmp(&b.1)).copied()
    };
    for (kind, fits) in PARTS {
        if found.iter().all(|level| level.kind != kind) {
            found.extend(highest(&fits).map(|top| level(kind, top)));
        }
    }
    for (kind, fits) in PIPES {
        found.extend(highest(&fits).map(|top| level(kind, top)));
    }
    found
}

type Fits = fn(&str) -> bool;

/// A throughput is the highest of its parts, and stands for them. That of L1 is often measured over
/// active time only, and those of L2 and an SM take many passes.
const PARTS: [(BoundKind, Fits); 3] = [
    (BoundKind::L2, |name| name.starts_with("lts__") && !name.starts_with("lts__cycles_active")),
    (BoundKind::L1, |name| name.starts_with("l1tex__")),
    (BoundKind::OtherPipe, |name| {
        let is_pipe = name.starts_with("sm__inst_executed_pipe_") || name.starts_with("sm__pipe_");
        is_pipe && PIPES.iter().all(|(_, fits)| !fits(name))
    }),
];

/// The pipes that have a name of their own.
const PIPES: [(BoundKind, Fits); 3] = [
    (BoundKind::Tensor, |name| {
        name.starts_with("sm__pipe_tensor") || name.starts_with("sm__inst_executed_pipe_tensor")
    }),
    (BoundKind::Fp32, |name| {
        name.starts_with("sm__pipe_fma") || name.starts_with("sm__inst_executed_pipe_fma")
    }),
    (BoundKind::Fp64, |name| {
        name.starts_with("sm__pipe_fp64") || name.starts_with("sm__inst_executed_pipe_fp64")
    }),
];
