//! Queries to the vendor tools and their programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::{Finished, Spec, SuperviseError, environment, supervise};

pub(crate) fn finished(
    argv: &[OsString],
    libraries: &[PathBuf],
    patience: Duration,
) -> Result<Finished, SuperviseError> {
    let mut variables = Vec::new();
    if !libraries.is_empty() {
        let ours = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let all = libraries.iter().cloned().chain(std::env::split_paths(&ours));
        let path = std::env::join_paths(all).unwrap_or_default();
        variables.push(("LD_LIBRARY_PATH".to_owned(), Some(path.to_string_lossy().into_owned())));
    }
    supervise(&Spec::question(argv.to_vec(), environment(&variables), "/".into(), patience), None)
}

/// Everything a program printed, however it ended.
pub(crate) fn said(argv: &[OsString], libraries: &[PathBuf], patience: Duration) -> Result<String, String> {
    let finished = finished(argv, libraries, patience).map_err(|error| error.to_string())?;
    if finished.ended_by_us.is_some() {
        let program = argv[0].to_string_lossy();
        return Err(format!("`{program}` did not respond within {} s", patience.as_secs()));
    }
    Ok(output_of(&finished))
}

pub(crate) fn output_of(finished: &Finished) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&finished.stdout.captured) + &text(&finished.stderr.captured)
}

/// A program that does not print a version as the tool does.
pub(crate) fn not_the_tool(path: &Path, tool: &str, printed: &str) -> String {
    let first = printed.lines().map(str::trim).find(|line| !line.is_empty());
    let first = first.map_or("nothing".to_owned(), |line| format!("\"{line}\""));
    format!("`{}` is not a working {tool}: `--version` printed {first}", path.display())
}

/// The end of the output. Of a progress bar, which returns to the start of its line, only what is left of it.
pub fn last_lines(text: &str) -> String {
    let left = |line: &'_ str| line.trim().rfind('\r').map_or(0, |at| at + 1);
    let lines = text.lines().map(|line| line.trim()[left(line)..].trim());
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}
