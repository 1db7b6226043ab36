//! This tree against an earlier binary of the same program: what became slower.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::analysis::measure;
use super::{Row, compile_flood, nvtx_program, release, trace_bytes};
use crate::generate::{write_kineto, write_nsys};

const MILLION: u64 = 1_000_000;
const KINETO_BYTES: u64 = 200_000_000;
const ROUNDS: usize = 11;
/// What a change may cost.
const MOST: f64 = 1.05;
/// Half a second of work, then half a second of waiting, in two functions.
const SAMPLED: &str = "\
import time
def work():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        sum(range(1000))
def wait():
    time.sleep(0.5)
work()
wait()
";

/// One way to use the program.
struct Use {
    what: &'static str,
    arguments: Vec<String>,
    rounds: usize,
}

pub(super) fn rows(before: &Path, folder: &Path) -> Result<Vec<Row>> {
    let before = std::path::absolute(before)?;
    ensure!(before.is_file(), "`{}` is not a file", before.display());
    let programs = [before, release()?];
    let mut rows = Vec::new();
    for case in uses(folder)? {
        eprintln!("{} ...", case.what);
        rows.push(compared(&case, &programs, folder)?);
    }
    rows.push(pair_of_calls(&programs, folder)?);
    rows.push(size(&programs)?);
    Ok(rows)
}

fn uses(folder: &Path) -> Result<Vec<Use>> {
    let [nsys, regions, kineto] =
        ["nsys.sqlite", "regions.sqlite", "kineto.json"].map(|name| folder.join(name));
    write_nsys(&nsys, MILLION, None)?;
    write_nsys(&regions, MILLION / 5, Some(MILLION / 10))?;
    write_kineto(&kineto, KINETO_BYTES)?;
    let flood = compile_flood(folder)?;
    let script = folder.join("sampled.py");
    fs_err::write(&script, SAMPLED)?;
    let python = crate::python::interpreter()?;
    let named = |path: &Path| path.display().to_string();
    let words = |text: &str, paths: &[&Path]| {
        text.split_whitespace().map(str::to_owned).chain(paths.iter().map(|path| named(path))).collect()
    };
    let mut prints: Vec<String> = words("run --quiet --preset off --", &[&flood]);
    prints.push("1024".to_owned());
    let out = folder.join("out");
    Ok(vec![
        Use {
            what: "`run --preset off -- true`",
            arguments: words("run --quiet --preset off -- true", &[]),
            // It takes a moment, of which half is waiting for the disk and for others.
            rounds: 13 * ROUNDS,
        },
        Use { what: "`run --preset off` of a workload that prints 1 GiB", arguments: prints, rounds: ROUNDS },
        Use {
            what: "`run --quick` of a Python program of one second",
            arguments: words("run --quiet --quick --", &[&python, &script]),
            rounds: ROUNDS,
        },
        Use {
            what: "`analyze --json`, SQLite of nsys with 1 million kernels",
            arguments: words("analyze --json", &[&nsys]),
            rounds: ROUNDS,
        },
        Use {
            what: "`analyze --json`, 200 MB of Kineto JSON",
            arguments: words("analyze --json", &[&kineto]),
            rounds: ROUNDS,
        },
        Use {
            what: "`analyze --out`, 200,000 kernels in 100,000 regions",
            arguments: [words("analyze --out", &[&out, &regions]), vec!["regions.fold=false".to_owned()]]
                .concat(),
            rounds: ROUNDS,
        },
        Use {
            what: "`diff` of two traces of 1 million kernels",
            arguments: words("diff", &[&nsys, &nsys]),
            rounds: 2 * ROUNDS,
        },
        Use {
            what: "`export --parquet` of 1 million kernels",
            arguments: words("export --parquet dataset", &[&nsys]),
            rounds: ROUNDS,
        },
    ])
}

/// Both take turns; of each round the ratio, so that a machine that changes its speed changes both.
fn compared(case: &Use, programs: &[PathBuf; 2], folder: &Path) -> Result<Row> {
    let mut measured: [Vec<(f64, f64)>; 2] = Default::default();
    for round in 0..case.rounds {
        for at in [round % 2, 1 - round % 2] {
            let command = [vec![programs[at].display().to_string()], case.arguments.clone()].concat();
            let took = measure(&command, &[])?;
            measured[at].push((took.seconds, took.megabytes));
            for left in ["runs", "out", "dataset"].map(|name| folder.join(name)) {
                if left.exists() {
                    fs_err::remove_dir_all(left)?;
                }
            }
        }
    }
    let of = |which: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        measured[1].iter().zip(&measured[0]).map(|(after, before)| which(after) / which(before)).collect()
    };
    let (time, memory) = (of(|took| took.0), of(|took| took.1));
    Ok(row(case.what, &time, Some(&memory)))
}

/// What a push and a pop cost, as the program itself tells.
fn pair_of_calls(programs: &[PathBuf; 2], folder: &Path) -> Result<Row> {
    eprintln!("pairs of push and pop ...");
    let pairs = nvtx_program(folder, "pairs")?;
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let mut took = [0.0; 2];
        for (program, took) in programs.iter().zip(&mut took) {
            let mut command = Command::new(program);
            command.args(["run", "--quiet", "--preset", "off", "--"]).arg(&pairs).arg("3000000");
            *took = super::printed_number(command.current_dir(folder))?;
            ensure!(trace_bytes(folder)? > 0, "nothing was recorded");
            fs_err::remove_dir_all(folder.join("runs"))?;
        }
        ratios.push(took[1] / took[0]);
    }
    Ok(row("a push/pop pair under the tracer, of 3 million", &ratios, None))
}

fn size(programs: &[PathBuf; 2]) -> Result<Row> {
    let [before, after] = [&programs[0], &programs[1]].map(|path| path.metadata().map(|found| found.len()));
    let (before, after) = (before? as f64, after? as f64);
    Ok(Row {
        what: "size of the binary",
        measured: format!("{:.3} ({:.1} MB, was {:.1} MB)", after / before, after / 1e6, before / 1e6),
        bound: format!("target {MOST}"),
        fine: after / before <= MOST,
    })
}

fn row(what: &'static str, time: &[f64], memory: Option<&[f64]>) -> Row {
    let [low, middle, high] = quartiles(time);
    let memory = memory.map_or(String::new(), |of| format!("; peak memory {:.2}", quartiles(of)[1]));
    Row {
        what,
        measured: format!("{middle:.3} (half of {} rounds: {low:.3} to {high:.3}){memory}", time.len()),
        bound: format!("at most {MOST}"),
        fine: middle <= MOST,
    }
}

fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| sorted[sorted.len() * quarter / 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slower_in_most_rounds_is_not_met() {
        let rounds = [1.2, 0.7, 1.1, 1.09, 1.08];
        assert!(!row("x", &rounds, None).fine);
        assert!(row("x", &[0.9, 1.0, 1.4], None).fine);
        assert_eq!(quartiles(&rounds), [1.08, 1.09, 1.1]);
    }
}
