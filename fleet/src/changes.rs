//! Values over time, and when they changed: each run one number, by the statistics that `rangefinder check` decides with.

use std::sync::Arc;

use analysis::compare::{Verdict, steps};
use anyhow::{Context, Result};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Builder, RecordBatch, StringArray, StringBuilder,
    TimestampNanosecondBuilder, UInt64Builder,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, TimeUnit, TimestampNanosecondType};

/// A metric of a program, run by run in the order of time.
struct Row {
    program: String,
    metric: String,
    /// The run, when it began, and the value.
    runs: Vec<(String, i64, f64)>,
}

/// The changes in rows of `program, metric, run, begun, ns`, which are in this order.
pub fn changes(batches: &[RecordBatch], margin: f64) -> Result<RecordBatch> {
    let mut rows: Vec<Row> = Vec::new();
    for batch in batches {
        let column = |name: &str, kind: &DataType| -> Result<ArrayRef> {
            let found =
                batch.column_by_name(name).with_context(|| format!("the query has no column `{name}`"))?;
            Ok(cast(found, kind)?)
        };
        let texts = |name: &str| -> Result<StringArray> {
            Ok(column(name, &DataType::Utf8)?.as_string::<i32>().clone())
        };
        let (programs, metrics, runs) = (texts("program")?, texts("metric")?, texts("run")?);
        let begun = column("begun", &DataType::Timestamp(TimeUnit::Nanosecond, None))?;
        let begun = begun.as_primitive::<TimestampNanosecondType>();
        let values = column("ns", &DataType::Float64)?;
        let values = values.as_primitive::<Float64Type>();
        for at in (0..batch.num_rows())
            .filter(|at| values.is_valid(*at) && values.value(*at) > 0.0 && begun.is_valid(*at))
        {
            let (program, metric) = (programs.value(at), metrics.value(at));
            if rows.last().is_none_or(|row| row.program != program || row.metric != metric) {
                let (program, metric) = (program.to_owned(), metric.to_owned());
                rows.push(Row { program, metric, runs: Vec::new() });
            }
            if let Some(row) = rows.last_mut() {
                row.runs.push((runs.value(at).to_owned(), begun.value(at), values.value(at)));
            }
        }
    }
    let values: Vec<Vec<f64>> = rows.iter().map(|row| row.runs.iter().map(|run| run.2).collect()).collect();
    let found = steps(&values, margin);
    let mut table = Table::default();
    for (row, steps) in rows.iter().zip(found) {
        for step in steps {
            let (run, begun, _) = &row.runs[step.at];
            let decision = &step.decision;
            table.program.append_value(&row.program);
            table.metric.append_value(&row.metric);
            table.verdict.append_value(if decision.verdict == Verdict::Slower { "slower" } else { "faster" });
            table.since.append_value(*begun);
            table.first_run.append_value(run);
            table.before_us.append_value(rounded(decision.values[0] / 1e3, 3));
            table.after_us.append_value(rounded(decision.values[1] / 1e3, 3));
            table.ratio.append_value(rounded(decision.ratio, 4));
            table.low.append_option(decision.low.map(|low| rounded(low, 4)));
            table.high.append_option(decision.high.map(|high| rounded(high, 4)));
            table.runs_before.append_value(decision.processes[0]);
            table.runs_after.append_value(decision.processes[1]);
        }
    }
    table.batch()
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}

#[derive(Default)]
struct Table {
    program: StringBuilder,
    metric: StringBuilder,
    verdict: StringBuilder,
    since: TimestampNanosecondBuilder,
    first_run: StringBuilder,
    before_us: Float64Builder,
    after_us: Float64Builder,
    ratio: Float64Builder,
    low: Float64Builder,
    high: Float64Builder,
    runs_before: UInt64Builder,
    runs_after: UInt64Builder,
}

impl Table {
    fn batch(mut self) -> Result<RecordBatch> {
        let since = cast(&self.since.finish(), &DataType::Timestamp(TimeUnit::Second, None))?;
        let columns: [(&str, ArrayRef); 12] = [
            ("program", Arc::new(self.program.finish())),
            ("metric", Arc::new(self.metric.finish())),
            ("verdict", Arc::new(self.verdict.finish())),
            ("since", since),
            ("first_run", Arc::new(self.first_run.finish())),
            ("before_us", Arc::new(self.before_us.finish())),
            ("after_us", Arc::new(self.after_us.finish())),
            ("ratio", Arc::new(self.ratio.finish())),
            ("low", Arc::new(self.low.finish())),
            ("high", Arc::new(self.high.finish())),
            ("runs_before", Arc::new(self.runs_before.finish())),
            ("runs_after", Arc::new(self.runs_after.finish())),
        ];
        Ok(RecordBatch::try_from_iter(columns)?)
    }
}
