//! `export` into a dataset, against `analyze` of the same trace.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::{Row, interleaved, release, time};
use crate::generate::{write_kineto, write_nsys};

const KERNELS: u64 = 1_000_000;
const KINETO_BYTES: u64 = 100_000_000;
const ROUNDS: usize = 11;

pub(super) fn rows(folder: &Path) -> Result<Vec<Row>> {
    let program = release()?;
    let [nsys, kineto] = ["made-up.sqlite", "made-up.json"].map(|name| folder.join(name));
    write_nsys(&nsys, KERNELS, None)?;
    write_kineto(&kineto, KINETO_BYTES)?;
    Ok(vec![
        row(
            "`export --parquet` of SQLite of nsys, 1 million kernels, against `analyze --json` of it",
            &program,
            &nsys,
        )?,
        row(
            "`export --parquet` of 100 MB of Kineto JSON, against `analyze --json` of it",
            &program,
            &kineto,
        )?,
    ])
}

fn row(what: &'static str, program: &Path, trace: &Path) -> Result<Row> {
    let dataset = trace.with_extension("dataset");
    let mut analyze =
        || time(Command::new(program).args(["analyze", "--json"]).arg(trace).stdout(Stdio::null()));
    let mut export = || {
        let mut command = Command::new(program);
        command.arg("export").arg("--parquet").arg(&dataset).arg(trace).stderr(Stdio::null());
        let took = time(&mut command);
        fs_err::remove_dir_all(&dataset)?;
        took
    };
    let (analyze, export) = interleaved(ROUNDS, &mut analyze, &mut export)?;
    let ratio = export.median.as_secs_f64() / analyze.median.as_secs_f64();
    let best = export.least.as_secs_f64() / analyze.least.as_secs_f64();
    Ok(Row {
        what,
        measured: format!("{ratio:.2}x by medians, {best:.2}x by minima of {ROUNDS}"),
        bound: "at most 1.5x".to_owned(),
        fine: ratio <= 1.5,
    })
}
