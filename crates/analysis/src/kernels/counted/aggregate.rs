//! One value of each metric for many launches.

use counters::{Metric, MetricId, Report, Value};

use super::rules::{AggregateRule, aggregate_rule};

const SAMPLES: &str = "smsp__pcsamp_warps_";
const SAMPLING_INTERVALS: [&str; 2] = ["smsp__pcsamp_interval", "smsp__pcsamp_interval_cycles"];
const TIMES: [&str; 3] = ["gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max"];

/// A metric of the launches of a region.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRow {
    pub name: String,
    pub unit: String,
    pub rule: AggregateRule,
    pub inclusive: Aggregated,
    pub exclusive: Aggregated,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Aggregated {
    /// None if no launch has a value, or if the values cannot be combined.
    pub value: Option<Value>,
    /// Launches that have one.
    pub launches: u64,
}

impl Aggregated {
    /// Launches have values, but they cannot be combined.
    pub fn varies(&self) -> bool {
        self.value.is_none() && self.launches > 0
    }
}

/// Every metric of the launches, by name; `exclusive` are some of `inclusive`.
pub(crate) fn metrics(report: &Report, inclusive: &[usize], exclusive: &[usize]) -> Vec<MetricRow> {
    let (all, own) = (gather(report, inclusive), gather(report, exclusive));
    let mut rows: Vec<MetricRow> = report
        .metric_names
        .iter()
        .zip(all.iter().zip(&own))
        .filter(|(_, (all, _))| all.listed)
        .map(|((_, name, unit), (all, own))| {
            let rule = all.rule(aggregate_rule(name, unit));
            let (inclusive, exclusive) = (all.aggregated(rule), own.aggregated(rule));
            MetricRow { name: name.to_owned(), unit: unit.to_owned(), rule, inclusive, exclusive }
        })
        .collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    drop_samples(&mut rows);
    rows
}

/// Samples of different intervals do not add up.
fn drop_samples(rows: &mut [MetricRow]) {
    let intervals = rows.iter().filter(|row| SAMPLING_INTERVALS.contains(&row.name.as_str()));
    let (mut inclusive, mut exclusive) = (false, false);
    for row in intervals {
        inclusive |= row.inclusive.varies();
        exclusive |= row.exclusive.varies();
    }
    for row in rows.iter_mut().filter(|row| row.name.starts_with(SAMPLES)) {
        row.inclusive.value.take_if(|_| inclusive);
        row.exclusive.value.take_if(|_| exclusive);
    }
}

/// The aggregate of each metric, by [`MetricId`].
fn gather<'a>(report: &'a Report, launches: &[usize]) -> Vec<Sums<'a>> {
    let mut sums = vec![Sums::default(); report.metric_names.len()];
    for launch in launches {
        let Some(measured) = report.results.get(*launch) else { continue };
        let time = time_ns(report, *launch);
        for Metric { name: MetricId(id), value, .. } in &measured.metrics {
            if let Some(sum) = sums.get_mut(*id as usize) {
                sum.add(value.as_ref(), time);
            }
        }
    }
    sums
}

/// How long the device took for a result, in nanoseconds.
pub(crate) fn time_ns(report: &Report, result: usize) -> Option<f64> {
    let measured = report.results.get(result)?;
    TIMES.iter().find_map(|name| {
        let value = report.value(measured, name)?.as_f64()?;
        let unit = match report.unit(name) {
            "" | "ns" | "nsecond" => 1.0,
            "us" | "usecond" => 1e3,
            "ms" | "msecond" => 1e6,
            "s" | "second" => 1e9,
            _ => return None,
        };
        Some(value * unit).filter(|time| time.is_finite() && *time >= 0.0)
    })
}

#[derive(Debug, Clone, Default)]
struct Sums<'a> {
    /// A launch lists the metric, with a value or without.
    listed: bool,
    launches: u64,
    first: Option<&'a Value>,
    differ: bool,
    has_text: bool,
    untimed: bool,
    /// As long as all are whole numbers and the sum is one.
    whole: Option<u64>,
    total: f64,
    weighted: f64,
    weight: f64,
    max: Option<&'a Value>,
    min: Option<&'a Value>,
}

impl<'a> Sums<'a> {
    fn add(&mut self, value: Option<&'a Value>, time: Option<f64>) {
        self.listed = true;
        // NaN does not count as a value.
        let Some(value) = value.filter(|value| value.as_f64().is_none_or(f64::is_finite)) else { return };
        self.launches += 1;
        self.differ |= self.first.is_some_and(|first| !is_same(first, value));
        let is_first = self.first.is_none();
        self.first.get_or_insert(value);
        let Some(number) = value.as_f64() else {
            self.has_text = true;
            return;
        };
        self.whole = match value {
            Value::Integer(value) if is_first => Some(*value),
            Value::Integer(value) => self.whole.and_then(|sum| sum.checked_add(*value)),
            _ => None,
        };
        self.total += number;
        match time {
            Some(time) => {
                self.weighted += number * time;
                self.weight += time;
            }
            None => self.untimed = true,
        }
        let beats = |best: Option<&Value>, than: fn(&f64, &f64) -> bool| {
            best.and_then(Value::as_f64).is_none_or(|best| than(&number, &best))
        };
        if beats(self.max, f64::gt) {
            self.max = Some(value);
        }
        if beats(self.min, f64::lt) {
            self.min = Some(value);
        }
    }

    /// The rule that these values allow.
    fn rule(&self, rule: AggregateRule) -> AggregateRule {
        match rule {
            AggregateRule::None => rule,
            _ if self.has_text => AggregateRule::Same,
            AggregateRule::TimeWeightedMean if self.launches > 0 && (self.untimed || self.weight <= 0.0) => {
                AggregateRule::Mean
            }
            _ => rule,
        }
    }

    fn aggregated(&self, rule: AggregateRule) -> Aggregated {
        let float = |value: f64| Some(Value::Float(value)).filter(|_| value.is_finite());
        let value = self.first.and_then(|first| match rule {
            AggregateRule::Sum => self.whole.map(Value::Integer).or_else(|| float(self.total)),
            AggregateRule::TimeWeightedMean => float(self.weighted / self.weight),
            AggregateRule::Mean => float(self.total / self.launches as f64),
            AggregateRule::Max => self.max.cloned(),
            AggregateRule::Min => self.min.cloned(),
            AggregateRule::Same => (!self.differ).then(|| first.clone()),
            AggregateRule::None => None,
        });
        Aggregated { value, launches: self.launches }
    }
}

/// Readers may give a whole number either way.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AggregateRule::{Max, Min, None, Same, Sum, TimeWeightedMean};

    fn sums<'a>(values: &'a [(Value, Option<f64>)]) -> Sums<'a> {
        let mut sums = Sums::default();
        values.iter().for_each(|(value, time)| sums.add(Some(value), *time));
        sums
    }

    #[test]
    fn values() {
        let [a, b] = [(Value::Integer(10), Some(1.0)), (Value::Integer(40), Some(3.0))];
        let both = [a.clone(), b];
        let value = |rule| sums(&both).aggregated(rule).value;
        assert_eq!(value(Sum), Some(Value::Integer(50)));
        assert_eq!(value(TimeWeightedMean), Some(Value::Float(32.5)));
        assert_eq!(value(AggregateRule::Mean), Some(Value::Float(25.0)));
        assert_eq!((value(Max), value(Min)), (Some(Value::Integer(40)), Some(Value::Integer(10))));
        assert_eq!((value(Same), value(None)), (Option::None, Option::None));
        assert_eq!(sums(&[a.clone(), a]).aggregated(Same).value, Some(Value::Integer(10)));
    }

    #[test]
    fn odd_values() {
        let largest = [(Value::Integer(u64::MAX), Some(1.0)), (Value::Integer(1), Some(1.0))];
        assert_eq!(sums(&largest).aggregated(Sum).value, Some(Value::Float(u64::MAX as f64)));
        let mixed = [
            (Value::Integer(1), Some(0.0)),
            (Value::Float(f64::NAN), Some(1.0)),
            (Value::Float(0.5), Some(0.0)),
        ];
        let mixed = sums(&mixed);
        assert_eq!(mixed.rule(TimeWeightedMean), AggregateRule::Mean);
        assert_eq!(mixed.aggregated(Sum), Aggregated { value: Some(Value::Float(1.5)), launches: 2 });
        let text = [(Value::Text("a".into()), Some(1.0)), (Value::Integer(1), Some(1.0))];
        assert_eq!(sums(&text).rule(Sum), Same);
        assert_eq!(sums(&text).aggregated(Same).value, Option::None);
        let untimed = [(Value::Float(1.0), Some(9.0)), (Value::Float(2.0), Option::None)];
        assert_eq!(sums(&untimed).rule(TimeWeightedMean), AggregateRule::Mean);
        assert_eq!(sums(&[]).aggregated(Sum), Aggregated::default());
    }

    #[test]
    fn samples_of_different_intervals_do_not_add_up() {
        let row = |name: &str, inclusive, exclusive| {
            let part = |value| Aggregated { value, launches: 2 };
            let (name, unit) = (name.to_owned(), String::new());
            MetricRow { name, unit, rule: Sum, inclusive: part(inclusive), exclusive: part(exclusive) }
        };
        let five = || Some(Value::Integer(5));
        let mut rows = [
            row("inst_executed", five(), five()),
            row("smsp__pcsamp_interval", Option::None, five()),
            row("smsp__pcsamp_warps_issue_stalled_wait", five(), five()),
        ];
        drop_samples(&mut rows);
        assert_eq!((&rows[0].inclusive.value, &rows[2].inclusive.value), (&five(), &Option::None));
        assert_eq!(rows[2].exclusive.value, five());
    }
}
