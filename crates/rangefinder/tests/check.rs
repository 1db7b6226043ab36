//! Runs against a baseline, as a CI script would check them: each case one screen, and the right exit code.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Ran, Sandbox, nvtx_program};

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
        ("--limit", "process=2", "`process`: `2` is no limit of it: it is a percentage, such as `+2%`"),
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

/// Runs with a real timeline that know their model: what `analyze` says of their stages, together and one by one.
#[test]
fn mfu_of_runs_that_know_their_model() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "model.json",
        r#"{"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
            "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": false}"#,
    );
    let program = env!("CARGO_BIN_EXE_rangefinder");
    let model = ["model.config=model.json", "model.prompt_tokens=64"];
    sandbox
        .output(&[&["run", "-q", "-p", "off"], &model[..], &["--", program, "demo", "--emit-only"]].concat());
    let run = sandbox.only_run();
    let timeline = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data/demo-2025.3.1.sqlite");
    for at in 1..=6 {
        let copy = sandbox.path(&format!("now/{at}"));
        std::fs::create_dir_all(copy.join("nsys")).unwrap();
        for file in ["run.json", "config.yaml"] {
            std::fs::copy(run.join(file), copy.join(file)).unwrap();
        }
        std::fs::copy(&timeline, copy.join("nsys/run.sqlite")).unwrap();
    }
    let told: Value = serde_json::from_str(&sandbox.output(&["analyze", "--json", "now/1"]).stdout).unwrap();
    let rows = told["efficiency"].as_array().unwrap();
    let mfu = |name: &str| {
        let row = rows.iter().find(|row| row["stage"] == name).unwrap();
        (row["mfu"].as_f64().unwrap(), row["seconds"].as_f64().unwrap())
    };
    let instances = |name: &str| {
        let stage = told["stages"].as_array().unwrap().iter().find(|stage| stage["name"] == name).unwrap();
        stage["times"]["count"].as_f64().unwrap()
    };
    let names: Vec<&str> = rows.iter().map(|row| row["stage"].as_str().unwrap()).collect();
    let seconds = |name: &&str| mfu(name).1 * instances(name);
    let all = names.iter().map(|name| mfu(name).0 * seconds(name)).sum::<f64>()
        / names.iter().map(seconds).sum::<f64>();
    let updated = sandbox.output(&["check", "--update", "--baseline", "baseline.json", "now"]);
    said(&updated, 0, "now has 6 runs");
    let limits = ["--limit", "mfu=-1 point", "--limit", "prefill.mfu=-2%"];
    let check = |more: &[&str]| {
        sandbox.output(&[&["check", "--baseline", "baseline.json"], &limits[..], more, &["now"]].concat())
    };
    said(&check(&[]), 0, "pass: 2 limits are kept");
    let document: Value = serde_json::from_str(&check(&["--json"]).stdout).unwrap();
    let now = |at: usize| document["limits"][at]["values"][1].as_f64().unwrap();
    let metric = |at: usize| document["limits"][at]["metric"].as_str().unwrap().to_owned();
    assert_eq!([metric(0), metric(1)], ["mfu", "prefill.mfu"]);
    assert!(
        (now(0) / all - 1.0).abs() < 1e-9 && (now(1) / mfu("prefill").0 - 1.0).abs() < 1e-9,
        "{document}"
    );
    // A baseline that was better by more than two points.
    let mut better: Value =
        serde_json::from_slice(&std::fs::read(sandbox.path("baseline.json")).unwrap()).unwrap();
    for profile in better["profiles"].as_array_mut().unwrap() {
        profile["mfu"] = (all + 0.021).into();
    }
    sandbox.write("baseline.json", &better.to_string());
    let ran = check(&[]);
    said(&ran, 1, "regression: 1 limit is broken: `mfu`");
    assert!(ran.stdout.contains("-1 point"), "{}", ran.stdout);
    let wrong = sandbox.output(&["check", "--baseline", "baseline.json", "--limit", "mfu=+1%", "now"]);
    said(
        &wrong,
        2,
        "`mfu`: `+1%` is no limit of it: it is how much less it may be, such as `-1 point` or `-2%`",
    );
}

/// What is taken for a baseline must be able to decide.
#[test]
fn a_baseline_that_never_decides_is_refused() {
    let Some(paced) = nvtx_program("a_baseline_that_never_decides_is_refused", "paced") else { return };
    let sandbox = Sandbox::new();
    let one = runs(&sandbox, &paced, "one", "1", "1");
    let update = |limits: &[&str], runs: &str| {
        let words = ["check", "--update", "--baseline", "baseline.json"];
        sandbox.output(&[&words, limits, &[runs]].concat())
    };
    said(
        &update(&["--limit", "loop=+50%"], &one),
        2,
        "these runs are no baseline: `loop`: there are too few runs",
    );
    said(&update(&["--limit", "energy=+5%"], &one), 2, "`energy`: it was not measured in these runs");
    assert!(!sandbox.path("baseline.json").exists(), "nothing is written");
    // What is counted is known from one; the other limit is told.
    let part = update(&["--limit", "loop=+50%", "--limit", "waits=0"], &one);
    assert_eq!(part.code, 0, "{}", part.stderr);
    let warned = "warning: the baseline cannot decide `loop`: there are too few runs\n";
    assert_eq!(part.stderr, warned);
}

/// The folder for all runs stands for the runs of the only program in it.
#[test]
fn a_folder_with_one_set() {
    let Some(paced) = nvtx_program("a_folder_with_one_set", "paced") else { return };
    let sandbox = Sandbox::new();
    runs(&sandbox, &paced, "all", "2", "1");
    let ran = sandbox.output(&["check", "--update", "--baseline", "b.json", "--limit", "waits=0", "all"]);
    said(&ran, 0, "baseline: b.json now has 2 runs of `all`");
}
