//! `cargo xtask bench`: figures of time, as ratios measured side by side.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::shell::{cargo, quietly, root};

/// One line of the table.
struct Row {
    what: &'static str,
    measured: String,
    bound: String,
    fine: bool,
}

pub fn main() -> Result<ExitCode> {
    let built = cargo().args(["build", "--release", "--quiet"]).status()?;
    ensure!(built.success(), "the release build failed");
    let program = root().join("target/release/rangefinder");
    let folder = root().join("target/bench");
    if folder.exists() {
        fs_err::remove_dir_all(&folder)?;
    }
    fs_err::create_dir_all(&folder)?;
    let rows = [flood(&program, &folder)?, start(&program, &folder)?];
    println!("Machine: {}.\n", machine());
    println!("| what | measured | bound | |\n|---|---|---|---|");
    for row in &rows {
        println!(
            "| {} | {} | {} | {} |",
            row.what,
            row.measured,
            row.bound,
            if row.fine { "met" } else { "NOT MET" }
        );
    }
    fs_err::remove_dir_all(&folder)?;
    let fine = rows.iter().all(|row| row.fine);
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A workload that prints a gigabyte, against `workload | tee file > /dev/null`.
fn flood(program: &Path, folder: &Path) -> Result<Row> {
    let flood = compile_flood(folder)?;
    let script = format!("'{}' 1024 | tee out.txt > /dev/null", flood.display());
    let mut tee = || {
        let took = time(Command::new("sh").args(["-c", &script]).current_dir(folder));
        fs_err::remove_file(folder.join("out.txt"))?;
        took
    };
    let mut ours = || {
        let mut command = Command::new(program);
        command.args(["run", "--quiet", "--preset", "off", "--"]).arg(&flood).arg("1024").current_dir(folder);
        let took = time(&mut command);
        fs_err::remove_dir_all(folder.join("runs"))?;
        took
    };
    let (tee, ours) = interleaved(15, &mut tee, &mut ours)?;
    let ratio = ours.median.as_secs_f64() / tee.median.as_secs_f64();
    let best = ours.least.as_secs_f64() / tee.least.as_secs_f64();
    Ok(Row {
        what: "a workload that prints 1 GiB, against `workload \\| tee file > /dev/null`",
        measured: format!("{ratio:.2}x by medians, {best:.2}x by minima of 15"),
        bound: "at most 1.15x".to_owned(),
        fine: ratio <= 1.15,
    })
}

/// What `rangefinder run` with every capture off adds to `true`.
fn start(program: &Path, folder: &Path) -> Result<Row> {
    let mut plain = || time(&mut Command::new("true"));
    let mut ours = || {
        let mut command = Command::new(program);
        time(command.args(["run", "--quiet", "--preset", "off", "--", "true"]).current_dir(folder))
    };
    let (plain, ours) = interleaved(21, &mut plain, &mut ours)?;
    let added = ours.median.saturating_sub(plain.median);
    Ok(Row {
        what: "what `rangefinder run --preset off` adds to `true`",
        measured: format!("{:.0} ms by medians of 21", added.as_secs_f64() * 1e3),
        bound: "under 150 ms".to_owned(),
        fine: added < Duration::from_millis(150),
    })
}

fn compile_flood(folder: &Path) -> Result<PathBuf> {
    let source = root().join("crates/rangefinder/tests/hazards/flood.c");
    let program = folder.join("flood");
    quietly(Command::new("cc").args(["-O1", "-o"]).args([&program, &source]))?;
    Ok(program)
}

fn time(command: &mut Command) -> Result<Duration> {
    // What an earlier measurement left to be written must not slow this one.
    quietly(&mut Command::new("sync"))?;
    let clock = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(clock.elapsed())
}

struct Times {
    least: Duration,
    median: Duration,
}

/// Measures two things in turn, changing who goes first from round to round.
fn interleaved(
    rounds: usize,
    first: &mut dyn FnMut() -> Result<Duration>,
    second: &mut dyn FnMut() -> Result<Duration>,
) -> Result<(Times, Times)> {
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        if round % 2 == 0 {
            firsts.push(first()?);
            seconds.push(second()?);
        } else {
            seconds.push(second()?);
            firsts.push(first()?);
        }
    }
    Ok((Times::of(firsts), Times::of(seconds)))
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { least: times[0], median: times[times.len() / 2] }
    }
}

fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores", model.trim_start_matches(['\t', ' ', ':']))
}
