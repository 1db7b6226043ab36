//! The counters' step: with the real ncu where no GPU is needed, and with a script in its place
//! for what only a GPU can make it do. The reports that the script leaves are real ones.

use serde_json::Value;

use crate::support::scripted_ncu::{Scene, ncu, row, verdicts};
use crate::support::{Ran, Sandbox, ncu_report, redacted, step};

/// The real ncu 2022.3, and no GPU.
fn without_gpu(test: &str, arguments: &[&str]) -> Option<(Sandbox, Ran)> {
    let ncu = ncu(test)?;
    let sandbox = Sandbox::new();
    let ran = Ran::from(sandbox.rangefinder(arguments).env("RANGEFINDER_NCU", ncu).output().unwrap());
    Some((sandbox, ran))
}

#[test]
fn no_gpu_is_told_before_the_workload_runs_again() {
    const TEST: &str = "no_gpu_is_told_before_the_workload_runs_again";
    let Some((sandbox, ran)) = without_gpu(TEST, &["run", "ncu.enable=true", "--", "true"]) else { return };
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let manifest = sandbox.manifest();
    let verdict = &manifest["verdicts"][0]["verdict"];
    assert_eq!((&verdict["outcome"], &verdict["cause"]), (&"failed".into(), &"no-gpu".into()));
    assert!(verdict["text"].as_str().unwrap().contains("not started: no GPU"), "{verdict}");
    assert!(manifest["passes"].as_array().unwrap().iter().all(|pass| pass["name"] != "ncu"));
    // Nobody asked: no failure.
    let Some((sandbox, ran)) = without_gpu(TEST, &["run", "--", "true"]) else { return };
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(step(&sandbox.manifest(), "counters")["status"], "skipped");
    // What it can do is written down all the same.
    let environment = std::fs::read(sandbox.only_run().join("env.json")).unwrap();
    let environment: Value = serde_json::from_slice(&environment).unwrap();
    let probe = &environment["ncu"]["probe"];
    assert_eq!(probe["options"]["replay_modes"], serde_json::json!(["kernel", "application", "range"]));
    assert!(probe["sections"].as_array().unwrap().len() >= 15, "{probe}");
    assert!(probe["sets"].to_string().contains("roofline"), "{probe}");
}

#[test]
fn names_that_this_ncu_does_not_have() {
    const TEST: &str = "names_that_this_ncu_does_not_have";
    for (wanted, said) in [
        ("ncu.sections=[SpeedOfLigth]", "no section `SpeedOfLigth`; nearest: `SpeedOfLight`"),
        ("ncu.set=rooflin", "no set `rooflin`; nearest: `roofline`"),
        ("ncu.metrics=[dram__byts.sum]", "no metric `dram__byts`; nearest: `dram__bytes`"),
    ] {
        let Some((sandbox, ran)) = without_gpu(TEST, &["run", wanted, "--", "true"]) else { return };
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert!(sandbox.runs().is_empty(), "nothing is run for it");
    }
    // What a preset of ours names and this ncu lacks is left out, and that is told.
    let Some(real) = ncu(TEST) else { return };
    let sandbox = Sandbox::new();
    let script = format!("#!/bin/sh\n\"{}\" \"$@\" | grep -v ^SpeedOfLight_RooflineChart\n", real.display());
    sandbox.executable("ncu", &script);
    let mut command = sandbox.rangefinder(&["run", "--dry-run", "--", "true"]);
    let ran = Ran::from(command.env("RANGEFINDER_NCU", sandbox.path("ncu")).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("\n  left out no section `SpeedOfLight_RooflineChart`"), "{}", ran.stdout);
}

/// Every section that a preset of ours names is one of ncu's.
#[test]
fn presets_name_what_there_is() {
    const TEST: &str = "presets_name_what_there_is";
    for preset in ["default", "high", "compute", "memory", "quick", "full"] {
        let preset = format!("ncu.{preset}");
        let Some((_, ran)) = without_gpu(TEST, &["run", "--dry-run", "-p", &preset, "--", "true"]) else {
            return;
        };
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("no GPU ("), "{}", ran.stdout);
        assert!(ran.stdout.contains("\n  measure  ") && !ran.stdout.contains("left out"), "{}", ran.stdout);
    }
}

const PROFILED: &str = r#"cp $REPORTS/kernel.ncu-rep "$out"; "$@""#;

/// What differs for ncu is given to it alone, and to a rehearsal of its own.
#[test]
fn a_workload_that_does_less_under_ncu() {
    let test = "a_workload_that_does_less_under_ncu";
    let arguments = ["ncu.enable=true", "ncu.workload={push: B}", "--", "EMIT", "push=A", "pop"];
    let Some(scene) = Scene::new(test, PROFILED, &arguments) else { return };
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("note: ncu runs the workload with push=B\n"), "{}", ran.stderr);
    let run = sandbox.only_run();
    let argv = |name: &str| {
        let passes = manifest["passes"].as_array().unwrap();
        passes.iter().find(|pass| pass["name"] == name).unwrap()["argv"].to_string()
    };
    assert!(argv("ncu").ends_with(r#""push=A","pop","push=B"]"#), "{}", argv("ncu"));
    assert!(argv("rehearsal-ncu").ends_with(r#""push=B"]"#) && argv("rehearsal").ends_with(r#""pop"]"#));
    // The report is of the workload as it was given.
    let ranges = std::fs::read_to_string(run.join("report.md")).unwrap();
    assert!(ranges.contains("| `:A` |") && !ranges.contains("| `:B` |"), "{ranges}");
}

/// Every pass reads what the first one read, if it is a file; of a pipe only the first has something.
#[test]
fn every_pass_has_the_input() {
    let test = "every_pass_has_the_input";
    for (pipe, got) in [(false, "one\ntwo\none\ntwo\n"), (true, "one\ntwo\n")] {
        let arguments = ["ncu.enable=true", "--", "sh", "-c", "cat >> got"];
        let Some(mut scene) = Scene::new(test, PROFILED, &arguments) else { return };
        scene.sandbox.write("input", "skipped\none\ntwo\n");
        let mut input = std::fs::File::open(scene.sandbox.path("input")).unwrap();
        // It begins where whoever started us has come to.
        std::io::Read::read_exact(&mut input, &mut [0; 8]).unwrap();
        if pipe {
            let (reader, mut writer) = std::io::pipe().unwrap();
            std::io::copy(&mut input, &mut writer).unwrap();
            scene.command.stdin(reader);
        } else {
            scene.command.stdin(input);
        }
        let (sandbox, ran, _) = scene.run();
        assert_eq!(std::fs::read_to_string(sandbox.path("got")).unwrap(), got, "{}", ran.stderr);
        let warned = ran.stderr.matches("warning: the workload's stdin is a pipe").count();
        assert_eq!(warned, usize::from(pipe), "{}", ran.stderr);
    }
}

#[test]
fn counters_without_nsys() {
    let test = "counters_without_nsys";
    let Some(scene) = Scene::new(test, PROFILED, &["ncu.enable=true", "--", "true"]) else { return };
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(verdicts(&manifest), [row("kernel replay", "captured", "")]);
    assert!(
        ran.stderr
            .contains("no timeline to select kernels from: measuring the first launch of each launch shape"),
        "{}",
        ran.stderr
    );
    let run = sandbox.only_run();
    let csv = std::fs::read_to_string(run.join("ncu/raw.csv")).unwrap();
    // A heading, the units, and a row for each of the 36 launches.
    assert_eq!(csv.lines().count(), 38);
    let regions = std::fs::read(run.join("ncu/regions/report.json")).unwrap();
    let regions: Value = serde_json::from_slice(&regions).unwrap();
    assert!(regions["regions"].to_string().contains("decode_all"), "{regions}");
    assert!(std::fs::read_to_string(run.join("ncu/sections.txt")).unwrap().contains("SpeedOfLight\t"));
    let command = std::fs::read_to_string(run.join("ncu/cmd.txt")).unwrap();
    assert!(
        command.contains("--clock-control none") && command.contains("--target-processes all"),
        "{command}"
    );
}

#[test]
fn a_gate_without_its_slash_just_works() {
    let test = "a_gate_without_its_slash_just_works";
    let arguments = ["ncu.nvtx_include=[A;B]", "--", "EMIT", "push=A", "pop", "push=B", "pop"];
    let Some(scene) = Scene::new(test, PROFILED, &arguments) else { return };
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(verdicts(&manifest), [row("kernel replay", "captured", "")]);
    let calls = std::fs::read_to_string(sandbox.path("calls")).unwrap();
    assert!(calls.contains("--nvtx-include A/ --nvtx-include B/"), "{calls}");
    let coverage = &manifest["verdicts"][0]["verdict"]["coverage"];
    assert!(coverage.as_array().unwrap().iter().all(|row| row["captured"].as_u64() > Some(0)), "{coverage}");
}

#[test]
fn a_gate_that_can_match_nothing_is_not_tried() {
    let test = "a_gate_that_can_match_nothing_is_not_tried";
    let arguments = ["ncu.nvtx_include=[decod]", "--", "EMIT", "push=decode", "pop"];
    let Some(scene) = Scene::new(test, PROFILED, &arguments) else { return };
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(ran.code, 1);
    assert_eq!(verdicts(&manifest), [row("as asked", "missed", "no-such-range")]);
    assert!(!sandbox.path("calls").exists() && ran.stderr.contains(":decode"), "{}", ran.stderr);
}

/// As ncu 2025.3 does with a Llama's forward pass.
#[test]
fn a_range_that_cannot_be_replayed_ends_in_kernels() {
    let test = "a_range_that_cannot_be_replayed_ends_in_kernels";
    let body = r#"case $mode in
range) echo "==ERROR== Unsupported API during capture (cuKernelSetAttribute)" >> "$log"; exit 9;;
app-range) echo "==WARNING== No ranges were profiled." >> "$log"; "$@";;
*) cp $REPORTS/kernel.ncu-rep "$out"; "$@";;
esac"#;
    let arguments = ["ncu.replay_mode=range", "ncu.nvtx_include=[A]", "--", "EMIT", "push=A", "pop"];
    let Some(scene) = Scene::new(test, body, &arguments) else { return };
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        verdicts(&manifest),
        [
            row("range replay", "failed", "unsupported-call"),
            row("app-range replay", "missed", "no-context"),
            row("kernel replay", "captured", ""),
        ]
    );
    // Steps that have nothing to say are told only when they take a while.
    let quick = |line: &&str| !line.starts_with("doctor ") && !line.starts_with("report     done");
    // The screen about it has times.
    let before = |line: &&str| !line.is_empty();
    let told: Vec<String> = ran.stderr.lines().take_while(before).filter(quick).map(str::to_owned).collect();
    insta::assert_snapshot!(test, redacted(&told.join("\n"), &sandbox));
    let run = sandbox.only_run();
    // What each rung ran is kept, and only ranges are asked to wait for the GPU.
    for (file, waits) in [("cmd.txt", true), ("cmd-2.txt", true), ("cmd-3.txt", false)] {
        let command = std::fs::read_to_string(run.join("ncu").join(file)).unwrap();
        assert_eq!(command.contains("RANGEFINDER_SYNC_RANGES=1"), waits, "{command}");
    }
}

#[test]
fn ranges_that_can_be_replayed() {
    let test = "ranges_that_can_be_replayed";
    let body = r#"cp $REPORTS/range.ncu-rep "$out"; "$@""#;
    let arguments =
        ["ncu.replay_mode=range", "ncu.nvtx_include=[A]", "--", "EMIT", "push=A", "pop", "push=A", "pop"];
    let Some(scene) = Scene::new(test, body, &arguments) else { return };
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(verdicts(&manifest), [row("range replay", "captured", "")]);
    let report = std::fs::read_to_string(sandbox.only_run().join("ncu/regions/report.md")).unwrap();
    assert!(report.to_lowercase().contains("measured on the whole range"), "{report}");
}

/// What lies in another range is measured in a run of its own.
#[test]
fn ranges_in_ranges() {
    let test = "ranges_in_ranges";
    let body = r#"cp $REPORTS/range.ncu-rep "$out"; "$@""#;
    let gates = "ncu.nvtx_include=[A,':A/A1',B]";
    let program = ["--", "EMIT", "push=A", "push=A1", "pop", "pop", "push=B", "pop"];
    let arguments: Vec<&str> = ["ncu.replay_mode=range", gates].into_iter().chain(program).collect();
    let Some(scene) = Scene::new(test, body, &arguments) else { return };
    let (sandbox, ran, _) = scene.run();
    let calls = std::fs::read_to_string(sandbox.path("calls")).unwrap();
    let includes: Vec<Vec<&str>> = calls
        .lines()
        .filter(|line| line.contains("--replay-mode range"))
        .map(|line| {
            line.split("--nvtx-include ").skip(1).map(|rest| rest.split(' ').next().unwrap()).collect()
        })
        .collect();
    assert_eq!(includes, [vec!["A/", "B/"], vec!["A/A1"]], "{}", ran.stderr);
}

#[test]
fn what_no_other_way_can_mend() {
    for (test, line, cause, remedy) in [
        (
            "counters_are_for_administrators",
            "ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.",
            "not-permitted",
            "NVreg_RestrictProfilingToAdminUsers",
        ),
        (
            "somebody_else_counts",
            "Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data.",
            "device-busy",
            "dcgmi",
        ),
        (
            "too_old_for_the_chip",
            "Profiling is not supported on device 0.",
            "unsupported-chip",
            "as new as the GPU",
        ),
        (
            "another_profiler",
            "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
            "cupti-in-use",
            "RANGEFINDER_PASS",
        ),
    ] {
        let body = format!("echo '==ERROR== {line}' >> \"$log\"; \"$@\"; exit 1");
        let Some(scene) = Scene::new(
            test,
            &body,
            &["ncu.replay_mode=range", "ncu.nvtx_include=[A]", "--", "EMIT", "push=A", "pop"],
        ) else {
            return;
        };
        let (_, ran, manifest) = scene.run();
        assert_eq!(verdicts(&manifest), [row("range replay", "failed", cause)], "{}", ran.stderr);
        assert!(ran.stderr.contains(remedy) && ran.code == 1, "{}", ran.stderr);
    }
}

#[test]
fn other_causes() {
    for (test, body, outcome, cause) in [
        (
            "nothing_profiled",
            r#"echo "==WARNING== No kernels were profiled." >> "$log"; "$@""#,
            "missed",
            "no-kernels",
        ),
        (
            "workload_fails",
            r#""$@"; echo "==ERROR== The application returned an error code (3)." >> "$log"; exit 3"#,
            "failed",
            "workload-failed",
        ),
        (
            "replay_diverged",
            r#""$@"; echo "==ERROR== Unexpected number of profiled kernels." >> "$log"; exit 1"#,
            "failed",
            "replay-diverged",
        ),
        (
            "out_of_memory",
            r#""$@"; echo "==ERROR== Out of memory." >> "$log"; exit 1"#,
            "failed",
            "out-of-memory",
        ),
        (
            "unknown_error",
            r#""$@"; echo "==ERROR== Unknown Error on device 0." >> "$log"; exit 9"#,
            "failed",
            "tool-error",
        ),
        ("unreadable", r#"echo garbage > "$out"; "$@""#, "failed", "report-unreadable"),
        (
            "cut_short",
            r#"head -c 1000000 $REPORTS/kernel.ncu-rep > "$out"; "$@"; exit 3"#,
            "partial",
            "workload-failed",
        ),
    ] {
        let Some(scene) = Scene::new(test, body, &["ncu.enable=true", "--", "true"]) else { return };
        let (_, ran, manifest) = scene.run();
        assert_eq!(verdicts(&manifest), [row("kernel replay", outcome, cause)], "{test}: {}", ran.stderr);
        assert_ne!(ran.code, 0, "{test}");
    }
}

/// What broke off is not whole when nobody knows what whole would be.
#[test]
fn half_a_capture_is_no_capture() {
    let body = r#"cp $REPORTS/kernel.ncu-rep "$out"; echo "==ERROR== Failed to save context state" >> "$log"; "$@"; exit 9"#;
    let Some(scene) = Scene::new("half_a_capture_is_no_capture", body, &["ncu.enable=true", "--", "true"])
    else {
        return;
    };
    let (_, ran, manifest) = scene.run();
    assert_eq!(verdicts(&manifest), [row("kernel replay", "partial", "out-of-memory")], "{}", ran.stderr);
    assert_eq!(ran.code, 1);
}

/// A gate of the program's own that never opened is not replaced by none.
#[test]
fn a_profiler_that_is_never_started() {
    let test = "a_profiler_that_is_never_started";
    let body = r#"echo "==WARNING== No kernels were profiled." >> "$log"; "$@""#;
    let Some(scene) = Scene::new(test, body, &["ncu.capture_range=cudaProfilerApi", "--", "true"]) else {
        return;
    };
    let (_, ran, manifest) = scene.run();
    assert_eq!(verdicts(&manifest), [row("kernel replay", "missed", "no-kernels")], "{}", ran.stderr);
    assert_eq!(ran.code, 1);
}

/// The workload may say what ncu would.
#[test]
fn the_workloads_words_are_its_own() {
    let test = "the_workloads_words_are_its_own";
    let body = r#"echo "warning: unsupported architecture, Out of memory" >&2; cp $REPORTS/kernel.ncu-rep "$out"; "$@""#;
    let Some(scene) = Scene::new(test, body, &["ncu.enable=true", "--", "true"]) else { return };
    let (_, ran, manifest) = scene.run();
    assert_eq!(verdicts(&manifest), [row("kernel replay", "captured", "")], "{}", ran.stderr);
}

/// An ncu without app-range replay: the ladder goes on.
#[test]
fn an_old_ncu_ends_in_kernels_as_well() {
    let test = "an_old_ncu_ends_in_kernels_as_well";
    let body = r#"case $mode in
range) echo "==ERROR== Unsupported API during capture (cuKernelSetAttribute)" >> "$log"; exit 9;;
*) cp $REPORTS/kernel.ncu-rep "$out"; "$@";;
esac"#;
    let arguments = ["ncu.replay_mode=range", "ncu.nvtx_include=[A]", "--", "EMIT", "push=A", "pop"];
    let Some(scene) = Scene::new(test, body, &arguments) else { return };
    // As the real one says it.
    let script = std::fs::read_to_string(scene.sandbox.path("ncu")).unwrap();
    let (start, rest) = script.split_once("; printf '  --filter-mode").unwrap();
    let (_, rest) = rest.split_once("; exit;;").unwrap();
    scene.sandbox.executable("ncu", &format!("{start}; exit;;{rest}"));
    let (_, ran, manifest) = scene.run();
    assert_eq!(
        verdicts(&manifest),
        [
            row("range replay", "failed", "unsupported-call"),
            row("app-range replay", "failed", "not-supported"),
            row("kernel replay", "captured", ""),
        ],
        "{}",
        ran.stderr
    );
}

/// ncu's own expressions are ncu's to understand.
#[test]
fn expressions_of_ncu() {
    let test = "expressions_of_ncu";
    let arguments = ["ncu.nvtx_include=['regex:A.*/']", "--", "EMIT", "push=A", "pop"];
    let Some(scene) = Scene::new(test, PROFILED, &arguments) else { return };
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(verdicts(&manifest), [row("kernel replay", "captured", "")], "{}", ran.stderr);
    let calls = std::fs::read_to_string(sandbox.path("calls")).unwrap();
    assert!(calls.contains("--nvtx-include regex:A.*/"), "{calls}");
}

/// What a pattern matches is measured as one region, with one of ncu's own.
#[test]
fn a_pattern_is_one_region() {
    let test = "a_pattern_is_one_region";
    let program = ["--", "EMIT", "push=A", "push=A1", "pop", "pop", "push=A2", "pop", "push=B", "pop"];
    let arguments: Vec<&str> = ["ncu.nvtx_include=[':A*']"].into_iter().chain(program).collect();
    let Some(scene) = Scene::new(test, PROFILED, &arguments) else { return };
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(verdicts(&manifest), [row("kernel replay", "captured", "")], "{}", ran.stderr);
    let calls = std::fs::read_to_string(sandbox.path("calls")).unwrap();
    assert!(calls.contains("--nvtx-include regex:^A.*$/ "), "{calls}");
    let coverage = manifest["verdicts"][0]["verdict"]["coverage"].as_array().unwrap();
    let regions: Vec<&str> = coverage.iter().map(|row| row["region"].as_str().unwrap()).collect();
    assert_eq!(regions, [":A*"], "{coverage:?}");
    let body = r#"cp $REPORTS/range.ncu-rep "$out"; "$@""#;
    let arguments: Vec<&str> =
        ["ncu.replay_mode=range", "ncu.nvtx_include=['A*']"].into_iter().chain(program).collect();
    let Some(scene) = Scene::new(&format!("{test}_of_ranges"), body, &arguments) else { return };
    let (sandbox, ran, _) = scene.run();
    let calls = std::fs::read_to_string(sandbox.path("calls")).unwrap();
    let ranges: Vec<&str> = calls.lines().filter(|line| line.contains("--replay-mode range")).collect();
    assert_eq!(ranges.len(), 2, "`:A/A1` lies in `:A`: {calls}\n{}", ran.stderr);
}

#[test]
fn between_cuda_profiler_start_and_stop() {
    let test = "between_cuda_profiler_start_and_stop";
    let Some(scene) = Scene::new(test, PROFILED, &["ncu.capture_range=cudaProfilerApi", "--", "true"]) else {
        return;
    };
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(verdicts(&manifest), [row("kernel replay", "captured", "")]);
    let calls = std::fs::read_to_string(sandbox.path("calls")).unwrap();
    assert!(calls.contains("--profile-from-start off"), "{calls}");
    assert!(ran.stderr.contains("after cudaProfilerStart"), "{}", ran.stderr);
}

/// A run that has counters and no timeline can be analyzed again, and so can a report alone.
#[test]
fn counters_are_analyzed_without_any_tool() {
    let test = "counters_are_analyzed_without_any_tool";
    let sandbox = Sandbox::new();
    ncu_report("kernel", &sandbox.path("x.ncu-rep"));
    let ran = sandbox.output(&["analyze", "x.ncu-rep"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!(test, ran.stdout);
    let ran = sandbox.output(&["analyze", "--json", "--out", "tables", "x.ncu-rep"]);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let counters = document["counters"].as_array().unwrap();
    assert_eq!(counters.len(), 36);
    let first = &counters[0];
    assert_eq!((&first["short_name"], &first["region_path"]), (&"copy_kernel".into(), &":A".into()));
    let metrics = first["metrics"].as_object().unwrap();
    assert_eq!(metrics.len(), 573);
    assert_eq!(metrics["gpu__time_duration.sum"]["unit"], "ns");
    assert!(sandbox.path("tables/counter-regions/report.md").is_file());
    let html = std::fs::read_to_string(sandbox.path("tables/report.html")).unwrap();
    assert!(html.contains("<title>x.ncu-rep"), "{}", &html[..html.len().min(3000)]);
    let csv = std::fs::read_to_string(sandbox.path("tables/counters.csv")).unwrap();
    assert_eq!(csv.lines().count(), 38);
    // Cut off in the middle: what comes before is kept, and the rest is told.
    let bytes = std::fs::read(sandbox.path("x.ncu-rep")).unwrap();
    std::fs::write(sandbox.path("cut.ncu-rep"), &bytes[..bytes.len() / 2]).unwrap();
    let ran = sandbox.output(&["analyze", "cut.ncu-rep"]);
    assert!(
        ran.code == 0 && ran.stdout.contains("lost: cut.ncu-rep: the file is truncated at byte "),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}
