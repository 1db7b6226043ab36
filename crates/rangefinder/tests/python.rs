//! The tests of the Python helper, with the Python that the other tests use, and its ranges in a
//! run. What needs torch is skipped there and says so.
#![allow(clippy::print_stderr, reason = "what was skipped in it is worth knowing")]

use std::path::Path;
use std::process::Command;

use crate::support::{Ran, Sandbox, tool};

#[test]
fn the_helper_by_itself() {
    let Some(python) = tool("the_helper_by_itself", "bin/python3") else { return };
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/tests");
    let ran = Command::new(python)
        .args(["-B", "-m", "unittest", "discover", "-s"])
        .arg(&tests)
        .env("RANGEFINDER_BIN", env!("CARGO_BIN_EXE_rangefinder"))
        .output();
    let ran = Ran::from(ran.unwrap());
    let last: Vec<&str> = ran.stderr.lines().rev().take(3).collect();
    eprintln!("{last:?}");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let count =
        ran.stderr.lines().find_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse().ok());
    assert!(count >= Some(40u32), "{}", ran.stderr);
}

/// Nothing is installed, and its ranges are there: in the rehearsal, and as a stage with tokens.
#[test]
fn ranges_of_the_helper() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "program.py",
        "from rangefinder import stage\n\
         for step in range(3):\n    with stage('decode', payload=4): pass\n\
         with stage('generate', domain='LLM'): pass\n",
    );
    let ran = sandbox.output(&["run", "--", "python3", "program.py"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ranges = std::fs::read(sandbox.only_run().join("rehearsal/ranges.json")).unwrap();
    let ranges: serde_json::Value = serde_json::from_slice(&ranges).unwrap();
    let found: Vec<(&str, u64)> = ranges["regions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|region| (region["path"].as_str().unwrap(), region["instances"].as_u64().unwrap()))
        .collect();
    assert_eq!(found, [(":decode", 3), ("LLM:generate", 1)]);
    let analysis = std::fs::read(sandbox.only_run().join("analysis.json")).unwrap();
    let analysis: serde_json::Value = serde_json::from_slice(&analysis).unwrap();
    assert_eq!(analysis["stages"][0]["tokens"], 12.0, "{}", analysis["stages"]);
}
