//! Runs against a baseline, as a CI script would check them: each case one screen, and the right exit code.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::path::PathBuf;

use serde_json::Value;
use support::{Ran, Sandbox, nvtx_program};

/// Runs of a program that does so much in each iteration, in a folder of this name.
fn runs(sandbox: &Sandbox, paced: &str, folder: &str, count: &str, post: &str) -> String {
    let dir = format!("run.dir={folder}");
    let ran =
        sandbox.output(&["run", "--repeat", count, "compare.warmup=0", &dir, "--", paced, "40", "4", post]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut sets: Vec<PathBuf> =
        std::fs::read_dir(sandbox.path(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    sets.retain(|path| path.is_dir());
    assert_eq!(sets.len(), 1);
    sets.remove(0).to_str().unwrap().to_owned()
}

fn said(ran: &Ran, code: i32, first: &str) {
    assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    let line = ran.stdout.lines().chain(ran.stderr.lines()).next().unwrap_or_default();
    assert!(line.contains(first), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.lines().count() + ran.stderr.lines().count() <= 24, "more than a screen");
}

#[test]
fn every_way_it_can_end() {
    let Some(paced) = nvtx_program("every_way_it_can_end", "paced") else { return };
    let sandbox = Sandbox::new();
    let before = runs(&sandbox, &paced, "before", "6", "1");
    let same = runs(&sandbox, &paced, "same", "6", "1");
    let slower = runs(&sandbox, &paced, "slower", "6", "40");
    let one = runs(&sandbox, &paced, "one", "1", "1");
    let check = |more: &[&str], runs: &str| {
        // The machine may be busy with other tests: only much more is too much.
        let usual = ["check", "--baseline", "baseline.json", "--limit", "loop=+150%", "--limit", "waits=0"];
        sandbox.output(&[&usual, more, &[runs]].concat())
    };
    said(&check(&[], &same), 2, "cannot read the baseline `baseline.json`: No such file or directory");
    said(&sandbox.output(&["check", &same]), 2, "there is no baseline");
    let updated = sandbox.output(&["check", "--update", "--baseline", "baseline.json", &before]);
    said(&updated, 0, "baseline: baseline.json now has 6 runs");
    said(&check(&[], &same), 0, "pass: 2 limits are kept");
    said(&check(&[], &slower), 1, "regression: 1 limit is broken: `loop`");
    said(&check(&[], &one), 4, "undecided: 1 limit is neither kept nor broken for sure: `loop`");
    // A folder of runs is a baseline as well.
    said(
        &sandbox.output(&["check", "--baseline", &before, "--limit", "loop=+150%", &slower]),
        1,
        "regression",
    );
    let wrong = [
        ("--limit", "loop=fast", "`loop`: `fast` is no limit"),
        ("--limit", "speed=+1%", "`speed` is nothing that can be limited"),
        ("--limit", "loop", "`--limit loop` is not METRIC=LIMIT"),
        ("--limit", "process=2", "`process`: `2` is no limit of what is not counted"),
    ];
    for (option, value, first) in wrong {
        said(&check(&[option, value], &same), 2, first);
    }
    let text = std::fs::read_to_string(sandbox.path("baseline.json")).unwrap();
    // Of another GPU: what is counted still decides.
    let mut other: Value = serde_json::from_str(&text).unwrap();
    for profile in other["profiles"].as_array_mut().unwrap() {
        profile["devices"] = serde_json::json!(["NVIDIA H100"]);
    }
    sandbox.write("baseline.json", &other.to_string());
    let ran = check(&[], &slower);
    said(&ran, 4, "undecided: 1 limit is neither kept nor broken for sure: `loop`");
    assert!(
        ran.stdout.contains("the baseline is of other hardware") && ran.stdout.contains("NVIDIA H100"),
        "{}",
        ran.stdout
    );
    sandbox.write("baseline.json", &text[..text.len() / 2]);
    said(&check(&[], &same), 2, "`baseline.json` is no baseline: EOF while parsing");
    said(&check(&[], "missing"), 2, "");
}

#[test]
fn for_other_programs() {
    let Some(paced) = nvtx_program("for_other_programs", "paced") else { return };
    let sandbox = Sandbox::new();
    let before = runs(&sandbox, &paced, "before", "6", "1");
    let slower = runs(&sandbox, &paced, "slower", "6", "20");
    sandbox.write(
        "rangefinder.yaml",
        "check:\n  baseline: base.json\n  limits: {loop: +150%, step.p50: +900%}\n",
    );
    assert_eq!(sandbox.output(&["check", "--update", &before]).code, 0);
    let mut command = sandbox.rangefinder(&["check", "--github", "--junit", "check.xml", &slower]);
    let ran = Ran::from(command.env("GITHUB_STEP_SUMMARY", sandbox.path("summary.md")).output().unwrap());
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("::error title=rangefinder check::broken     `loop`: "), "{}", ran.stdout);
    let junit = std::fs::read_to_string(sandbox.path("check.xml")).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"1\" skipped=\"0\""), "{junit}");
    assert!(
        junit.contains("<testcase classname=\"rangefinder\" name=\"loop\"><failure message=\"broken"),
        "{junit}"
    );
    let summary = std::fs::read_to_string(sandbox.path("summary.md")).unwrap();
    assert!(summary.starts_with("**regression: 1 limit is broken: `loop`**"), "{summary}");
    assert!(summary.contains("| step.p50 | kept |"), "{summary}");
    let json = sandbox.output(&["check", "--json", &slower]);
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (document["outcome"].as_str(), document["limits"][0]["unit"].as_str()),
        (Some("broken"), Some("nanoseconds"))
    );
}
