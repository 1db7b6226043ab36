//! Whether the truth tables of gates are held against the real tools: some minutes that are only worth it if what
//! predicts them has changed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::nextest::Test;
use crate::shell::root;

/// The code that they prove.
const PROVEN: [&str; 2] = ["crates/nvtx/src", "crates/nsight/src"];
/// The tests that ask the real tools about every row, one a version.
const REAL: &str = "gates::the_truth_table_of_nsys";
const VERSIONS: usize = 2;
/// What that was when they last agreed.
const STAMP: &str = "crates/rangefinder/tests/data/gates-proven.txt";

#[derive(Debug)]
pub(super) struct Gates {
    now: String,
    pub(super) are_real: bool,
}

impl Gates {
    pub(super) fn new(is_asked_for: bool) -> Result<Self> {
        let now = fingerprint(&root())?;
        let proven = fs_err::read_to_string(root().join(STAMP)).unwrap_or_default();
        let is_changed = proven.trim() != now;
        if is_changed {
            eprintln!("gates: their code has changed since the real tools agreed with it; all rows are run");
        }
        Ok(Self { now, are_real: is_asked_for || is_changed })
    }

    /// For nextest: only these tests are not always run.
    pub(super) fn arguments(&self) -> Vec<String> {
        let all = ["--run-ignored", "all"].map(str::to_owned).to_vec();
        if self.are_real { all } else { Vec::new() }
    }

    /// If all of them agreed, that is kept: to be committed with the code.
    pub(super) fn judge(&self, tests: &[Test]) -> Result<()> {
        let of_gates: Vec<&Test> = tests.iter().filter(|test| test.name.contains(REAL)).collect();
        if of_gates.len() == VERSIONS && of_gates.iter().all(|test| test.passed) {
            fs_err::write(root().join(STAMP), format!("{}\n", self.now))?;
        }
        Ok(())
    }
}

/// Of every file, its path and what is in it.
fn fingerprint(root: &Path) -> Result<String> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders: Vec<PathBuf> = PROVEN.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let mut hash = Command::new("git")
        .args(["hash-object", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start git")?;
    let mut stdin = hash.stdin.take().context("git has no input")?;
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        writeln!(stdin, "{name}")?;
        stdin.write_all(&fs_err::read(&file)?)?;
    }
    drop(stdin);
    let output = hash.wait_with_output()?;
    ensure!(output.status.success(), "git hash-object failed");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_file_and_where_it_lies_counts() {
        let folder = std::env::temp_dir().join(format!("gates-{}", std::process::id()));
        let place = |name: &str| folder.join(PROVEN[0]).join(name);
        for part in PROVEN {
            fs_err::create_dir_all(folder.join(part)).unwrap();
        }
        fs_err::write(place("a.rs"), "one").unwrap();
        let first = fingerprint(&folder).unwrap();
        assert_eq!(fingerprint(&folder).unwrap(), first);
        fs_err::write(place("a.rs"), "two").unwrap();
        let second = fingerprint(&folder).unwrap();
        fs_err::rename(place("a.rs"), place("b.rs")).unwrap();
        let third = fingerprint(&folder).unwrap();
        assert!(first != second && second != third && first.len() == 40);
        fs_err::remove_dir_all(folder).unwrap();
    }
}
