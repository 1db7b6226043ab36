//! `cargo xtask test`: runs every check and counts the tests.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::generate::write_nsys;
use crate::shell::{cargo, root, tools_folder};
use crate::tools;

/// Building everything from nothing takes less, and so does every test.
const LONGEST_SILENCE: Duration = Duration::from_secs(25 * 60);

/// A workspace of its own.
struct Leaf {
    name: &'static str,
    manifest: &'static str,
    target: &'static str,
    targets: &'static [&'static str],
}

const LEAVES: [Leaf; 1] = [Leaf {
    name: "the tracer",
    manifest: "crates/tracer/Cargo.toml",
    target: "target/tracer",
    targets: &[],
}];

impl Leaf {
    fn is_formatted(&self) -> Result<bool> {
        check(
            &format!("formatting of {}", self.name),
            &["fmt", "--all", "--manifest-path", self.manifest, "--check"],
        )
    }

    fn is_clean(&self) -> Result<bool> {
        let place = ["--manifest-path", self.manifest, "--target-dir", self.target];
        let arguments =
            [&["clippy"], &place[..], self.targets, &["--quiet", "--", "-D", "warnings"]].concat();
        check(&format!("clippy of {}", self.name), &arguments)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

pub fn main(allow_missing: bool, extra: &[&str]) -> Result<ExitCode> {
    let missing = tools::fetch_all()?;
    if !missing.is_empty() && !allow_missing {
        eprintln!("missing tools: {} (use --allow-missing to test without them)", missing.join(", "));
        println!("tests: 0 passed, 1 failed, 0 skipped");
        return Ok(ExitCode::FAILURE);
    }
    generate()?;
    let formatted = check("formatting", &["fmt", "--all", "--check"])?
        & LEAVES.iter().map(Leaf::is_formatted).collect::<Result<Vec<_>>>()?.into_iter().all(|fine| fine);
    let linted =
        check("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])?
            & LEAVES.iter().map(Leaf::is_clean).collect::<Result<Vec<_>>>()?.into_iter().all(|fine| fine);
    let skips = root().join("target/test-skips");
    if skips.exists() {
        fs_err::remove_dir_all(&skips)?;
    }
    fs_err::create_dir_all(&skips)?;
    let (mut counts, tests_passed) = run_tests(&["test", "--workspace", "--no-fail-fast"], extra, &skips)?;
    let skipped = skipped(&skips);
    counts.skipped += skipped;
    counts.passed = counts.passed.saturating_sub(skipped);
    for (what, fine) in [("formatting", formatted), ("clippy", linted), ("tests", tests_passed)] {
        println!("{what}: {}", if fine { "ok" } else { "FAILED" });
    }
    for name in &missing {
        println!("tool {name}: missing");
    }
    println!("tests: {} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    let fine = formatted && linted && tests_passed && counts.failed == 0;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A synthetic export, to compare with what the real tools report.
fn generate() -> Result<()> {
    let folder = tools_folder().join("generated");
    fs_err::create_dir_all(&folder)?;
    write_nsys(&folder.join("nsys.sqlite"), 20_000, None)
}

fn check(what: &str, arguments: &[&str]) -> Result<bool> {
    eprintln!("{what} ...");
    let component = arguments.first().copied().unwrap_or_default();
    let present = cargo().args([component, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !present.is_ok_and(|status| status.success()) {
        eprintln!("`cargo {component}` is missing\nhint: rustup component add rustfmt clippy");
        return Ok(false);
    }
    let status = cargo().args(arguments).status().with_context(|| format!("cannot start {what}"))?;
    Ok(status.success())
}

/// Every test of a workspace; their output is passed through, their results are summed.
fn run_tests(arguments: &[&str], extra: &[&str], skips: &Path) -> Result<(Counts, bool)> {
    let mut child = cargo()
        .args(arguments)
        .args(extra)
        .env("RANGEFINDER_TEST_SKIPS", skips)
        .env("RANGEFINDER_TEST_TOOLS", tools_folder())
        .env("INSTA_UPDATE", "no")
        .env("INSTA_FORCE_PASS", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let counts = printed(&mut child)?;
    Ok((counts, child.wait()?.success()))
}

/// Counts what is printed; ends the tests if that stops for too long.
fn printed(child: &mut Child) -> Result<Counts> {
    let mut counts = Counts::default();
    let Some(stdout) = child.stdout.take() else { return Ok(counts) };
    let (sender, lines) = channel();
    std::thread::spawn(move || BufReader::new(stdout).lines().try_for_each(|line| sender.send(line)));
    loop {
        match lines.recv_timeout(LONGEST_SILENCE) {
            Ok(line) => {
                let line = line?;
                println!("{line}");
                count(&line, &mut counts);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(counts),
            Err(RecvTimeoutError::Timeout) => {
                println!("a test hangs: nothing was printed for {} minutes", LONGEST_SILENCE.as_secs() / 60);
                // Which processes there are tells which test it is.
                let _ = Command::new("ps").args(["-eo", "pid,etime,stat,wchan:20,args", "--forest"]).status();
                child.kill()?;
                counts.failed += 1;
                return Ok(counts);
            }
        }
    }
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; …`
fn count(line: &str, counts: &mut Counts) {
    let Some(rest) = line.strip_prefix("test result: ") else { return };
    for part in rest.split([';', '.']) {
        let mut words = part.split_whitespace();
        if let (Some(number), Some(what)) =
            (words.next().and_then(|word| word.parse::<u64>().ok()), words.next())
        {
            match what {
                "passed" => counts.passed += number,
                "failed" => counts.failed += number,
                "ignored" => counts.skipped += number,
                _ => {}
            }
        }
    }
}

/// Tests that cannot run on this machine record that in a file each.
fn skipped(folder: &Path) -> u64 {
    let mut number = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let why = std::fs::read_to_string(entry.path()).unwrap_or_default();
        println!("skipped {}: {why}", entry.file_name().to_string_lossy());
        number += 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_up_result_lines() {
        let mut counts = Counts::default();
        count(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s",
            &mut counts,
        );
        count(
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in \
            1.5s",
            &mut counts,
        );
        count("test something ... ok", &mut counts);
        assert_eq!(counts, Counts { passed: 4, failed: 2, skipped: 1 });
    }
}
