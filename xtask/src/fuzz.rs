//! `cargo xtask fuzz`: every parser against libFuzzer, for a stated time each.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::shell::{cargo, quietly, root, tools_folder};

const VERSION: &str = "0.13.2";
const DEFAULT_SECONDS: u64 = 60;
/// Libraries of others in these let numbers wrap around, which only debug assertions mind.
const WRAPPING: [&str; 1] = ["unwind"];
/// Long inputs are what these are about.
const LONG: [&str; 1] = ["names"];

/// The result of one target.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    executions: u64,
    seconds: u64,
    /// Edges of the program that were reached, and how many it has.
    reached: u64,
    edges: u64,
    /// Inputs worth keeping.
    corpus: u64,
}

pub fn main(words: &[&str]) -> Result<ExitCode> {
    let (mut seconds, mut wanted) = (DEFAULT_SECONDS, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--seconds" => {
                let value = words.next().context("--seconds needs a number")?;
                seconds = value.parse().with_context(|| format!("`{value}` is not a number of seconds"))?;
            }
            name => wanted.push(name),
        }
    }
    let targets = targets()?;
    if let Some(unknown) = wanted.iter().find(|name| !targets.iter().any(|target| target == *name)) {
        bail!("unknown target `{unknown}`\nhint: targets: {}", targets.join(", "));
    }
    let program = cargo_fuzz()?;
    let mut clean = true;
    println!("{:10} {:>12} {:>8} {:>22} {:>7}", "target", "executions", "seconds", "edges reached", "inputs");
    for target in targets.iter().filter(|target| wanted.is_empty() || wanted.contains(&target.as_str())) {
        let (tally, fine) = fuzz(&program, target, seconds)?;
        let edges = format!("{} of {}", tally.reached, tally.edges);
        let end = if fine { "" } else { "  FAILED" };
        println!(
            "{target:10} {:>12} {:>8} {edges:>22} {:>7}{end}",
            tally.executions, tally.seconds, tally.corpus
        );
        clean &= fine;
    }
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One file a target.
fn targets() -> Result<Vec<String>> {
    let mut names: Vec<String> = fs_err::read_dir(root().join("fuzz/fuzz_targets"))?
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// The one that is there, or one built under `target/`.
fn cargo_fuzz() -> Result<PathBuf> {
    let folder = tools_folder().join(format!("cargo-fuzz-{VERSION}"));
    let program = folder.join("bin/cargo-fuzz");
    if !program.exists() {
        eprintln!("cargo-fuzz {VERSION}: installing ...");
        let install = ["install", "cargo-fuzz", "--locked", "--version", VERSION, "--root"];
        quietly(cargo().args(install).arg(&folder))?;
    }
    Ok(program)
}

/// New inputs go below `target/`; only a smaller corpus of them is worth committing.
fn fuzz(program: &Path, target: &str, seconds: u64) -> Result<(Tally, bool)> {
    let found = root().join("target/fuzz").join(target);
    let (new, faults) = (found.join("corpus"), found.join("faults/"));
    fs_err::create_dir_all(&new)?;
    fs_err::create_dir_all(&faults)?;
    let mut child = Command::new(program)
        .current_dir(root())
        // The stable compiler can do this, but has to be told.
        .env("RUSTC_BOOTSTRAP", "1")
        // Safe code needs no address sanitizer, and is faster without.
        .args(["fuzz", "run", "--sanitizer", "none", "--target-dir", "target/fuzz/build"])
        .args(WRAPPING.contains(&target).then_some("--release"))
        .arg(target)
        .args([new, root().join("fuzz/corpus").join(target)])
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}", faults.display()))
        .args(["-timeout=10", "-rss_limit_mb=2048"])
        .args(if LONG.contains(&target) {
            ["-max_len=1048576", "-len_control=0"]
        } else {
            ["-max_len=65536"; 2]
        })
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start cargo-fuzz")?;
    let mut tally = Tally::default();
    let mut last = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).lines() {
            let line = line?;
            read(&line, &mut tally);
            last.push(line);
            if last.len() > 60 {
                last.remove(0);
            }
        }
    }
    let fine = child.wait()?.success();
    if !fine {
        eprintln!("{}", last.join("\n"));
    }
    Ok((tally, fine))
}

/// `#123 DONE cov: 45 ft: 67 corp: 8/90b …`, `Done 123 runs in 4 second(s)`,
/// `INFO: Loaded 1 modules (99 inline 8-bit counters): …`
fn read(line: &str, tally: &mut Tally) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let after = |word: &str| words.iter().position(|other| *other == word).and_then(|at| words.get(at + 1));
    let number = |text: Option<&&str>| text.and_then(|text| text.split('/').next()?.parse().ok());
    if let ["Done", runs, "runs", "in", seconds, ..] = words.as_slice() {
        tally.executions = runs.parse().unwrap_or(0);
        tally.seconds = seconds.parse().unwrap_or(0);
    }
    if line.contains("inline 8-bit counters") {
        let count = line.split('(').nth(1).and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        tally.edges = count.unwrap_or(tally.edges);
    }
    if line.starts_with('#') {
        tally.reached = number(after("cov:")).unwrap_or(tally.reached);
        tally.corpus = number(after("corp:")).unwrap_or(tally.corpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_libfuzzer_prints() {
        let mut tally = Tally::default();
        for line in [
            "INFO: Loaded 1 modules   (6132 inline 8-bit counters): 6132 [0x55, 0x56), ",
            "#16384\tpulse  cov: 310 ft: 900 corp: 80/4kb lim: 11 exec/s: 5461 rss: 40Mb",
            "#20000\tDONE   cov: 512 ft: 1333 corp: 130/9841b lim: 1580 exec/s: 1935 rss: 62Mb",
            "Done 20000 runs in 31 second(s)",
        ] {
            read(line, &mut tally);
        }
        assert_eq!(tally, Tally { executions: 20000, seconds: 31, reached: 512, edges: 6132, corpus: 130 });
    }
}
