//! One compilation for clippy and for the tests: clippy's compiler makes the programs, too, so that nothing is
//! compiled once to be checked and once to be run.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use super::changed::Selection;
use crate::shell::{cargo, on_path};

const DRIVER: &str = "clippy-driver";

/// What the compiler said of our own code.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Compiled {
    pub(super) is_clean: bool,
    pub(super) is_compiled: bool,
}

/// The same for everything that compiles, or it would be compiled again.
pub(super) fn environment(command: &mut Command) {
    if let Some(driver) = on_path(DRIVER) {
        command.env("RUSTC_WORKSPACE_WRAPPER", driver);
    }
}

pub(super) fn with_lints(selection: &Selection) -> Result<Compiled> {
    let has_lints = on_path(DRIVER).is_some();
    if !has_lints {
        eprintln!("`{DRIVER}` is missing\nhint: rustup component add clippy");
    }
    let mut command = cargo();
    environment(&mut command);
    command.args(["test", "--no-run", "--message-format=json"]).args(selection.packages());
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let mut warnings = 0;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            if let Some(warning) = warning(&line?) {
                eprint!("{warning}");
                warnings += 1;
            }
        }
    }
    let is_compiled = child.wait()?.success();
    Ok(Compiled { is_clean: has_lints && is_compiled && warnings == 0, is_compiled })
}

/// What a line of cargo's messages has to say to people, if it is a warning or worse.
fn warning(line: &str) -> Option<String> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-message" {
        return None;
    }
    let message = &message["message"];
    let is_meant = ["warning", "error"].iter().any(|level| message["level"] == *level);
    is_meant.then(|| message["rendered"].as_str().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_warnings_and_errors_count() {
        let line = |reason: &str, level: &str| {
            let message = serde_json::json!({"level": level, "rendered": "it is odd\n"});
            serde_json::json!({"reason": reason, "message": message}).to_string()
        };
        assert_eq!(warning(&line("compiler-message", "warning")).as_deref(), Some("it is odd\n"));
        assert_eq!(warning(&line("compiler-message", "note")), None);
        assert_eq!(warning(&line("compiler-artifact", "warning")), None);
        assert_eq!(warning("nonsense"), None);
    }
}
