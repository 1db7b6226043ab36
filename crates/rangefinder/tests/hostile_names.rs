//! Names, files and messages that would command a terminal or a spreadsheet: shown, never obeyed.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use crate::support::{Ran, Sandbox, kineto};

const NAMES: [&str; 6] = [
    "\u{1b}[2J\u{1b}]0;owned\u{7}",
    "\u{9b}31m\u{7f}\r\n\tx",
    "\u{202e}txt.exe\u{2066}",
    "=HYPERLINK(\"http://x\")",
    "@SUM(A1)",
    "-1+cmd|' /C calc'!A0",
];

fn is_hostile(c: char) -> bool {
    c.is_control() && c != '\n'
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

fn assert_harmless(what: &str, text: &str) {
    let found = text.char_indices().find(|(_, c)| is_hostile(*c) && *c != '\t');
    assert!(
        found.is_none(),
        "{what}: {found:?} in {:?}",
        text.get(found.map_or(0, |(at, _)| at)..).map(|t| t.chars().take(40).collect::<String>())
    );
}

fn assert_harmless_output(ran: &Ran) {
    assert_harmless("stdout", &ran.stdout);
    assert_harmless("stderr", &ran.stderr);
}

/// Every file but the binary one; cells of tables are numbers or begin with nothing that starts a formula.
fn assert_harmless_files(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() {
            assert_harmless_files(&path);
            continue;
        }
        if name.ends_with(".perfetto") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // The scripts of the page are ours.
        let text = if name.ends_with(".html") { text.replace('\t', " ") } else { text };
        assert_harmless(&name, &text);
        assert!(!text.contains("NaN"), "{name}");
        if name.ends_with(".csv") {
            for cell in text.lines().flat_map(|line| line.split(',')).map(|cell| cell.trim_start_matches('"'))
            {
                let is_number = cell.parse::<f64>().is_ok();
                assert!(is_number || !cell.starts_with(['=', '+', '-', '@']), "{name}: {cell}");
            }
        }
    }
}

#[test]
fn in_a_trace() {
    let sandbox = Sandbox::new();
    let file = "\u{1b}[31mtrace.json";
    let name = |number: u64| NAMES[number as usize % NAMES.len()].to_owned();
    kineto::write(&sandbox.path(file), 60, name, name).unwrap();
    let ran = sandbox.output(&["analyze", "--out", "out", file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_harmless_output(&ran);
    assert!(ran.stdout.contains("\\u{1b}[2J\\u{1b}]0;owned\\u{7}"), "it is shown: {}", ran.stdout);
    assert_harmless_files(&sandbox.path("out"));
    let ran = sandbox.output(&["analyze", "--json", file]);
    assert_harmless_output(&ran);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let kernels: Vec<&str> =
        document["kernels"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(NAMES.iter().all(|name| kernels.contains(name)), "programs get them as they are: {kernels:?}");
}

#[test]
fn in_counters_that_are_no_numbers() {
    let sandbox = Sandbox::new();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../counters/tests/data/toy-kernel.raw.csv.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(packed).unwrap()).read_to_string(&mut text).unwrap();
    // The throughput of the first launches, and the name of a kernel.
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let heading: Vec<String> = lines[0].split("\",\"").map(str::to_owned).collect();
    let at = heading.iter().position(|name| name.starts_with("sm__throughput.avg.pct")).unwrap();
    for (line, value) in [(2, "nan"), (3, "inf"), (4, "-inf")] {
        let mut cells: Vec<&str> = lines[line].split("\",\"").collect();
        cells[at] = value;
        lines[line] = cells.join("\",\"");
    }
    let text = lines.join("\n").replace("tiny_kernel", "=\u{1b}[2Jtiny\u{9b}");
    sandbox.write("raw.csv", &text);
    for arguments in [&["analyze", "--out", "out", "raw.csv"][..], &["analyze", "--json", "raw.csv"]] {
        let ran = sandbox.output(arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_harmless_output(&ran);
        assert!(!ran.stdout.contains("NaN") && !ran.stdout.contains("inf %"), "{}", ran.stdout);
    }
    assert_harmless_files(&sandbox.path("out"));
}

#[test]
fn in_what_goes_wrong() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["analyze", "no\u{1b}[2Jsuch\u{9b}file"]);
    assert_ne!(ran.code, 0);
    assert_harmless_output(&ran);
    assert!(ran.stderr.contains("no\\u{1b}[2Jsuch\\u{9b}file"), "{}", ran.stderr);
    // A program that is called so, and what is said of it.
    sandbox.executable("a\u{1b}[31mb", "#!/bin/sh\nprintf '\\033[1mworkload'\nexit 3\n");
    let ran = sandbox.output(&["run", "--", "./a\u{1b}[31mb"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_eq!(ran.stdout, "\u{1b}[1mworkload", "what the workload prints is its own");
    assert_harmless("stderr", &ran.stderr);
    let run = sandbox.only_run();
    for name in ["report.md", "report.html", "summary.txt", "stakeholder_summary.md", "report.json"] {
        let text = std::fs::read_to_string(run.join(name)).unwrap();
        assert_harmless(name, &text.replace('\t', " "));
    }
}

/// Variables and the record of a run are text: what they cannot hold is refused before anything runs.
#[test]
fn paths_that_are_no_text_are_refused() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("").join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&folder).unwrap();
    let marker = sandbox.path("ran");
    let program = ["--", "touch", marker.to_str().unwrap()];
    let refused = |arguments: &[&str], change: &dyn Fn(&mut Command), said: &str| {
        let mut command = sandbox.rangefinder(&[arguments, &program].concat());
        change(&mut command);
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, 2, "{said}: {}", ran.stderr);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("\nhint: "), "{said}: {}", ran.stderr);
        assert!(!marker.exists() && sandbox.runs().is_empty() && !folder.join("runs").exists(), "{said}");
    };
    let there = |command: &mut Command| {
        command.current_dir(&folder);
    };
    let temporary = |command: &mut Command| {
        command.env("TMPDIR", &folder);
    };
    for run in [&["run", "--quick"][..], &["run", "--dry-run"], &["ranges"]] {
        refused(run, &there, "the path of the current directory is not UTF-8: `");
        refused(run, &temporary, "the path of the directory for temporary files (`TMPDIR`) is not UTF-8: `");
    }
    let plan = folder.join("plan.yaml");
    std::fs::write(&plan, "").unwrap();
    let mut command = sandbox.rangefinder(&["run", "--plan"]);
    let ran = Ran::from(command.arg(&plan).args(program).output().unwrap());
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("the path of the plan is not UTF-8: `"), "{}", ran.stderr);
    assert!(!marker.exists());
}
