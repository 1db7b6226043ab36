//! What the tests share: captures, and what NVIDIA's own reader says of a report.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

pub mod compare;
pub mod writer;

#[path = "../../../rangefinder/tests/support/tools.rs"]
mod tools;

use std::io::Read;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
pub use tools::tool;

/// Captures of one program in the three modes of replay; see `tests/data/README.md`.
pub const CAPTURES: [&str; 3] = ["toy-kernel", "toy-range", "toy-app-range"];

/// A file of `tests/data`, which are all compressed.
pub fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("{name}.gz"));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// What `ncu_report` says of each result, or None where it is not there.
pub fn ncu_report(test: &str, report: &[u8]) -> Option<Vec<Json>> {
    let python = tool(test, "bin/python3")?;
    let packages = tool(test, "python/ncu-report-2026.3.1")?;
    let folder = tempfile::Builder::new().prefix("rf-").tempdir().unwrap();
    let file = folder.path().join("written.ncu-rep");
    std::fs::write(&file, report).unwrap();
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/oracle.py"))
        .arg(&file)
        .env("PYTHONPATH", packages)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
