//! What a capture by nsys leaves, and which nsys it is.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::nsys_scene::{Expected, Scene};
use crate::support::{Ran, Sandbox, step, tool};

/// What the run tells of its regions, by path.
fn instances(scene: &Scene) -> Vec<(String, u64)> {
    let analysis = std::fs::read(scene.sandbox.only_run().join("analysis.json")).unwrap();
    let analysis: Value = serde_json::from_slice(&analysis).unwrap();
    let regions = analysis["regions"].as_array().unwrap().iter();
    let row =
        |region: &Value| (region["path"].as_str().unwrap().to_owned(), region["instances"].as_u64().unwrap());
    let mut rows: Vec<(String, u64)> = regions.map(row).collect();
    rows.sort();
    rows
}

/// `repeat` leaves a report for each capture: together they are the timeline.
#[test]
fn repeated_captures_are_one_timeline() {
    let mut arguments = vec!["nsys.nvtx_capture=A", "nsys.capture_range_end=repeat", "--", "EMIT"];
    arguments.extend(["push=A", "push=B", "sleep=50", "pop", "pop", "sleep=1500"].repeat(3));
    let Some(scene) = Scene::new("repeated_captures_are_one_timeline", &arguments) else { return };
    let (_, manifest, scene) =
        scene.comes_to(&Expected { outcome: "captured", cause: "", remedy: "", code: 0 });
    assert!(step(&manifest, "timeline")["note"].as_str().unwrap().contains("3 of 3 instances"));
    let run = scene.sandbox.only_run();
    for number in 1..=3 {
        assert!(run.join(format!("nsys/run.{number}.sqlite")).is_file());
    }
    assert_eq!(instances(&scene), [(":A".to_owned(), 3), (":A/B".to_owned(), 3)]);
}

/// With `--capture-range-end=none` nsys goes on after the range; the analysis does not.
#[test]
fn the_gate_is_applied_again() {
    let arguments = [
        "nsys.nvtx_capture=A",
        "--",
        "EMIT",
        "push=A",
        "push=in",
        "pop",
        "sleep=200",
        "pop",
        "push=out",
        "sleep=50",
        "pop",
        "push=A",
        "sleep=30",
        "pop",
    ];
    let Some(scene) = Scene::new("the_gate_is_applied_again", &arguments) else { return };
    let (_, _, scene) = scene.comes_to(&Expected { outcome: "captured", cause: "", remedy: "", code: 0 });
    let run = scene.sandbox.only_run();
    let analysis = std::fs::read_to_string(run.join("analysis.json")).unwrap();
    let again = scene.sandbox.output(&["analyze", "--json", run.to_str().unwrap()]).stdout;
    for analysis in [analysis, again] {
        assert!(
            analysis.contains("\":A\"") && analysis.contains("\":A/in\"") && !analysis.contains(":out"),
            "{analysis}"
        );
    }
    let inner = scene.sandbox.output(&["analyze", "--within", "in", run.to_str().unwrap()]).stdout;
    assert!(inner.contains(":in") && !inner.contains(":A"), "{inner}");
    let matched = scene.sandbox.output(&["analyze", "--within", "i*", run.to_str().unwrap()]).stdout;
    assert_eq!(matched, inner);
    for (wish, absent) in [
        ("nowhere", "no range named `nowhere` in the trace"),
        ("in;nowhere", "no range named `nowhere` in the trace"),
        ("no*", "no range matches `no*` in the trace"),
    ] {
        let none = scene.sandbox.output(&["analyze", "--within", wish, run.to_str().unwrap()]);
        assert!(none.stderr.contains(absent), "{}", none.stderr);
    }
}

/// nsys knows a range by its name alone, and this one is in two regions: it is not gated on it.
#[test]
fn a_path_whose_name_is_another_s_too() {
    let mut arguments = vec!["nsys.nvtx_capture=:decode/step", "--", "EMIT"];
    arguments.extend("push=prefill push=step sleep=30 pop pop push=step pop".split(' '));
    arguments.extend("push=decode push=step sleep=30 pop push=step pop pop".split(' '));
    let Some(scene) = Scene::new("a_path_whose_name_is_another_s_too", &arguments) else { return };
    let (_, manifest, scene) =
        scene.comes_to(&Expected { outcome: "captured", cause: "", remedy: "", code: 0 });
    assert!(step(&manifest, "timeline")["note"].as_str().unwrap().contains("2 of 2 instances"));
    // As under a gate: what is around it is not in it.
    assert_eq!(instances(&scene), [(":step".to_owned(), 2)]);
}

/// What is around a gate that opens is not recorded; around the same range again, it is.
#[test]
fn a_gate_inside_a_range_that_comes_again() {
    let mut arguments = vec!["nsys.nvtx_capture=sam", "--", "EMIT"];
    arguments.extend("push=prefill push=sam sleep=200 push=in pop pop pop".split(' ').cycle().take(14));
    let Some(scene) = Scene::new("a_gate_inside_a_range_that_comes_again", &arguments) else { return };
    let (_, manifest, scene) =
        scene.comes_to(&Expected { outcome: "captured", cause: "", remedy: "", code: 0 });
    assert!(step(&manifest, "timeline")["note"].as_str().unwrap().contains("2 of 2 instances"));
    assert_eq!(instances(&scene), [(":sam".to_owned(), 2), (":sam/in".to_owned(), 2)]);
}

/// A server: recorded from after the delay until it is stopped.
#[test]
fn delay_and_duration() {
    let arguments = ["nsys.enable=true", "capture.delay=2s", "capture.duration=2s", "--", "EMIT"];
    let mut arguments = arguments.to_vec();
    arguments.extend([
        "push=early",
        "sleep=200",
        "pop",
        "sleep=2800",
        "push=late",
        "sleep=200",
        "pop",
        "sleep=60000",
    ]);
    let Some(scene) = Scene::new("delay_and_duration", &arguments) else { return };
    let (_, manifest, scene) =
        scene.comes_to(&Expected { outcome: "captured", cause: "", remedy: "", code: 0 });
    let note = step(&manifest, "timeline")["note"].as_str().unwrap();
    let uncompared = "1 instance; not compared with a rehearsal, because `capture.delay` and `capture.duration` \
                      record only a part";
    assert!(note.ends_with(uncompared), "{note}");
    assert_eq!(manifest["warnings"].as_array().map_or(0, Vec::len), 0, "{}", manifest["warnings"]);
    let analysis = std::fs::read_to_string(scene.sandbox.only_run().join("analysis.json")).unwrap();
    assert!(analysis.contains("\":late\"") && !analysis.contains("early"), "{analysis}");
}

/// The tracer does not wait, and the run says so.
#[test]
fn without_nsys_a_delay_has_no_effect() {
    const TEST: &str = "without_nsys_a_delay_has_no_effect";
    let arguments = ["capture.delay=2s", "--", "EMIT", "push=early", "sleep=50", "pop"];
    let Some(mut scene) = Scene::with(TEST, Path::new("none"), &arguments) else { return };
    scene.command.env("RANGEFINDER_NSYS", "none");
    let (ran, _, scene) = scene.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("only nsys waits for `capture.delay`\nhint: "), "{}", ran.stderr);
    assert_eq!(instances(&scene), [(":early".to_owned(), 1)]);
}

/// What the workload itself prints is not what nsys says.
#[test]
fn a_workload_may_print_anything() {
    let line = "EMIT push=A sleep=30 pop; echo End of file; echo 'No space left on device'; \
                echo 'CPU IP/backtrace sampling not supported, disabling.'; echo '**** Errors occurred while processing the raw events. ****'";
    let Some(scene) =
        Scene::new("a_workload_may_print_anything", &["nsys.enable=true", "--", "sh", "-c", line])
    else {
        return;
    };
    scene.comes_to(&Expected { outcome: "captured", cause: "", remedy: "", code: 0 });
}

/// One part of a list is there, the other is not.
#[test]
fn a_list_with_a_name_that_is_not_there() {
    let arguments = ["nsys.nvtx_capture=A;decod", "--", "EMIT", "push=A", "sleep=30", "pop"];
    let Some(scene) = Scene::new("a_list_with_a_name_that_is_not_there", &arguments) else { return };
    let remedy = "correct or remove `decod`: no range has this name";
    let (ran, manifest, _) =
        scene.comes_to(&Expected { outcome: "partial", cause: "no-such-range", remedy, code: 1 });
    assert!(ran.stderr.contains("no range named `decod`"), "{}", ran.stderr);
    let foretold = step(&manifest, "plan")["note"].as_str().unwrap();
    assert!(foretold.contains("no range named `decod`"), "{foretold}");
}

/// What nsys was told to leave out is not lost.
#[test]
fn a_domain_that_is_left_out_is_not_missing() {
    let arguments = [
        "nsys.enable=true",
        "nsys.nvtx_domain_exclude=NCCL",
        "--",
        "EMIT",
        "push=A",
        "sleep=30",
        "pop",
        "dpush=NCCL:x",
        "dpop=NCCL",
    ];
    let Some(scene) = Scene::new("a_domain_that_is_left_out_is_not_missing", &arguments) else { return };
    let (ran, ..) = scene.comes_to(&Expected { outcome: "captured", cause: "", remedy: "", code: 0 });
    assert!(ran.stderr.contains("1 of 1 instance"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("1 of 1 instances"), "{}", ran.stderr);
}

/// A count that varies down to nothing is still nothing.
#[test]
fn nothing_is_not_a_count_that_varies() {
    let line =
        "EMIT push=prefill sleep=30 pop; [ $RANGEFINDER_PASS = rehearsal ] && EMIT push=decode pop; true";
    let Some(scene) = Scene::new(
        "nothing_is_not_a_count_that_varies",
        &["nsys.nvtx_capture=decode", "--", "sh", "-c", line],
    ) else {
        return;
    };
    scene.comes_to(&Expected { outcome: "missed", cause: "path-not-taken", remedy: "no token", code: 1 });
}

/// A range may be called like a variable.
#[test]
fn a_range_is_no_variable() {
    let arguments =
        ["nsys.enable=true", "--", "EMIT", "rpush=BS=32", "sleep=30", "pop", "push=N=1024", "pop"];
    let Some(scene) = Scene::new("a_range_is_no_variable", &arguments) else { return };
    let (ran, ..) = scene.comes_to(&Expected { outcome: "captured", cause: "", remedy: "", code: 0 });
    assert!(ran.stderr.contains("2 of 2 instances"), "{}", ran.stderr);
}

/// Every value of the environment is out of the export; the names are not.
#[test]
fn the_export_holds_no_environment() {
    let Some(mut scene) = Scene::new(
        "the_export_holds_no_environment",
        &["nsys.enable=true", "--", "EMIT", "push=A", "sleep=30", "pop"],
    ) else {
        return;
    };
    let value = "a-value-like-any-other-4711";
    scene.command.env("HARMLESS", value).env("ANOTHER", "x".repeat(5000));
    let (_, manifest, scene) =
        scene.comes_to(&Expected { outcome: "captured", cause: "", remedy: "", code: 0 });
    let holds = |file: &str, text: &str| {
        let bytes = std::fs::read(scene.sandbox.only_run().join(file)).unwrap();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    };
    assert!(!holds("nsys/run.sqlite", value) && !holds("nsys/run.sqlite", &"x".repeat(100)));
    assert!(holds("nsys/run.sqlite", "HARMLESS="), "the names stay");
    // It is still a database, for those who have an engine.
    let Some(python) = tool("the_export_holds_no_environment", "bin/python3") else { return };
    let check = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('pragma integrity_check').fetchall())";
    let database = scene.sandbox.only_run().join("nsys/run.sqlite");
    let output = Command::new(python).args(["-c", check]).arg(database).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[('ok',)]\n");
    let raw: Vec<&Value> = manifest["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|artifact| artifact["holds_environment"] == true)
        .collect();
    assert_eq!(
        raw.iter().map(|artifact| artifact["path"].as_str().unwrap()).collect::<Vec<_>>(),
        ["nsys/run.nsys-rep"]
    );
}

/// What an nsys can do is asked once, and again when it changes.
#[test]
fn the_probe_is_kept() {
    const TEST: &str = "the_probe_is_kept";
    let Some(scene) = Scene::with_fake(TEST, "exit 0", &["nsys.enable=true", "--", "true"]) else { return };
    let log = scene.sandbox.path("asked");
    let program = scene.sandbox.path("target-linux-x64/nsys");
    let script = std::fs::read_to_string(&program).unwrap();
    let script = script.replacen("\n", &format!("\necho $1 >> {}\n", log.display()), 1);
    scene.sandbox.executable("target-linux-x64/nsys", &script);
    let asked = |sandbox: &Sandbox| {
        let mut command = sandbox.rangefinder(&["doctor"]);
        assert!(command.env("RANGEFINDER_NSYS", &program).output().unwrap().status.success());
        std::fs::read_to_string(&log).unwrap().lines().filter(|line| *line == "--version").count()
    };
    assert_eq!((asked(&scene.sandbox), asked(&scene.sandbox)), (1, 1));
    scene.sandbox.executable("target-linux-x64/nsys", &(script + "\n# changed\n"));
    assert_eq!(asked(&scene.sandbox), 2);
}

/// Of several the newest; the configuration chooses another.
#[test]
fn the_newest_is_taken() {
    const TEST: &str = "the_newest_is_taken";
    let (Some(old), Some(new)) =
        (tool(TEST, "nsys-2022.4.2/usr/bin/nsys"), tool(TEST, "nsys-2023.4.4/usr/bin/nsys"))
    else {
        return;
    };
    let Some(libraries) = tool(TEST, "nsys-libraries/usr/lib/x86_64-linux-gnu") else { return };
    let sandbox = Sandbox::new();
    let path = std::env::join_paths([old.parent().unwrap(), new.parent().unwrap()]).unwrap();
    let doctor = |extra: &str| {
        let mut command = sandbox.rangefinder(&["doctor"]);
        command.env_remove("RANGEFINDER_NSYS").env("PATH", &path).env("RANGEFINDER_LIBRARY_PATH", &libraries);
        if !extra.is_empty() {
            command.env("RANGEFINDER_NSYS", extra);
        }
        Ran::from(command.output().unwrap()).stdout
    };
    let both = doctor("");
    assert!(both.contains("+ nsys     2023.4.4") && both.contains("+ also     2022.4.2"), "{both}");
    assert!(doctor(old.to_str().unwrap()).contains("+ nsys     2022.4.2"));
    let real: PathBuf = old.canonicalize().unwrap();
    let chosen = format!("nsys.path={}", real.display());
    let ran = Ran::from(
        sandbox
            .rangefinder(&["run", &chosen, "--", "true"])
            .env("RANGEFINDER_LIBRARY_PATH", &libraries)
            .env_remove("RANGEFINDER_NSYS")
            .output()
            .unwrap(),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let environment: Value =
        serde_json::from_slice(&std::fs::read(sandbox.only_run().join("env.json")).unwrap()).unwrap();
    assert!(
        environment["nsys"]["probe"]["version"].as_str().unwrap().starts_with("2022.4.2"),
        "{environment}"
    );
    assert!(environment["nsys"]["probe"]["exports"].to_string().contains("sqlite"));
    assert!(environment["nsys"]["probe"]["reports"].to_string().contains("gpukernsum"));
}
