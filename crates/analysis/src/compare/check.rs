//! Whether a program keeps to limits, against what it was before.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::decision::{Decision, Doubt, Verdict, decide};
use super::profile::{LoopProfile, Often, What};
use super::side::Profile;
use crate::replay::CallKind;

/// How much more of something there may be: of the part `0.02` that is `+2%`, or that many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    Part(f64),
    Number(u64),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.trim().trim_start_matches('+');
        let limit = match number.strip_suffix('%') {
            Some(percent) => percent
                .trim()
                .parse()
                .ok()
                .filter(|part| (0.0..=1_000.0).contains(part))
                .map(|part: f64| Self::Part(part / 100.0)),
            None => number.parse().ok().map(Self::Number),
        };
        limit.ok_or_else(|| {
            format!("`{text}` is no limit: it is a percentage such as `+2%`, or a whole number such as `0`")
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part(part) => write!(out, "+{}%", (part * 100_000.0).round() / 1_000.0),
            Self::Number(number) => write!(out, "+{number}"),
        }
    }
}

/// What a limit can be about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metric {
    /// An iteration of the main loop.
    Loop,
    /// The whole process.
    Process,
    /// A stage's median.
    StageMedian(String),
    /// What 95 % of a stage's instances stay below.
    StageTail(String),
    /// Energy of an iteration.
    Energy,
    /// Kernels and graphs launched in an iteration.
    Launches,
    /// Copies and fills of an iteration, and their bytes.
    Copies,
    Bytes,
    /// Calls of an iteration that wait for the device.
    Waits,
    /// Calls of an iteration that get memory from the driver or give it back.
    Allocations,
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "loop" => Self::Loop,
            "process" => Self::Process,
            "energy" => Self::Energy,
            "launches" => Self::Launches,
            "copies" => Self::Copies,
            "bytes" => Self::Bytes,
            "waits" => Self::Waits,
            "allocations" => Self::Allocations,
            _ => match text.rsplit_once('.') {
                Some((stage, "p50")) => Self::StageMedian(stage.to_owned()),
                Some((stage, "p95")) => Self::StageTail(stage.to_owned()),
                _ => {
                    return Err(format!(
                        "`{text}` is nothing that can be limited: there are `loop`, `process`, `STAGE.p50`, `STAGE.p95`, \
                         `energy`, `launches`, `copies`, `bytes`, `waits` and `allocations`"
                    ));
                }
            },
        })
    }
}

impl Metric {
    /// It is counted; of anything else only a part can be allowed.
    pub fn is_counted(&self) -> bool {
        counted(self).is_some()
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop => out.write_str("loop"),
            Self::Process => out.write_str("process"),
            Self::StageMedian(stage) => write!(out, "{stage}.p50"),
            Self::StageTail(stage) => write!(out, "{stage}.p95"),
            Self::Energy => out.write_str("energy"),
            Self::Launches => out.write_str("launches"),
            Self::Copies => out.write_str("copies"),
            Self::Bytes => out.write_str("bytes"),
            Self::Waits => out.write_str("waits"),
            Self::Allocations => out.write_str("allocations"),
        }
    }
}

/// In what a metric is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Nanoseconds,
    Joules,
    Bytes,
    Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Kept,
    Broken,
    Undecided,
}

/// Why a limit is neither kept nor broken.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "because")]
pub enum Unknown {
    /// One of both was not measured.
    NotMeasured {
        baseline: bool,
    },
    /// Times of other hardware say nothing.
    OtherHardware,
    /// It is not the same in all iterations or processes.
    Varies,
    Doubt {
        doubt: Doubt,
    },
}

/// A limit, and whether it is kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    pub metric: String,
    pub limit: String,
    pub unit: Unit,
    pub outcome: Outcome,
    pub unknown: Option<Unknown>,
    /// In the baseline, and now.
    pub values: [Option<f64>; 2],
    /// Of what is not counted.
    pub decision: Option<Decision>,
}

/// Each limit against the baseline `a`. Times are only compared on the same hardware.
pub fn check(limits: &[(Metric, Limit)], a: &[Profile], b: &[Profile], same_hardware: bool) -> Vec<Checked> {
    limits
        .iter()
        .map(|(metric, limit)| {
            let (unit, outcome, unknown, values, decision) = match counted(metric) {
                Some((unit, count)) => {
                    let (outcome, unknown, values) = of_counts(a, b, *limit, count);
                    (unit, outcome, unknown, values, None)
                }
                None => of_times(metric, *limit, a, b, same_hardware),
            };
            Checked {
                metric: metric.to_string(),
                limit: limit.to_string(),
                unit,
                outcome,
                unknown,
                values,
                decision,
            }
        })
        .collect()
}

type Told = (Unit, Outcome, Option<Unknown>, [Option<f64>; 2], Option<Decision>);

fn of_times(metric: &Metric, limit: Limit, a: &[Profile], b: &[Profile], same_hardware: bool) -> Told {
    let unit = if *metric == Metric::Energy { Unit::Joules } else { Unit::Nanoseconds };
    let values = |side: &[Profile]| -> Vec<f64> {
        side.iter().filter_map(|profile| measured(metric, profile)).collect()
    };
    let (before, after) = (values(a), values(b));
    let undecided = |why: Unknown, values, decision| (unit, Outcome::Undecided, Some(why), values, decision);
    for (side, baseline) in [(&before, true), (&after, false)] {
        if side.is_empty() {
            return undecided(Unknown::NotMeasured { baseline }, [None, None], None);
        }
    }
    // As many more of a time is a part of it.
    let margin = match limit {
        Limit::Part(part) => part,
        Limit::Number(number) => number as f64 / (before.iter().sum::<f64>() / before.len() as f64),
    };
    let Some(decision) = decide(&before, &after, margin) else {
        return undecided(Unknown::NotMeasured { baseline: true }, [None, None], None);
    };
    let told = decision.values.map(Some);
    if !same_hardware {
        return undecided(Unknown::OtherHardware, told, Some(decision));
    }
    let below = decision.high.is_some_and(|high| high <= 1.0 + margin)
        && !matches!(decision.doubt, Some(Doubt::TooFew));
    match (decision.verdict, decision.doubt) {
        (Verdict::Slower, _) => (unit, Outcome::Broken, None, told, Some(decision)),
        (Verdict::Faster | Verdict::Same, _) => (unit, Outcome::Kept, None, told, Some(decision)),
        _ if below => (unit, Outcome::Kept, None, told, Some(decision)),
        (_, doubt) => {
            let doubt = doubt.unwrap_or(Doubt::TooNoisy { enough: None });
            undecided(Unknown::Doubt { doubt }, told, Some(decision))
        }
    }
}

fn measured(metric: &Metric, profile: &Profile) -> Option<f64> {
    let stage = |name: &String| profile.stages.iter().find(|stage| stage.name == *name);
    match metric {
        Metric::Loop => Some(profile.main.as_ref()?.median_ns),
        Metric::Process => Some(profile.process_ns? as f64),
        Metric::StageMedian(name) => Some(stage(name)?.p50_ns as f64),
        Metric::StageTail(name) => Some(stage(name)?.p95_ns as f64),
        Metric::Energy => profile.energy_j,
        _ => None,
    }
}

/// What is counted in an iteration; none if that is not certain.
type Counting = fn(&LoopProfile) -> Option<u64>;

fn counted(metric: &Metric) -> Option<(Unit, Counting)> {
    match metric {
        Metric::Launches => Some((Unit::Count, |main| {
            sum(main
                .parts
                .iter()
                .filter(|part| matches!(part.what, What::Kernel(_) | What::Graph))
                .map(|part| part.often))
        })),
        Metric::Copies => Some((Unit::Count, |main| {
            sum(main
                .parts
                .iter()
                .filter(|part| matches!(part.what, What::Copy { .. }))
                .map(|part| part.often))
        })),
        Metric::Bytes => Some((Unit::Bytes, |main| {
            let mut total = 0u64;
            for part in &main.parts {
                if let What::Copy { bytes, .. } = part.what {
                    total = total.checked_add(Often::certain(part.often.as_ref())?.checked_mul(bytes)?)?;
                }
            }
            Some(total)
        })),
        Metric::Waits => Some((Unit::Count, |main| of_calls(main, CallKind::Wait))),
        Metric::Allocations => Some((Unit::Count, |main| of_calls(main, CallKind::Memory))),
        _ => None,
    }
}

fn of_calls(main: &LoopProfile, kind: CallKind) -> Option<u64> {
    sum(main.calls.iter().filter(|call| CallKind::of(&call.name) == kind).map(|call| Some(call.often)))
}

fn sum(all: impl Iterator<Item = Option<Often>>) -> Option<u64> {
    all.map(|often| Often::certain(often.as_ref())).try_fold(0u64, |total, count| total.checked_add(count?))
}

fn of_counts(
    a: &[Profile],
    b: &[Profile],
    limit: Limit,
    count: Counting,
) -> (Outcome, Option<Unknown>, [Option<f64>; 2]) {
    let has_loop = |side: &[Profile]| side.iter().any(|profile| profile.main.is_some());
    for (side, baseline) in [(a, true), (b, false)] {
        if !has_loop(side) {
            return (Outcome::Undecided, Some(Unknown::NotMeasured { baseline }), [None, None]);
        }
    }
    // The same in all processes.
    let certain = |side: &[Profile]| {
        let mut counts = side.iter().filter_map(|profile| profile.main.as_ref()).map(count);
        let first = counts.next()??;
        counts.all(|count| count == Some(first)).then_some(first)
    };
    let (before, after) = (certain(a), certain(b));
    let values = [before, after].map(|count| count.map(|count| count as f64));
    let (Some(before), Some(after)) = (before, after) else {
        return (Outcome::Undecided, Some(Unknown::Varies), values);
    };
    let most = match limit {
        Limit::Part(part) => before as f64 * (1.0 + part),
        Limit::Number(number) => before as f64 + number as f64,
    };
    let outcome = if after as f64 <= most { Outcome::Kept } else { Outcome::Broken };
    (outcome, None, values)
}
