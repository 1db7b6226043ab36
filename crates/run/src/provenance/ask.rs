//! Queries to other programs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use process::{Spec, supervise};

/// Runs a program and returns its stdout, or why there is none.
pub(super) fn ask(
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    timeout: Duration,
) -> Result<String, String> {
    let program = argv.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    let finished =
        supervise(&Spec::question(argv, env, cwd, timeout), None).map_err(|error| error.to_string())?;
    if finished.ended_by_us.is_some() {
        return Err(format!("`{program}` did not respond within {} s", timeout.as_secs()));
    }
    if finished.ending.success() {
        return Ok(String::from_utf8_lossy(&finished.stdout.captured).into_owned());
    }
    let stderr = String::from_utf8_lossy(&finished.stderr.captured).trim().to_owned();
    let stderr = if stderr.is_empty() { "<stderr is empty>".to_owned() } else { stderr };
    Err(format!("`{program}` ended with {}: {stderr}", finished.ending))
}
