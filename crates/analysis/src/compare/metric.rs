//! What can be limited, and by how much.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// How much worse something may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// More by a part: `+2%` is 0.02.
    Part(f64),
    /// So many more.
    Number(u64),
    /// Less by a part: `-2%` is 0.02.
    LessPart(f64),
    /// Less by a part of the whole: `-1 point` is 0.01.
    Points(f64),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "`{text}` is no limit: it is a percentage such as `+2%`, or a whole number such as `0`; of MFU, `-2%` or \
                 `-1 point`"
            )
        };
        let (is_less, size) = match text.trim().strip_prefix('-') {
            Some(size) => (true, size),
            None => (false, text.trim().trim_start_matches('+')),
        };
        let hundredths = |number: &str| -> Option<f64> {
            let number: f64 = number.trim().parse().ok()?;
            (0.0..=1_000.0).contains(&number).then_some(number / 100.0)
        };
        let points = size.strip_suffix("points").or_else(|| size.strip_suffix("point"));
        let limit = match (size.strip_suffix('%'), points) {
            (Some(percent), _) if is_less => {
                hundredths(percent).filter(|part| *part < 1.0).map(Self::LessPart)
            }
            (Some(percent), _) => hundredths(percent).map(Self::Part),
            (None, Some(points)) => {
                hundredths(points).filter(|part| is_less || *part == 0.0).map(Self::Points)
            }
            (None, None) => size.parse().ok().filter(|_| !is_less).map(Self::Number),
        };
        limit.ok_or_else(wrong)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundred = |part: f64| (part * 100_000.0).round() / 1_000.0;
        match self {
            Self::Part(part) => write!(out, "+{}%", hundred(*part)),
            Self::Number(number) => write!(out, "+{number}"),
            Self::LessPart(part) => write!(out, "-{}%", hundred(*part)),
            Self::Points(part) if hundred(*part) == 1.0 => out.write_str("-1 point"),
            Self::Points(part) => write!(out, "-{} points", hundred(*part)),
        }
    }
}

/// A metric and its limit, as people write them.
pub fn limited(metric: &str, limit: &str) -> Result<(Metric, Limit), String> {
    let metric: Metric = metric.parse()?;
    let parsed: Limit = limit.parse().map_err(|why| format!("`{metric}`: {why}"))?;
    let (fits, wanted) = match (metric.kind(), parsed) {
        (MetricKind::Counted, Limit::Part(_) | Limit::Number(_)) => (true, ""),
        (MetricKind::Counted, _) => (false, "a whole number such as `0`, or a percentage such as `+2%`"),
        (MetricKind::Time, Limit::Part(_)) => (true, ""),
        (MetricKind::Time, _) => (false, "a percentage, such as `+2%`"),
        (MetricKind::Efficiency, Limit::LessPart(_) | Limit::Points(_)) => (true, ""),
        (MetricKind::Efficiency, _) => (false, "how much less it may be, such as `-1 point` or `-2%`"),
    };
    match fits {
        true => Ok((metric, parsed)),
        false => Err(format!("`{metric}`: `{limit}` is no limit of it: it is {wanted}")),
    }
}

/// How a metric is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    /// A number that is the same in all iterations.
    Counted,
    /// A time, or energy: less is better.
    Time,
    /// A part of a peak: more is better.
    Efficiency,
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
    /// MFU of the model's stages together.
    Mfu,
    /// MFU of a stage.
    StageMfu(String),
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
            "mfu" => Self::Mfu,
            "launches" => Self::Launches,
            "copies" => Self::Copies,
            "bytes" => Self::Bytes,
            "waits" => Self::Waits,
            "allocations" => Self::Allocations,
            _ => match text.rsplit_once('.') {
                Some((stage, "p50")) => Self::StageMedian(stage.to_owned()),
                Some((stage, "p95")) => Self::StageTail(stage.to_owned()),
                Some((stage, "mfu")) => Self::StageMfu(stage.to_owned()),
                _ => {
                    return Err(format!(
                        "`{text}` is nothing that can be limited: there are `loop`, `process`, `STAGE.p50`, `STAGE.p95`, \
                         `energy`, `mfu`, `STAGE.mfu`, `launches`, `copies`, `bytes`, `waits` and `allocations`"
                    ));
                }
            },
        })
    }
}

impl Metric {
    pub(super) fn kind(&self) -> MetricKind {
        match self {
            Self::Loop | Self::Process | Self::StageMedian(_) | Self::StageTail(_) | Self::Energy => {
                MetricKind::Time
            }
            Self::Mfu | Self::StageMfu(_) => MetricKind::Efficiency,
            Self::Launches | Self::Copies | Self::Bytes | Self::Waits | Self::Allocations => {
                MetricKind::Counted
            }
        }
    }

    pub(super) fn unit(&self) -> Unit {
        match self {
            Self::Energy => Unit::Joules,
            Self::Bytes => Unit::Bytes,
            Self::Mfu | Self::StageMfu(_) => Unit::Part,
            Self::Launches | Self::Copies | Self::Waits | Self::Allocations => Unit::Count,
            Self::Loop | Self::Process | Self::StageMedian(_) | Self::StageTail(_) => Unit::Nanoseconds,
        }
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
            Self::Mfu => out.write_str("mfu"),
            Self::StageMfu(stage) => write!(out, "{stage}.mfu"),
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
    /// A part of a peak.
    Part,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_write_them() {
        let shown = |metric: &str, limit: &str| {
            limited(metric, limit).map(|(metric, limit)| format!("{metric} {limit}"))
        };
        for (metric, limit, expected) in [
            ("decode.p50", "+2%", "decode.p50 +2%"),
            ("launches", "0", "launches +0"),
            ("launches", "1.5%", "launches +1.5%"),
            ("mfu", "-1 point", "mfu -1 point"),
            ("decode.mfu", "-0.5 points", "decode.mfu -0.5 points"),
            ("mfu", "-2%", "mfu -2%"),
            ("mfu", "0 points", "mfu -0 points"),
        ] {
            assert_eq!(shown(metric, limit).as_deref(), Ok(expected));
        }
        for (metric, limit) in [
            ("mfu", "+2%"),
            ("mfu", "1 point"),
            ("mfu", "3"),
            ("mfu", "-100%"),
            ("loop", "-2%"),
            ("loop", "5"),
            ("launches", "-1"),
            ("launches", "-1 point"),
            ("loop", "nan%"),
            ("mfu", "-nan points"),
            ("speed", "+2%"),
        ] {
            assert!(shown(metric, limit).is_err(), "{metric}={limit}");
        }
    }
}
