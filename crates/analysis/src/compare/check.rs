//! Whether a program keeps to limits, against what it was before.

use serde::Serialize;

use super::decision::{Decision, Doubt, Verdict, decide};
use super::metric::{Limit, Metric, MetricKind, Unit};
use super::moments::geometric_mean;
use super::profile::{LoopProfile, Often, What};
use super::side::Profile;
use crate::replay::CallKind;

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
            let (outcome, unknown, values, decision) = match counted(metric) {
                Some(count) => {
                    let (outcome, unknown, values) = of_counts(a, b, *limit, count);
                    (outcome, unknown, values, None)
                }
                None => of_times(metric, *limit, a, b, same_hardware),
            };
            Checked {
                metric: metric.to_string(),
                limit: limit.to_string(),
                unit: metric.unit(),
                outcome,
                unknown,
                values,
                decision,
            }
        })
        .collect()
}

type Told = (Outcome, Option<Unknown>, [Option<f64>; 2], Option<Decision>);

fn of_times(metric: &Metric, limit: Limit, a: &[Profile], b: &[Profile], same_hardware: bool) -> Told {
    // The inverse of a share of the peak is a time.
    let inverted = metric.kind() == MetricKind::Efficiency;
    let turned = |value: f64| if inverted { 1.0 / value } else { value };
    let values = |side: &[Profile]| -> Vec<f64> {
        let measured = side.iter().filter_map(|profile| measured(metric, profile));
        measured.filter(|value| *value > 0.0).map(turned).collect()
    };
    let (before, after) = (values(a), values(b));
    let undecided = |why: Unknown, values, decision| (Outcome::Undecided, Some(why), values, decision);
    for (side, baseline) in [(&before, true), (&after, false)] {
        if side.is_empty() {
            return undecided(Unknown::NotMeasured { baseline }, [None, None], None);
        }
    }
    let usual = geometric_mean(&before);
    let margin = match limit {
        Limit::Part(part) => part,
        // As many more of a time is a part of it.
        Limit::Number(number) => number as f64 / usual,
        Limit::LessPart(part) => part / (1.0 - part),
        Limit::Points(points) => match 1.0 / usual - points {
            left if left > 0.0 => points / left,
            // All of it may be lost.
            _ => f64::MAX,
        },
    };
    let Some(decision) = decide(&before, &after, margin) else {
        return undecided(Unknown::NotMeasured { baseline: true }, [None, None], None);
    };
    let below = decision.high.is_some_and(|high| high <= 1.0 + margin)
        && !matches!(decision.doubt, Some(Doubt::TooFew));
    let decision = if inverted { decision.inverted() } else { decision };
    let told = decision.values.map(Some);
    if !same_hardware {
        return undecided(Unknown::OtherHardware, told, Some(decision));
    }
    match (decision.verdict, decision.doubt) {
        (Verdict::Slower, _) => (Outcome::Broken, None, told, Some(decision)),
        (Verdict::Faster | Verdict::Same, _) => (Outcome::Kept, None, told, Some(decision)),
        _ if below => (Outcome::Kept, None, told, Some(decision)),
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
        Metric::Mfu => profile.mfu,
        Metric::StageMfu(name) => profile.stage_mfu.get(name).copied(),
        _ => None,
    }
}

/// What is counted in an iteration; none if that is not certain.
type Counting = fn(&LoopProfile) -> Option<u64>;

fn counted(metric: &Metric) -> Option<Counting> {
    match metric {
        Metric::Launches => Some(|main: &LoopProfile| {
            sum(main
                .parts
                .iter()
                .filter(|part| matches!(part.what, What::Kernel(_) | What::Graph))
                .map(|part| part.often))
        }),
        Metric::Copies => Some(|main: &LoopProfile| {
            sum(main
                .parts
                .iter()
                .filter(|part| matches!(part.what, What::Copy { .. }))
                .map(|part| part.often))
        }),
        Metric::Bytes => Some(|main: &LoopProfile| {
            let mut total = 0u64;
            for part in &main.parts {
                if let What::Copy { bytes, .. } = part.what {
                    total = total.checked_add(Often::certain(part.often.as_ref())?.checked_mul(bytes)?)?;
                }
            }
            Some(total)
        }),
        Metric::Waits => Some(|main: &LoopProfile| of_calls(main, CallKind::Wait)),
        Metric::Allocations => Some(|main: &LoopProfile| of_calls(main, CallKind::Memory)),
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
        Limit::LessPart(part) | Limit::Points(part) => before as f64 * (1.0 - part),
    };
    let outcome = if after as f64 <= most { Outcome::Kept } else { Outcome::Broken };
    (outcome, None, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    /// Eight runs, a thousandth apart.
    fn with_mfu(mfu: Option<f64>) -> Vec<Profile> {
        let empty = crate::profile(&trace::Trace::default(), &Options::default());
        let run = |at: i32| Profile {
            mfu: mfu.map(|mfu| mfu * (1.0 + f64::from(at - 4) / 4_000.0)),
            ..empty.clone()
        };
        (0..8).map(run).collect()
    }

    #[test]
    fn mfu_may_fall_by_so_many_points() {
        let outcome = |limit: &str, now: Option<f64>, same_hardware: bool| {
            let limits = [super::super::limited("mfu", limit).unwrap_or_else(|why| panic!("{why}"))];
            let checked = check(&limits, &with_mfu(Some(0.40)), &with_mfu(now), same_hardware).remove(0);
            assert!(checked.unit == Unit::Part);
            (checked.outcome, checked.values)
        };
        let (broken, values) = outcome("-1 point", Some(0.385), true);
        assert_eq!(broken, Outcome::Broken);
        let [Some(before), Some(now)] = values else { panic!("{values:?}") };
        assert!((before - 0.40).abs() < 0.001 && (now - 0.385).abs() < 0.001, "{values:?}");
        assert_eq!(outcome("-1 point", Some(0.395), true).0, Outcome::Kept);
        assert_eq!(outcome("-1 point", Some(0.60), true).0, Outcome::Kept, "more is better");
        assert_eq!(outcome("-5%", Some(0.385), true).0, Outcome::Kept, "3.75 % less");
        assert_eq!(outcome("-3%", Some(0.385), true).0, Outcome::Broken);
        assert_eq!(outcome("-50 points", Some(0.001), true).0, Outcome::Kept, "there are only 40");
        assert_eq!(outcome("-1 point", Some(0.1), false).0, Outcome::Undecided, "another GPU");
        assert_eq!(outcome("-1 point", None, true), (Outcome::Undecided, [None, None]));
    }
}
