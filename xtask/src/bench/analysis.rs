//! `rangefinder analyze` against `nsys stats` and Python's `json`, on the same files.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::Row;
use crate::generate::{write_kineto, write_nsys};
use crate::shell::tools_folder;

/// The reports that together cover part of what `analyze` reports.
const REPORTS: [&str; 3] = ["gpukernsum", "kernexecsum", "nvtxkernsum"];
const GIGABYTE: u64 = 1_000_000_000;

/// How long a command took, and its largest resident size.
pub(super) struct Measured {
    pub(super) seconds: f64,
    pub(super) megabytes: f64,
}

pub(super) fn rows(program: &Path, folder: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut curve = Vec::new();
    for kernels in [100_000, 1_000_000, 10_000_000] {
        eprintln!("analyze, {kernels} kernels ...");
        let file = folder.join("made-up.sqlite");
        write_nsys(&file, kernels, None)?;
        let ours = analyze(program, &file, 3)?;
        if kernels == 1_000_000 {
            rows.extend(against_nsys(&ours, &file)?);
        }
        if kernels == 10_000_000 {
            rows.push(Row {
                what: "`analyze`, 10 million kernels, 10 million calls, 5 million ranges",
                measured: format!("{:.1} s, {:.0} MB", ours.seconds, ours.megabytes),
                bound: "under 30 s and 3 GB".to_owned(),
                fine: ours.seconds < 30.0 && ours.megabytes < 3000.0,
            });
        }
        curve.push((kernels as f64, ours.seconds));
        fs_err::remove_file(&file)?;
    }
    rows.push(growth(&curve));
    rows.push(kineto(program, folder)?);
    Ok(rows)
}

fn against_nsys(ours: &Measured, file: &Path) -> Result<Vec<Row>> {
    let nsys = tools_folder().join("nsys-2022.4.2/repaired/target-linux-x64/nsys");
    ensure!(nsys.exists(), "nsys 2022.4.2 is missing\nhint: cargo xtask tools");
    let libraries = tools_folder().join("nsys-libraries");
    let path = format!("{}:{}/usr/lib/x86_64-linux-gnu", libraries.display(), libraries.display());
    let mut seconds = 0.0;
    for report in REPORTS {
        eprintln!("nsys stats {report} ...");
        let mut command = vec![nsys.display().to_string()];
        command.extend(
            ["stats", "--report", report, "--format", "csv", "--force-overwrite", "true", "-o"]
                .map(str::to_owned),
        );
        command.extend([file.with_extension("stats").display().to_string(), file.display().to_string()]);
        seconds += measure(&command, &[("LD_LIBRARY_PATH", &path)])?.seconds;
    }
    let ratio = seconds / ours.seconds;
    Ok(vec![
        Row {
            what: "`analyze`, 1 million kernels, against three reports of `nsys stats` 2022.4.2",
            measured: format!("{:.2} s, {ratio:.0}x as fast as {seconds:.1} s", ours.seconds),
            bound: "at least 20x".to_owned(),
            fine: ratio >= 20.0,
        },
        Row {
            what: "the same, peak memory",
            measured: format!("{:.0} MB", ours.megabytes),
            bound: "under 400 MB".to_owned(),
            fine: ours.megabytes < 400.0,
        },
    ])
}

/// At most n log n from the smallest to the largest.
fn growth(curve: &[(f64, f64)]) -> Row {
    let shown: Vec<String> =
        curve.iter().map(|(kernels, seconds)| format!("{kernels:.0}: {seconds:.2} s")).collect();
    let (first, last) = (curve[0], curve[curve.len() - 1]);
    let allowed = (last.0 * last.0.ln()) / (first.0 * first.0.ln());
    let grown = last.1 / first.1;
    Row {
        what: "`analyze`, how its time grows with the number of kernels",
        measured: format!("{}; {grown:.0}x", shown.join(", ")),
        bound: format!("n log n: {allowed:.0}x"),
        fine: grown <= allowed,
    }
}

fn kineto(program: &Path, folder: &Path) -> Result<Row> {
    eprintln!("analyze, 1 GB of Kineto JSON ...");
    let file = folder.join("made-up.json");
    write_kineto(&file, GIGABYTE)?;
    let ours = analyze(program, &file, 2)?;
    let load = "import json, sys\njson.load(open(sys.argv[1]))".to_owned();
    let python = crate::python::interpreter()?.display().to_string();
    let theirs = measure(&[python, "-c".to_owned(), load, file.display().to_string()], &[])?;
    fs_err::remove_file(&file)?;
    let ratio = theirs.seconds / ours.seconds;
    Ok(Row {
        what: "`analyze`, 1 GB of Kineto JSON, against Python's `json.load` alone",
        measured: format!(
            "{:.1} s and {:.0} MB, {ratio:.1}x as fast as {:.1} s and {:.0} MB",
            ours.seconds, ours.megabytes, theirs.seconds, theirs.megabytes
        ),
        bound: "at least 5x, under 1 GB".to_owned(),
        fine: ratio >= 5.0 && ours.megabytes < 1000.0,
    })
}

/// The best of a few.
fn analyze(program: &Path, file: &Path, times: usize) -> Result<Measured> {
    let command =
        [program.display().to_string(), "analyze".into(), "--json".into(), file.display().to_string()];
    let mut best = measure(&command, &[])?;
    for _ in 1..times {
        let again = measure(&command, &[])?;
        best.seconds = best.seconds.min(again.seconds);
        best.megabytes = best.megabytes.max(again.megabytes);
    }
    Ok(best)
}

/// Runs a command below a process of our own that has no other child, so that the usage of its children is
/// that of the command.
pub(super) fn measure(command: &[String], variables: &[(&str, &str)]) -> Result<Measured> {
    let output = Command::new(std::env::current_exe()?)
        .arg("measure")
        .args(command)
        .current_dir(super::place())
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "{command:?} failed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
    let (Some(seconds), Some(megabytes)) = (numbers.next(), numbers.next()) else {
        anyhow::bail!("{command:?} was not measured: {text}");
    };
    Ok(Measured { seconds, megabytes })
}

/// The other half of [`measure`].
pub fn measure_main(command: &[&str]) -> Result<bool> {
    let (program, arguments) = command.split_first().context("nothing to measure")?;
    let clock = std::time::Instant::now();
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).status()?;
    let seconds = clock.elapsed().as_secs_f64();
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)?;
    println!("{seconds} {}", usage.max_rss() as f64 * 1024.0 / 1e6);
    Ok(status.success())
}
