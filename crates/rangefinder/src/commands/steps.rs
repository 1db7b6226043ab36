//! `rangefinder steps`: for `python -m rangefinder.fleet`, which asks a dataset for one number from each run and has the
//! changes over time decided here, by the statistics of `check`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use ::analysis::compare::{Verdict, steps};
use anyhow::{Context, Result, bail};
use run::Exit;
use serde::{Deserialize, Serialize};

use crate::cli::StepsArguments;
use crate::print::print_as_is;

/// Names of kernels are long; nothing else is.
const LONGEST_LINE: u64 = 1 << 20;
/// All of it is in memory.
const MOST_BYTES: u64 = 512 << 20;

/// One run's number.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    program: String,
    metric: String,
    run: String,
    /// When the run began, since 1970.
    begun_us: Option<i64>,
    ns: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Change<'a> {
    program: &'a str,
    metric: &'a str,
    verdict: &'static str,
    since_us: i64,
    first_run: &'a str,
    before_us: f64,
    after_us: f64,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    runs_before: u64,
    runs_after: u64,
}

/// By program and metric: when each run began, which it is, and its number.
type Rows = BTreeMap<(String, String), Vec<(i64, String, f64)>>;

pub(crate) fn main(arguments: &StepsArguments) -> Result<Exit> {
    let rows = read(io::stdin().lock())?;
    print_as_is(&changes(&rows, arguments.margin)?)?;
    Ok(Exit::Complete)
}

fn read(input: impl BufRead) -> Result<Rows> {
    let mut input = input.take(MOST_BYTES + 1);
    let (mut rows, mut line, mut read) = (Rows::new(), Vec::new(), 0);
    for number in 1.. {
        line.clear();
        let length = input.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line);
        let length = length.context("cannot read standard input")? as u64;
        read += length;
        if length == 0 {
            break;
        }
        if read > MOST_BYTES {
            bail!("standard input is longer than {} MiB\nhint: ask about fewer days", MOST_BYTES >> 20);
        }
        if length > LONGEST_LINE {
            bail!("line {number} of standard input is longer than {} MiB", LONGEST_LINE >> 20);
        }
        let value: Value = serde_json::from_slice(&line).map_err(|error| {
            anyhow::anyhow!("line {number} of standard input is not a run's number: {error}")
        })?;
        let (Some(begun), Some(ns)) = (value.begun_us, value.ns.filter(|ns| *ns > 0.0)) else { continue };
        rows.entry((value.program, value.metric)).or_default().push((begun, value.run, ns));
    }
    // In the order of time, whatever the engine did.
    for row in rows.values_mut() {
        row.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)).then(a.2.total_cmp(&b.2)));
    }
    Ok(rows)
}

fn changes(rows: &Rows, margin: f64) -> Result<String> {
    let values: Vec<Vec<f64>> = rows.values().map(|row| row.iter().map(|run| run.2).collect()).collect();
    let mut lines = String::new();
    for (((program, metric), row), found) in rows.iter().zip(steps(&values, margin)) {
        for step in found {
            let (since_us, first_run, _) = &row[step.at];
            let decision = &step.decision;
            let change = Change {
                program,
                metric,
                verdict: if decision.verdict == Verdict::Slower { "slower" } else { "faster" },
                since_us: *since_us,
                first_run,
                before_us: rounded(decision.values[0] / 1e3, 3),
                after_us: rounded(decision.values[1] / 1e3, 3),
                ratio: rounded(decision.ratio, 4),
                low: decision.low.map(|low| rounded(low, 4)),
                high: decision.high.map(|high| rounded(high, 4)),
                runs_before: decision.processes[0],
                runs_after: decision.processes[1],
            };
            lines.push_str(&serde_json::to_string(&change)?);
            lines.push('\n');
        }
    }
    Ok(lines)
}

fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}
