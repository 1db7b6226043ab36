//! Why a capture is what it is: every cause provoked, mostly with the real nsys, and held
//! against verdict, cause, remedy and exit code.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::nsys_scene::{Expected, Scene, VERSION, assert_verdict};
use crate::support::{Ran, Sandbox, nvtx_program, skip, tool};

#[test]
fn not_installed() {
    let Some(scene) =
        Scene::with("not_installed", Path::new("/nonexistent/nsys"), &["nsys.enable=true", "--", "true"])
    else {
        return;
    };
    scene.comes_to(&Expected {
        outcome: "failed",
        cause: "not-installed",
        remedy: "correct RANGEFINDER_NSYS, or unset it",
        code: 1,
    });
}

/// The real program, taken out of its installation.
#[test]
fn tool_broken() {
    const TEST: &str = "tool_broken";
    let Some(nsys) = tool(TEST, &format!("nsys-{VERSION}/usr/bin/nsys")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("nsys");
    std::fs::copy(nsys.canonicalize().unwrap(), &alone).unwrap();
    let Some(scene) = Scene::with(TEST, &alone, &["nsys.enable=true", "--", "true"]) else { return };
    scene.comes_to(&Expected { outcome: "failed", cause: "tool-broken", remedy: "reinstall", code: 1 });
}

/// Before how to use it, nsys prints what is wrong.
#[test]
fn refused_trace() {
    let arguments = ["nsys.enable=true", "nsys.trace=[foo]", "--", "true"];
    let Some(scene) = Scene::new("refused_trace", &arguments) else { return };
    let (_, manifest, _) =
        scene.comes_to(&Expected { outcome: "failed", cause: "refused", remedy: "nsys.trace", code: 1 });
    let evidence = manifest["verdicts"][0]["verdict"]["evidence"].to_string();
    assert!(evidence.contains("Illegal --trace argument 'foo'"), "{evidence}");
}

#[test]
fn refused() {
    let Some(scene) = Scene::new(
        "refused",
        &["nsys.enable=true", "nsys.extra_args=--no-such-option", "--", "EMIT", "push=A", "pop"],
    ) else {
        return;
    };
    let (ran, ..) =
        scene.comes_to(&Expected { outcome: "failed", cause: "refused", remedy: "nsys.extra_args", code: 1 });
    assert!(ran.stderr.contains("unrecognised option"), "{}", ran.stderr);
}

#[test]
fn ended_too_soon() {
    let arguments = ["nsys.enable=true", "capture.delay=10s", "--", "EMIT", "push=A", "sleep=100", "pop"];
    let Some(scene) = Scene::new("ended_too_soon", &arguments) else { return };
    let remedy = "shorten `capture.delay`";
    let (ran, ..) = scene.comes_to(&Expected { outcome: "failed", cause: "ended-too-soon", remedy, code: 1 });
    let text = "s, before `capture.delay=10s` had passed: nothing was recorded";
    assert!(ran.stderr.contains(text), "{}", ran.stderr);
}

/// Whoever killed it: the workload is not to blame, and ended well.
#[test]
fn nsys_itself_is_killed() {
    // Between the two stands a launcher of nsys's.
    let script = "[ \"$RANGEFINDER_PASS\" = nsys ] && kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); \
                  EMIT push=A sleep=200 pop";
    let Some(scene) = Scene::new("nsys_itself_is_killed", &["nsys.enable=true", "--", "sh", "-c", script])
    else {
        return;
    };
    // Its agent lives on and writes what it has.
    let expected = Expected { outcome: "partial", cause: "tool-error", remedy: "the full log", code: 1 };
    let (ran, _, scene) = scene.comes_to(&expected);
    assert!(ran.stderr.contains("nsys itself was killed by signal 9 (SIGKILL)"), "{}", ran.stderr);
    // Where there is no nsys, a resumed run keeps what it has.
    let run = scene.sandbox.only_run();
    let mut command = scene.sandbox.rangefinder(&["resume", run.to_str().unwrap()]);
    let ran = Ran::from(command.env("RANGEFINDER_NSYS", "none").output().unwrap());
    assert!(ran.code == 1 && ran.stderr.contains("the incomplete report is still used"), "{}", ran.stderr);
    assert_verdict(&scene.sandbox.manifest()["verdicts"][0], &expected, &ran.stderr);
    assert!(run.join("nsys/run.sqlite").is_file());
}

#[test]
fn no_such_range() {
    let Some(scene) =
        Scene::new("no_such_range", &["nsys.nvtx_capture=decode", "--", "EMIT", "push=A", "pop"])
    else {
        return;
    };
    let (_, manifest, _) = scene.comes_to(&Expected {
        outcome: "missed",
        cause: "no-such-range",
        remedy: "rangefinder ranges",
        code: 1,
    });
    assert_eq!(manifest["passes"].as_array().unwrap().len(), 1, "nsys was not started");
}

/// A dry run knows it from the rehearsal of an earlier run.
#[test]
fn a_dry_run_foresees_what_is_not_started() {
    const TEST: &str = "a_dry_run_foresees_what_is_not_started";
    let Some(nsys) = tool(TEST, &format!("nsys-{VERSION}/usr/bin/nsys")) else { return };
    let Some(scene) = Scene::new(TEST, &["nsys.nvtx_capture=decode", "--", "EMIT", "push=A", "pop"]) else {
        return;
    };
    let (_, _, scene) = scene.comes_to(&Expected {
        outcome: "missed",
        cause: "no-such-range",
        remedy: "an existing range",
        code: 1,
    });
    let emit = nvtx_program(TEST, "emit").unwrap();
    for (gate, said) in [
        ("decode", "\ntimeline   nsys will not be started: its gate `decode` matches nothing (see below)\n"),
        ("A", "\ntimeline   run the workload again under nsys "),
    ] {
        let gate = format!("nsys.nvtx_capture={gate}");
        let mut command =
            scene.sandbox.rangefinder(&["run", "--dry-run", &gate, "--", &emit, "push=A", "pop"]);
        let planned = Ran::from(command.env("RANGEFINDER_NSYS", &nsys).output().unwrap()).stdout;
        assert!(planned.contains(said), "{planned}");
    }
}

/// Without a rehearsal nobody knows before; with the ungated report everybody does.
#[test]
fn no_such_range_and_no_rehearsal() {
    let arguments = ["rehearsal.enable=false", "nsys.nvtx_capture=decode", "--", "EMIT", "push=A", "pop"];
    let Some(scene) = Scene::new("no_such_range_and_no_rehearsal", &arguments) else { return };
    let (ran, ..) = scene.comes_to(&Expected {
        outcome: "missed",
        cause: "no-such-range",
        remedy: "gate on a range that is in the report: :A",
        code: 1,
    });
    for line in [
        "not analyzed: the range you gated on is not in the report",
        "skipped    the range you gated on is not in the report",
    ] {
        assert!(ran.stderr.contains(line) && !ran.stderr.contains("no finding"), "{}", ran.stderr);
    }
}

#[test]
fn wrong_domain() {
    let arguments = ["nsys.strict=true", "nsys.nvtx_capture=d", "--", "EMIT", "dpush=LLM:d", "dpop=LLM"];
    for version in ["2022.4.2", VERSION] {
        let Some(scene) = Scene::of_version("wrong_domain", version, &arguments) else { return };
        let expected = Expected { outcome: "missed", cause: "wrong-domain", remedy: "NAME@DOMAIN", code: 1 };
        let (ran, ..) = scene.comes_to(&expected);
        assert!(ran.stderr.contains("exists only in domain `LLM`"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("nsys: d as typed (`nsys.strict`) matches 0 instances"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn unregistered_string() {
    let arguments = ["nsys.strict=true", "nsys.nvtx_capture=A", "--", "EMIT", "push=A", "pop"];
    for version in ["2022.4.2", VERSION] {
        let Some(scene) = Scene::of_version("unregistered_string", version, &arguments) else { return };
        let expected = Expected {
            outcome: "missed",
            cause: "unregistered-string",
            remedy: "`nsys.extra_args=[--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0]`",
            code: 1,
        };
        scene.comes_to(&expected);
    }
}

/// The same without a rehearsal: the rung below finds out why the one above missed.
#[test]
fn a_miss_is_explained_afterwards() {
    let arguments =
        ["rehearsal.enable=false", "nsys.nvtx_capture=A", "--", "EMIT", "push=A", "sleep=50", "pop"];
    let Some(scene) = Scene::new("a_miss_is_explained_afterwards", &arguments) else { return };
    let (ran, manifest, _) =
        scene.comes_to(&Expected { outcome: "captured", cause: "", remedy: "", code: 0 });
    let expected = Expected {
        outcome: "missed",
        cause: "unregistered-string",
        remedy: "`nsys.extra_args=[--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0]`",
        code: 0,
    };
    assert_verdict(&manifest["verdicts"][0], &expected, &ran.stderr);
}

#[test]
fn gate_cannot_open() {
    let wide = ["nsys.strict=true", "nsys.nvtx_capture=W", "--", "EMIT", "wpush=W", "pop"];
    let ours =
        ["nsys.strict=true", "nsys.nvtx_capture=:A/in", "--", "EMIT", "push=A", "push=in", "pop", "pop"];
    for arguments in [&wide[..], &ours[..]] {
        let Some(scene) = Scene::new("gate_cannot_open", arguments) else { return };
        scene.comes_to(&Expected {
            outcome: "missed",
            cause: "gate-cannot-open",
            remedy: "record without one",
            code: 1,
        });
    }
}

#[test]
fn gate_never_opened() {
    let arguments =
        ["rehearsal.enable=false", "nsys.strict=true", "nsys.nvtx_capture=A", "--", "EMIT", "push=A", "pop"];
    for version in ["2022.4.2", VERSION] {
        let Some(scene) = Scene::of_version("gate_never_opened", version, &arguments) else { return };
        scene.comes_to(&Expected {
            outcome: "missed",
            cause: "gate-never-opened",
            remedy: "rehearsal.enable=true",
            code: 1,
        });
    }
}

/// Nobody calls cudaProfilerStart here.
#[test]
fn the_profiler_is_never_started() {
    let arguments = [
        "nsys.enable=true",
        "nsys.trace=cuda",
        "nsys.capture_range=cudaProfilerApi",
        "--",
        "EMIT",
        "push=A",
        "pop",
    ];
    let Some(scene) = Scene::new("the_profiler_is_never_started", &arguments) else { return };
    scene.comes_to(&Expected {
        outcome: "missed",
        cause: "gate-never-opened",
        remedy: "cudaProfilerStart",
        code: 1,
    });
}

/// Prefill always, decode only where no tool looks: as when there is nothing to generate.
#[test]
fn path_not_taken() {
    let line = "case $RANGEFINDER_PASS in rehearsal*) EMIT push=prefill pop push=decode pop;; *) EMIT push=prefill sleep=50 pop;; esac";
    let arguments = ["nsys.nvtx_capture=decode", "--", "sh", "-c", line];
    let Some(scene) = Scene::new("path_not_taken", &arguments) else { return };
    let expected =
        Expected { outcome: "missed", cause: "path-not-taken", remedy: "no tokens to generate", code: 1 };
    let (_, manifest, _) = scene.comes_to(&expected);
    let passes: Vec<&str> =
        manifest["passes"].as_array().unwrap().iter().map(|pass| pass["name"].as_str().unwrap()).collect();
    assert!(passes.contains(&"rehearsal-2"), "it was rehearsed once more: {passes:?}");
}

#[test]
fn client_not_seen() {
    const TEST: &str = "client_not_seen";
    let (Some(python), Some(package)) = (tool(TEST, "bin/python3"), tool(TEST, "python/nvtx-0.2.16")) else {
        return;
    };
    let path = format!("workload.env.PYTHONPATH={}", package.display());
    let program = "import nvtx\nfor _ in range(5):\n    with nvtx.annotate('decode'): pass";
    let arguments = ["nsys.enable=true", &path, "--", python.to_str().unwrap(), "-c", program];
    let Some(scene) = Scene::new(TEST, &arguments) else { return };
    scene.comes_to(&Expected { outcome: "missed", cause: "client-not-seen", remedy: "newer nsys", code: 1 });
}

/// The rehearsal saw the range, under its corrected gate; which of two reasons it is, nobody knows.
#[test]
fn a_program_that_does_nothing_under_nsys() {
    let line = "[ $RANGEFINDER_PASS = nsys ] || EMIT push=A sleep=30 pop";
    let arguments = ["nsys.nvtx_capture=A", "--", "sh", "-c", line];
    let Some(scene) = Scene::new("a_program_that_does_nothing_under_nsys", &arguments) else { return };
    let expected =
        Expected { outcome: "missed", cause: "client-not-seen", remedy: "did the program do less", code: 1 };
    let (_, manifest, _) = scene.comes_to(&expected);
    assert_eq!(
        manifest["verdicts"][0]["verdict"]["text"],
        "the gate never opened, but nsys still ended with exit code 0; the rehearsal saw 1 instance"
    );
}

/// nsys loses what a killed child did last; the tracer does not.
#[test]
fn records_lost() {
    let line = "EMIT push=A sleep=100 pop; EMIT push=A sleep=20 pop push=B pop push=C kill; true";
    let Some(scene) = Scene::new("records_lost", &["nsys.enable=true", "--", "sh", "-c", line]) else {
        return;
    };
    let (_, manifest, _) = scene.comes_to(&Expected {
        outcome: "partial",
        cause: "records-lost",
        remedy: "record less",
        code: 1,
    });
    let coverage = manifest["verdicts"][0]["verdict"]["coverage"].to_string();
    assert!(coverage.contains(r#""captured":0,"expected":1"#), "{coverage}");
}

#[test]
fn count_varies() {
    let sandbox = Sandbox::new();
    sandbox.write("count", "");
    let counter = sandbox.path("count").display().to_string();
    // One range more in every run.
    let line = format!("echo x >> {counter}; for _ in $(cat {counter}); do EMIT push=A sleep=30 pop; done");
    let Some(scene) = Scene::new("count_varies", &["nsys.enable=true", "--", "sh", "-c", &line]) else {
        return;
    };
    scene.comes_to(&Expected { outcome: "captured", cause: "count-varies", remedy: "", code: 0 });
}

/// Another tool has the place of our tracer, and nsys takes it back.
#[test]
fn rehearsal_was_blind() {
    let arguments = [
        "nsys.enable=true",
        "workload.env.NVTX_INJECTION64_PATH=/nonexistent.so",
        "--",
        "EMIT",
        "push=A",
        "sleep=30",
        "pop",
    ];
    let Some(scene) = Scene::new("rehearsal_was_blind", &arguments) else { return };
    scene.comes_to(&Expected { outcome: "captured", cause: "rehearsal-was-blind", remedy: "", code: 0 });
}

#[test]
fn nothing_recorded() {
    let Some(scene) = Scene::new("nothing_recorded", &["nsys.enable=true", "--", "sleep", "0.1"]) else {
        return;
    };
    scene.comes_to(&Expected {
        outcome: "missed",
        cause: "nothing-recorded",
        remedy: "does it use CUDA or NVTX",
        code: 1,
    });
}

/// A real nsys in a folder of its own.
fn moved_nsys(test: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let nsys = tool(test, &format!("nsys-{VERSION}/usr/bin/nsys"))?;
    let real = nsys.canonicalize().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a/b/target-linux-x64");
    std::fs::create_dir_all(&target).unwrap();
    for entry in std::fs::read_dir(real.parent().unwrap()).unwrap().flatten() {
        let place = target.join(entry.file_name());
        if entry.path() == real {
            std::fs::copy(entry.path(), place).unwrap();
        } else {
            std::os::unix::fs::symlink(entry.path(), place).unwrap();
        }
    }
    Some((folder, target))
}

/// A real nsys, installed without the package that brings its importer.
#[test]
fn importer_not_found() {
    const TEST: &str = "importer_not_found";
    let Some((_folder, target)) = moved_nsys(TEST) else { return };
    let arguments = ["nsys.enable=true", "--", "EMIT", "push=A", "sleep=30", "pop"];
    let Some(scene) = Scene::with(TEST, &target.join("nsys"), &arguments) else { return };
    let (_, _, scene) = scene.comes_to(&Expected {
        outcome: "failed",
        cause: "importer-not-found",
        remedy: "`.qdstrm` was kept",
        code: 1,
    });
    assert!(scene.sandbox.only_run().join("nsys/run.qdstrm").is_file());
}

/// It was seen to crash when it had saved its report: that is judged by what is in it.
#[test]
fn importer_that_crashes_at_its_end() {
    const TEST: &str = "importer_that_crashes_at_its_end";
    let Some((_folder, target)) = moved_nsys(TEST) else { return };
    let Some(libraries) = tool(TEST, "nsys-libraries/usr/lib/x86_64-linux-gnu") else { return };
    let importer =
        tool(TEST, &format!("nsys-{VERSION}/usr/lib/nsight-systems/host-linux-x64/QdstrmImporter"));
    let Some(importer) = importer else { return };
    for (end, outcome, cause, remedy, code) in [
        ("kill -SEGV $$", "captured", "", "", 0),
        // Nothing says that what it left is whole.
        ("exit 1", "failed", "importer-broken", "`.qdstrm` was kept", 1),
    ] {
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --help ] && exec '{0}' --help\n'{0}' \"$@\"\n{end}\n",
            importer.display()
        );
        let place = target.with_file_name("host-linux-x64");
        std::fs::create_dir_all(&place).unwrap();
        let place = place.join("QdstrmImporter");
        std::fs::write(&place, script).unwrap();
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
        let arguments = ["nsys.enable=true", "--", "EMIT", "push=A", "sleep=30", "pop"];
        let Some(mut scene) = Scene::with(TEST, &target.join("nsys"), &arguments) else { return };
        scene.command.env("RANGEFINDER_LIBRARY_PATH", &libraries);
        let (ran, _, _) = scene.comes_to(&Expected { outcome, cause, remedy, code });
        assert!(!ran.stderr.contains("Processing [0%"), "{}", ran.stderr);
    }
}

#[test]
fn importer_broken() {
    const TEST: &str = "importer_broken";
    if Path::new("/usr/lib/x86_64-linux-gnu/libssh.so.4").exists() {
        return skip(TEST, "the library is installed here");
    }
    let Some(mut scene) = Scene::new(TEST, &["nsys.enable=true", "--", "EMIT", "push=A", "sleep=30", "pop"])
    else {
        return;
    };
    scene.command.env("RANGEFINDER_LIBRARY_PATH", "/nonexistent");
    scene.comes_to(&Expected {
        outcome: "failed",
        cause: "importer-broken",
        remedy: "RANGEFINDER_LIBRARY_PATH",
        code: 1,
    });
}

/// The workload stands in the way of the export.
#[test]
fn export_failed() {
    let line = "mkdir -p $RANGEFINDER_PASS_DIR/../../nsys/run.sqlite.partial/x; EMIT push=A sleep=30 pop";
    let Some(scene) = Scene::new("export_failed", &["nsys.enable=true", "--", "sh", "-c", line]) else {
        return;
    };
    let (_, _, scene) = scene.comes_to(&Expected {
        outcome: "failed",
        cause: "export-failed",
        remedy: "raw report was kept",
        code: 1,
    });
    let run = scene.sandbox.only_run();
    assert!(run.join("nsys/run.nsys-rep").is_file() && !run.join("nsys/run.sqlite").exists());
}

#[test]
fn workload_failed() {
    let line = "EMIT push=A sleep=30 pop; [ $RANGEFINDER_PASS = rehearsal ] || exit 7";
    let Some(scene) = Scene::new("workload_failed", &["nsys.enable=true", "--", "sh", "-c", line]) else {
        return;
    };
    let (ran, ..) = scene.comes_to(&Expected {
        outcome: "captured",
        cause: "workload-failed",
        remedy: "stderr.log",
        code: 3,
    });
    let last =
        "\nworkload: exit code 7 in the pass nsys (exit code 0 in the rehearsal); rangefinder: exit code 3\n";
    assert!(ran.stderr.ends_with(last), "{}", ran.stderr);
}

/// The code that is asked for is that of the failure.
#[test]
fn the_workload_s_code_is_that_of_its_failure() {
    let line = "EMIT push=A sleep=30 pop; [ $RANGEFINDER_PASS = rehearsal ] || exit 7";
    let arguments = ["--exit-code=workload", "--", "sh", "-c", line];
    let Some(scene) = Scene::new("the_workload_s_code_is_that_of_its_failure", &arguments) else { return };
    scene.comes_to(&Expected {
        outcome: "captured",
        cause: "workload-failed",
        remedy: "stderr.log",
        code: 7,
    });
}

/// A crash before everything happened.
#[test]
fn workload_crashed() {
    let line =
        "EMIT push=A sleep=100 pop; [ $RANGEFINDER_PASS = rehearsal ] || kill -SEGV $$; EMIT push=B pop";
    let Some(scene) = Scene::new("workload_crashed", &["nsys.enable=true", "--", "sh", "-c", line]) else {
        return;
    };
    scene.comes_to(&Expected { outcome: "partial", cause: "workload-failed", remedy: "stderr.log", code: 3 });
}

/// Exit code 143, and a success: nsys ends the program after the range, as it was asked to.
#[test]
fn ended_after_range() {
    let mut arguments = vec!["nsys.nvtx_capture=A", "nsys.capture_range_end=stop-shutdown", "--", "EMIT"];
    arguments.extend(["push=A", "sleep=50", "pop", "sleep=700"].repeat(3));
    let Some(scene) = Scene::new("ended_after_range", &arguments) else { return };
    let (ran, ..) =
        scene.comes_to(&Expected { outcome: "captured", cause: "ended-after-range", remedy: "", code: 0 });
    assert!(ran.stderr.contains("1 of 3 instances"), "{}", ran.stderr);
}

#[test]
fn timed_out() {
    let line = "EMIT push=A sleep=100 pop; case $RANGEFINDER_PASS in rehearsal*) ;; *) sleep 60;; esac";
    let arguments = ["nsys.enable=true", "workload.timeout=4s", "--", "sh", "-c", line];
    let Some(scene) = Scene::new("timed_out", &arguments) else { return };
    let (_, _, scene) = scene.comes_to(&Expected {
        outcome: "partial",
        cause: "timed-out",
        remedy: "workload.timeout",
        code: 3,
    });
    assert!(scene.sandbox.only_run().join("nsys/run.sqlite").is_file());
}

/// CPU sampling of the whole system is not for everybody.
#[test]
fn not_permitted() {
    const TEST: &str = "not_permitted";
    let arguments =
        ["nsys.enable=true", "nsys.sample=system-wide", "--", "EMIT", "push=A", "sleep=30", "pop"];
    let Some(mut scene) = Scene::new(TEST, &arguments) else { return };
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if paranoid.trim().parse::<i32>().is_ok_and(|level| level < 1) {
        return skip(TEST, "everybody may sample everything here");
    }
    if is_root() {
        let mut command = Command::new("unshare");
        command.arg("--user").arg(scene.command.get_program()).args(scene.command.get_args());
        command.current_dir(scene.sandbox.path("")).stdin(std::process::Stdio::null());
        command.envs(scene.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if !Command::new("unshare").args(["--user", "true"]).status().is_ok_and(|status| status.success()) {
            return skip(TEST, "no user namespaces here");
        }
        scene.command = command;
    }
    scene.comes_to(&Expected {
        outcome: "partial",
        cause: "not-permitted",
        remedy: "perf_event_paranoid",
        code: 1,
    });
}

#[test]
fn disk_full() {
    const TEST: &str = "disk_full";
    let Some(scene) = Scene::new(
        TEST,
        &["nsys.enable=true", "run.dir=small/runs", "--", "EMIT", "push=A", "sleep=30", "pop"],
    ) else {
        return;
    };
    let probe = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return skip(TEST, "no user namespaces here");
    }
    std::fs::create_dir(scene.sandbox.path("small")).unwrap();
    // Room for the rehearsal and for the stream, not for the report.
    let line = "mount -t tmpfs -o size=1500k none small && \"$@\"; code=$?; cp -r small/runs . 2>/dev/null; exit $code";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", line, "sh"]);
    command.arg(scene.command.get_program()).args(scene.command.get_args());
    command.current_dir(scene.sandbox.path("")).stdin(std::process::Stdio::null());
    command.envs(scene.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let scene = Scene { command, ..scene };
    scene.comes_to(&Expected { outcome: "failed", cause: "disk-full", remedy: "free some space", code: 1 });
}

/// Real nsys loses its agent now and then, when several run at once; not when it is asked to.
#[test]
fn agent_lost_by_a_fake() {
    let body = "echo \"Connection to Agent lost. Internal reason: 'Connection reset by peer'.\"; exit 1";
    let Some(scene) = Scene::with_fake("agent_lost_by_a_fake", body, &["nsys.enable=true", "--", "true"])
    else {
        return;
    };
    let (_, manifest, _) =
        scene.comes_to(&Expected { outcome: "failed", cause: "agent-lost", remedy: "another nsys", code: 1 });
    assert!(manifest["warnings"].to_string().contains("starting it again"), "{}", manifest["warnings"]);
}

/// Real nsys exports what it has written.
#[test]
fn report_unreadable_by_a_fake() {
    let body = "echo garbage > \"$out.nsys-rep\"";
    let Some(scene) =
        Scene::with_fake("report_unreadable_by_a_fake", body, &["nsys.enable=true", "--", "true"])
    else {
        return;
    };
    scene.comes_to(&Expected {
        outcome: "failed",
        cause: "report-unreadable",
        remedy: "raw report was kept",
        code: 1,
    });
}

/// Real nsys passes the workload's 143 on, but for once in many times on a machine that is busy.
#[test]
fn ended_after_range_though_nsys_says_0_by_a_fake() {
    const TEST: &str = "ended_after_range_though_nsys_says_0_by_a_fake";
    let body = format!("cp $FAKE_REPORT/{REPORT_FILE} \"$out.nsys-rep\"");
    // The report has three.
    for (happen, cause) in [(4, "ended-after-range"), (3, "")] {
        let mut arguments = vec!["nsys.nvtx_capture=A", "nsys.capture_range_end=stop-shutdown", "--", "EMIT"];
        arguments.extend(["push=A", "sleep=1", "pop"].repeat(happen));
        let Some(scene) = Scene::with_fake(TEST, &body, &arguments) else { return };
        scene.comes_to(&Expected { outcome: "captured", cause, remedy: "", code: 0 });
    }
}

/// Needs a GPU whose driver is newer than nsys.
#[test]
fn unsupported_driver_by_a_fake() {
    let body = "echo 'WARNING: CUDA driver version on the target is not supported by this build of Nsight Systems.'; cp $FAKE_REPORT/@FILE@ \"$out.nsys-rep\"";
    fake_report("unsupported_driver_by_a_fake", body, "unsupported-driver", "as new as the driver");
}

/// Needs a GPU and PyTorch's profiler in the workload, which says this. nsys was first, and has it all.
#[test]
fn a_profiler_of_the_workload_by_a_fake() {
    let said = "WARNING:2026-11-15 17:24:28 5631:5631 init.cpp:116] function cbapi->getCuptiStatus() failed with error CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)";
    let body = format!("echo '{said}' >&2; cp $FAKE_REPORT/{REPORT_FILE} \"$out.nsys-rep\"");
    let arguments = ["nsys.enable=true", "--", "true"];
    let Some(scene) = Scene::with_fake("a_profiler_of_the_workload_by_a_fake", &body, &arguments) else {
        return;
    };
    let cause = "cupti-in-use";
    scene.comes_to(&Expected { outcome: "captured", cause, remedy: "own profiler off", code: 0 });
}

/// Needs a GPU, and somebody who has it.
#[test]
fn cupti_in_use_by_a_fake() {
    let body =
        "echo 'Another profiling session appears to be active' >&2; cp $FAKE_REPORT/@FILE@ \"$out.nsys-rep\"";
    fake_report("cupti_in_use_by_a_fake", body, "cupti-in-use", "own profiler off");
}

/// Needs a GPU, a CUDA 13 PyTorch and an nsys that is too old for it.
#[test]
fn raw_events_lost_by_a_fake() {
    let body = "echo '**** Errors occurred while processing the raw events. ****'; cp $FAKE_REPORT/@FILE@ \"$out.nsys-rep\"";
    fake_report("raw_events_lost_by_a_fake", body, "records-lost", "record less");
}

/// The report is a real one, and what is said beside it makes it partial.
fn fake_report(test: &str, body: &str, cause: &'static str, remedy: &'static str) {
    let body = body.replace("@FILE@", REPORT_FILE);
    let Some(scene) = Scene::with_fake(test, &body, &["nsys.enable=true", "--", "true"]) else { return };
    scene.comes_to(&Expected { outcome: "partial", cause, remedy, code: 1 });
}

const REPORT_FILE: &str = "toy-2023.4.4.sqlite";

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.starts_with(b"0\n")
}
