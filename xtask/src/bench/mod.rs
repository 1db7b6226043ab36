//! `cargo xtask bench`: figures of time, as ratios measured side by side.

mod against;
mod alarms;
mod analysis;
mod bounds;
mod counters;
mod diff;
mod export;
mod reports;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

pub use analysis::measure_main;

use crate::shell::{cargo, quietly, root, tools_folder};

/// One line of the table.
struct Row {
    what: &'static str,
    measured: String,
    bound: String,
    fine: bool,
}

/// What is measured.
#[derive(Clone, PartialEq, Eq)]
pub enum Section {
    All,
    /// Reading reports of ncu.
    Counters,
    /// From a trace to the files of its report.
    Reports,
    /// The same as the number of regions grows.
    Bounds,
    /// Two traces against one.
    Diff,
    /// A dataset against a document.
    Export,
    /// Comparisons of a program with itself.
    Alarms,
    /// This tree against an earlier binary.
    Against(PathBuf),
}

/// Where everything that is measured lies, and runs.
fn place() -> PathBuf {
    root().join("target/bench")
}

pub fn main(section: Section) -> Result<ExitCode> {
    let folder = place();
    if folder.exists() {
        fs_err::remove_dir_all(&folder)?;
    }
    fs_err::create_dir_all(&folder)?;
    let wanted = |part| section == Section::All || section == part;
    let (mut rows, mut parts) = (Vec::new(), String::new());
    if section == Section::All {
        rows.extend(whole_program(&folder)?);
    }
    if wanted(Section::Counters) {
        rows.extend(counters::rows(&folder)?);
    }
    if wanted(Section::Reports) {
        let (more, table) = reports::rows(&folder)?;
        rows.extend(more);
        parts = format!("\n{table}");
    }
    if wanted(Section::Bounds) {
        let (more, table) = bounds::rows(&release()?, &folder)?;
        rows.extend(more);
        parts.push_str(&format!("\n{table}"));
    }
    if wanted(Section::Diff) {
        rows.extend(diff::rows(&folder)?);
    }
    if wanted(Section::Export) {
        rows.extend(export::rows(&folder)?);
    }
    // Takes as long as all the others together.
    if section == Section::Alarms {
        rows.extend(alarms::rows(&folder)?);
    }
    if let Section::Against(before) = &section {
        rows.extend(against::rows(before, &folder)?);
    }
    println!("Machine: {}.\n", machine());
    println!("| what | measured | bound | |\n|---|---|---|---|");
    for row in &rows {
        println!(
            "| {} | {} | {} | {} |",
            row.what,
            row.measured,
            row.bound,
            if row.fine { "met" } else { "not met" }
        );
    }
    print!("{parts}");
    fs_err::remove_dir_all(&folder)?;
    let fine = rows.iter().all(|row| row.fine || row.bound.starts_with("target"));
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the binary itself does.
fn whole_program(folder: &Path) -> Result<Vec<Row>> {
    let program = release()?;
    let mut rows = vec![flood(&program, folder)?, start(&program, folder)?];
    rows.extend(tracer(&program, folder)?);
    rows.extend(analysis::rows(&program, folder)?);
    Ok(rows)
}

/// The binary, as released.
fn release() -> Result<PathBuf> {
    let built = cargo().args(["build", "--release", "--quiet"]).status()?;
    ensure!(built.success(), "the release build failed");
    Ok(root().join("target/release/rangefinder"))
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

/// A C program of the tests, built with the NVTX header.
fn nvtx_program(folder: &Path, name: &str) -> Result<PathBuf> {
    let include = tools_folder().join("python/nvidia-nvtx-12.9.79/nvidia/nvtx/include");
    ensure!(include.exists(), "the NVTX header is missing\nhint: cargo xtask tools");
    let (built, source) =
        (folder.join(name), root().join(format!("crates/rangefinder/tests/programs/{name}.c")));
    quietly(
        Command::new("cc").args(["-O2", "-I"]).arg(include).arg("-o").args([&built, &source]).arg("-ldl"),
    )?;
    Ok(built)
}

/// What an NVTX push and pop cost under our tracer, against nsys on the same program.
fn tracer(program: &Path, folder: &Path) -> Result<Vec<Row>> {
    let pairs = nvtx_program(folder, "pairs")?;
    let measure = |command: &mut Command| printed_number(command.current_dir(folder));
    let versions = ["2022.4.2", "2023.4.4"];
    let (mut plain, mut ours, mut ten_million) = (f64::MAX, f64::MAX, f64::MAX);
    let mut nsys = [f64::MAX; 2];
    let mut bytes_per_event = 0.0;
    for _ in 0..5 {
        plain = plain.min(measure(Command::new(&pairs).arg("1000000"))?);
        let traced = |number: &str| {
            let mut command = Command::new(program);
            command.args(["run", "--quiet", "--preset", "off", "--"]).arg(&pairs).arg(number);
            measure(&mut command)
        };
        ours = ours.min(traced("1000000")?);
        bytes_per_event = trace_bytes(folder)? as f64 / 2e6;
        fs_err::remove_dir_all(folder.join("runs"))?;
        ten_million = ten_million.min(traced("10000000")?);
        fs_err::remove_dir_all(folder.join("runs"))?;
        for (version, best) in versions.iter().zip(&mut nsys) {
            let tool = tools_folder().join(format!("nsys-{version}/usr/bin/nsys"));
            let mut command = Command::new(tool);
            command.args([
                "profile",
                "-t",
                "nvtx",
                "--sample=none",
                "--cpuctxsw=none",
                "-f",
                "true",
                "-o",
                "n",
            ]);
            *best = best.min(measure(command.arg(&pairs).arg("1000000"))?);
        }
    }
    let added = ours - plain;
    let mut rows: Vec<Row> = versions
        .iter()
        .zip(nsys)
        .map(|(version, nsys)| {
            let share = added / (nsys - plain);
            Row {
                what: "what a push/pop pair costs under the tracer, against nsys",
                measured: format!(
                    "{added:.0} ns, {share:.3} of the {:.0} ns under nsys {version} (minima of 5)",
                    nsys - plain
                ),
                bound: "at most 1/8".to_owned(),
                fine: share <= 0.125,
            }
        })
        .collect();
    rows.push(Row {
        what: "the same, 10 million pairs",
        measured: format!("{:.0} ns (minimum of 5)", ten_million - plain),
        bound: "target 60 ns".to_owned(),
        fine: ten_million - plain <= 60.0,
    });
    rows.push(Row {
        what: "trace file, a push or a pop",
        measured: format!("{bytes_per_event:.1} bytes"),
        bound: "under 24 bytes".to_owned(),
        fine: bytes_per_event < 24.0,
    });
    Ok(rows)
}

/// The time that a program tells of itself.
fn printed_number(command: &mut Command) -> Result<f64> {
    let output = command.stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .find_map(|line| line.trim().parse().ok())
        .with_context(|| format!("{command:?} printed no time"))
}

/// The size of the traces of the only run there is.
fn trace_bytes(folder: &Path) -> Result<u64> {
    let mut total = 0;
    for run in fs_err::read_dir(folder.join("runs"))?.flatten().filter(|entry| entry.path().is_dir()) {
        for file in fs_err::read_dir(run.path().join("rehearsal"))?.flatten() {
            if file.path().extension().is_some_and(|extension| extension == "rft") {
                total += file.metadata()?.len();
            }
        }
    }
    Ok(total)
}

/// An example of a package, as released.
fn example(package: &str, name: &str) -> Result<PathBuf> {
    let built = cargo()
        .args(["build", "--release", "--quiet", "--package", package, "--example", name])
        .status()
        .context("cannot start cargo")?;
    ensure!(built.success(), "the release build failed");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("release/examples").join(name))
}

fn compile_flood(folder: &Path) -> Result<PathBuf> {
    let source = root().join("crates/rangefinder/tests/hazards/flood.c");
    let program = folder.join("flood");
    quietly(Command::new("cc").args(["-O1", "-o"]).args([&program, &source]))?;
    Ok(program)
}

fn time(command: &mut Command) -> Result<Duration> {
    // Pending writes of an earlier measurement must not slow this one.
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
