//! `cargo xtask test`: every check with its time, and how many tests passed.

mod changed;
mod compile;
mod gates;
mod nextest;
mod phases;

use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};

pub use changed::Selection;
use gates::Gates;
use nextest::Test;
use phases::Phases;

use crate::generate::write_nsys;
use crate::shell::{cargo, root, tools_folder};
use crate::{tools, wheel};

const TRACER: &str = "crates/tracer/Cargo.toml";
/// Tests that are told with their time.
const SLOWEST: usize = 25;

/// What is tested, and with what.
#[derive(Debug, Default)]
pub struct Options {
    /// Without tools that cannot be fetched.
    pub allow_missing: bool,
    /// The truth tables of gates against the real tools, though their code has not changed.
    pub real_gates: bool,
    /// Only what a change since this revision can break.
    pub changed: Option<String>,
    /// For nextest.
    pub filters: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

pub fn main(options: &Options) -> Result<ExitCode> {
    let selection = match &options.changed {
        Some(since) => Selection::since(since)?,
        None => Selection::Everything,
    };
    if let Selection::Nothing = selection {
        println!("nothing has changed that a test looks at");
        println!("tests: 0 passed, 0 failed, 0 skipped");
        return Ok(ExitCode::SUCCESS);
    }
    let mut phases = Phases::default();
    // Fetching waits for the network and for the disk, compiling for the processor.
    let (fetched, checks) = std::thread::scope(|scope| {
        let fetching = scope.spawn(|| Phases::timed(tools::fetch_all));
        let checks = check(&selection, &mut phases);
        (fetching.join(), checks)
    });
    let (missing, took) = fetched.map_err(|_| anyhow::anyhow!("fetching the tools failed"))?;
    phases.beside("tools, beside the phases above", took);
    let (missing, checks) = (missing?, checks?);
    if !missing.is_empty() && !options.allow_missing {
        eprintln!("missing tools: {} (use --allow-missing to test without them)", missing.join(", "));
        println!("tests: 0 passed, 1 failed, 0 skipped");
        return Ok(ExitCode::FAILURE);
    }
    if checks.is_compiled && selection.has("rangefinder") {
        phases.run("wheel", || wheel::for_tests(compile::environment))?;
    }
    let gates = Gates::new(options.real_gates)?;
    let filters = [gates.arguments(), options.filters.clone()].concat();
    let (tests, mut all_passed) = phases.run("tests", || run_tests(&selection, &filters))?;
    gates.judge(&tests)?;
    if checks.is_compiled {
        all_passed &= phases.run("doctests", || doctests(&selection))?;
    }
    print!("{}{}", phases.table(), slowest(&tests));
    let counts = count(&tests, skipped());
    for (what, fine) in
        [("formatting", checks.is_formatted), ("clippy", checks.is_linted), ("tests", all_passed)]
    {
        println!("{what}: {}", if fine { "ok" } else { "FAILED" });
    }
    for name in &missing {
        println!("tool {name}: missing");
    }
    println!("tests: {} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    let fine = checks.is_formatted && checks.is_linted && all_passed && counts.failed == 0;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is known before any test runs.
struct Checks {
    is_formatted: bool,
    is_linted: bool,
    is_compiled: bool,
}

fn check(selection: &Selection, phases: &mut Phases) -> Result<Checks> {
    let is_formatted = phases.run("formatting", || {
        Ok(succeeds(&["fmt", "--all", "--check"])?
            & succeeds(&["fmt", "--all", "--manifest-path", TRACER, "--check"])?)
    })?;
    let compiled = phases.run("compilation and clippy", || compile::with_lints(selection))?;
    let tracer = phases.run("clippy of the tracer", || {
        let place = ["--manifest-path", TRACER, "--target-dir", "target/tracer", "--quiet"];
        succeeds(&[&["clippy"], &place[..], &["--", "-D", "warnings"]].concat())
    })?;
    Ok(Checks { is_formatted, is_linted: compiled.is_clean && tracer, is_compiled: compiled.is_compiled })
}

fn run_tests(selection: &Selection, filters: &[String]) -> Result<(Vec<Test>, bool)> {
    let skips = skips_folder();
    if skips.exists() {
        fs_err::remove_dir_all(&skips)?;
    }
    fs_err::create_dir_all(&skips)?;
    // A synthetic export, to compare with what the real tools report.
    let generated = tools_folder().join("generated");
    fs_err::create_dir_all(&generated)?;
    write_nsys(&generated.join("nsys.sqlite"), 20_000, None)?;
    nextest::run(selection, filters, |command| {
        compile::environment(command);
        command
            .env("RANGEFINDER_TEST_SKIPS", &skips)
            .env("RANGEFINDER_TEST_TOOLS", tools_folder())
            .env("RANGEFINDER_TEST_WHEELS", root().join(wheel::TESTED))
            .env("INSTA_UPDATE", "no")
            .env("INSTA_FORCE_PASS", "0");
    })
}

/// nextest leaves these out.
fn doctests(selection: &Selection) -> Result<bool> {
    let mut command = cargo();
    compile::environment(&mut command);
    command.args(["test", "--doc", "--quiet"]).args(selection.packages_with_libraries()?);
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).status()?.success())
}

fn succeeds(arguments: &[&str]) -> Result<bool> {
    let component = arguments.first().copied().unwrap_or_default();
    let present = cargo().args([component, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !present.is_ok_and(|status| status.success()) {
        eprintln!("`cargo {component}` is missing\nhint: rustup component add rustfmt clippy");
        return Ok(false);
    }
    let status =
        cargo().args(arguments).status().with_context(|| format!("cannot start cargo {component}"))?;
    Ok(status.success())
}

fn count(tests: &[Test], skipped: u64) -> Counts {
    let failed = tests.iter().filter(|test| !test.passed).count() as u64;
    Counts { passed: (tests.len() as u64 - failed).saturating_sub(skipped), failed, skipped }
}

fn slowest(tests: &[Test]) -> String {
    let mut sorted: Vec<&Test> = tests.iter().collect();
    sorted.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let mut text = "slowest tests:\n".to_owned();
    for test in sorted.iter().take(SLOWEST) {
        text.push_str(&format!("{:>8.1} s  {}\n", test.seconds, test.name));
    }
    text
}

fn skips_folder() -> std::path::PathBuf {
    root().join("target/test-skips")
}

/// Tests that cannot run on this machine record that in a file each.
fn skipped() -> u64 {
    let mut number = 0;
    for entry in std::fs::read_dir(skips_folder()).into_iter().flatten().flatten() {
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
    fn a_test_that_says_it_was_skipped_has_not_passed() {
        let test = |passed| Test { name: "a::b".to_owned(), seconds: 1.0, passed };
        let tests = [test(true), test(true), test(false), test(true)];
        assert_eq!(count(&tests, 1), Counts { passed: 2, failed: 1, skipped: 1 });
    }
}
