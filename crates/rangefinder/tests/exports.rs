//! What exports of nsys hold beside the program's own work: pages that moved, calls in two rows,
//! and what nsys says of itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Ran, Sandbox, tool};

fn toy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data/toy-2025.3.1.sqlite")
}

/// The toy's export, changed by a script that has it as `database`.
fn changed(sandbox: &Sandbox, python: &Path, script: &str) -> PathBuf {
    let file = sandbox.path("changed.sqlite");
    std::fs::copy(toy(), &file).unwrap();
    let script =
        format!("import sqlite3, sys\ndatabase = sqlite3.connect(sys.argv[1])\n{script}\ndatabase.commit()");
    let made = Command::new(python).args(["-c", &script]).arg(&file).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    file
}

fn analyze(sandbox: &Sandbox, words: &[&str], file: &Path) -> String {
    let words = [&["analyze"], words, &[file.to_str().unwrap()]].concat();
    let ran = Ran::from(sandbox.rangefinder(&words).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

fn analysis(sandbox: &Sandbox, file: &Path) -> Value {
    serde_json::from_str(&analyze(sandbox, &["--json"], file)).unwrap()
}

/// Pages move because somebody touched them: that is no copy that a region made, and no work that
/// keeps the device busy.
#[test]
fn migrations_of_unified_memory_are_no_copies() {
    let Some(python) = tool("migrations_of_unified_memory_are_no_copies", "bin/python3") else { return };
    let sandbox = Sandbox::new();
    let file = changed(
        &sandbox,
        &python,
        "
row = 'select start, end, deviceId, contextId, streamId, {correlation}, globalPid, {bytes}, {kind} from CUPTI_ACTIVITY_KIND_KERNEL limit {rows}'
into = 'insert into CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind) '
for kind, rows, correlation in ((11, 3, 0), (12, 2, 0), (13, 1, 'correlationId')):
    database.execute(into + row.format(kind=kind, rows=rows, correlation=correlation, bytes=4096))",
    );
    let (before, after) = (analysis(&sandbox, &toy()), analysis(&sandbox, &file));
    for key in ["kernels", "regions", "idle", "unattributed", "api"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    let moved = |document: &Value, migrations: bool| -> Vec<String> {
        let rows = document["memcpy"].as_array().unwrap().iter();
        let rows =
            rows.filter(|row| row["direction"].as_str().unwrap().starts_with("migration") == migrations);
        let mut rows: Vec<String> = rows
            .map(|row| format!("{}: {} times, {} bytes", row["direction"], row["calls"], row["bytes"]))
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(moved(&after, false), moved(&before, false));
    assert_eq!(
        moved(&after, true),
        [
            "\"migration between devices\": 1 times, 4096 bytes",
            "\"migration to device\": 3 times, 12288 bytes",
            "\"migration to host\": 2 times, 8192 bytes",
        ]
    );
}

/// As older versions have it: the runtime's call and the driver's inside it, with one correlation.
#[test]
fn a_call_in_two_rows_is_one() {
    let Some(python) = tool("a_call_in_two_rows_is_one", "bin/python3") else { return };
    let sandbox = Sandbox::new();
    let file = changed(
        &sandbox,
        &python,
        "
columns = [row[1] for row in database.execute('pragma table_info(CUPTI_ACTIVITY_KIND_RUNTIME)')]
inner = {'start': 'start + (end - start) / 4', 'end': 'end - (end - start) / 4'}
rows = ', '.join(inner.get(column, column) for column in columns)
twice = 'insert into CUPTI_ACTIVITY_KIND_RUNTIME ({}) select {} from CUPTI_ACTIVITY_KIND_RUNTIME'
database.execute(twice.format(', '.join(columns), rows))",
    );
    let (before, after) = (analysis(&sandbox, &toy()), analysis(&sandbox, &file));
    for (key, value) in before.as_object().unwrap() {
        assert_eq!(&after[key], value, "{key}");
    }
}

#[test]
fn what_nsys_says_is_told_once_and_only_loss_is_lost() {
    let Some(python) = tool("what_nsys_says_is_told_once_and_only_loss_is_lost", "bin/python3") else {
        return;
    };
    let sandbox = Sandbox::new();
    let file = changed(
        &sandbox,
        &python,
        "
for severity, text, times in (
    (2, 'Not all NVTX events might have been collected.', 25),
    (3, 'CPU IP/backtrace sampling not supported, disabling.', 1),
    (2, 'CUPTI dropped 12 records. Some CUPTI events might be missing.', 2),
    (1, 'NVTX injection initialized successfully.', 3),
):
    for _ in range(times):
        database.execute('insert into DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text, globalPid) values (0, 1, 1, ?, ?, 0)', (severity, text))",
    );
    let screen = analyze(&sandbox, &[], &file);
    let said: Vec<&str> = screen.lines().filter(|line| line.contains(": nsys: ")).collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    note: nsys: Not all NVTX events might have been collected. (25 times)
    note: nsys: CPU IP/backtrace sampling not supported, disabling.
    lost: nsys: CUPTI dropped 12 records. Some CUPTI events might be missing. (2 times)
    ");
    let rows = analysis(&sandbox, &file)["diagnostics"].clone();
    let rows: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| (row["times"].as_u64(), row["lost"].as_bool())).collect();
    assert_eq!(rows, [(Some(25), Some(false)), (Some(1), Some(false)), (Some(2), Some(true))]);
}
