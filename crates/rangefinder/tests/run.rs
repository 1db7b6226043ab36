//! `rangefinder run`: what it leaves behind and how it ends.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;

use crate::support::{Sandbox, manifest, redacted, shared_library, step};

#[test]
fn a_failing_workload_leaves_a_complete_run() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "out\n"));
    insta::assert_snapshot!(redacted(&ran.stderr, &sandbox));
    let run = sandbox.only_run();
    for file in [
        "run.json",
        "config.yaml",
        "env.json",
        "inputs.yaml",
        "report.md",
        "report.json",
        "rehearsal/cmd.txt",
    ] {
        assert!(run.join(file).is_file(), "{file}");
    }
    let log = |name: &str| std::fs::read_to_string(run.join("workload/rehearsal").join(name)).unwrap();
    assert_eq!((log("stdout.log").as_str(), log("stderr.log").as_str()), ("out\n", "err\n"));
    let manifest = sandbox.manifest();
    assert_eq!(manifest["status"], "finished");
    assert_eq!(manifest["exit_code"], 3);
    assert_eq!(manifest["passes"][0]["ending"]["code"], 7);
    let listed: HashSet<&str> = manifest["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|artifact| artifact["path"].as_str())
        .collect();
    assert!(listed.contains("report.md") && listed.contains("workload/rehearsal/stdout.log"), "{listed:?}");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(run.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(std::fs::read_to_string(sandbox.path("runs/.gitignore")).unwrap(), "*\n");
}

#[test]
fn exit_codes() {
    let sandbox = Sandbox::new();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data/torch.kineto.json.gz");
    std::fs::copy(trace, sandbox.path("trace.json.gz")).unwrap();
    sandbox.write("text", "neither a trace nor a report");
    for (arguments, code) in [
        (&["run", "--", "true"][..], 0),
        (&["run", "--exit-code=workload", "--", "sh", "-c", "exit 7"], 7),
        (&["run", "--exit-code=workload", "--", "sh", "-c", "kill -SEGV $$"], 139),
        (&["run", "--", "sh", "-c", "kill -SEGV $$"], 3),
        (&["run", "nsys.enable=true", "--", "true"], 1),
        (&["run", "nsys.nvtx_capture=decode", "--", "true"], 1),
        (&["run", "nsys.enable=true", "--", "false"], 3),
        (&["run", "nsys.enable=false", "nsys.nvtx_capture=decode", "--", "true"], 0),
        (&["run"], 2),
        (&["run", "nonsense", "--", "true"], 2),
        (&["frobnicate"], 2),
        (&["--help"], 0),
        // What was typed is in order; a file is not.
        (&["resume", "nowhere"], 1),
        (&["report", "nowhere"], 1),
        (&["analyze", "nowhere"], 1),
        (&["analyze", "text"], 1),
        (&["analyze", "--out", "/proc/nowhere", "trace.json.gz"], 1),
        (&["analyze", "--within", "nowhere", "trace.json.gz"], 1),
        (&["run", "run.dir=/proc/nowhere", "--", "true"], 1),
        // And the other way round.
        (&["analyze"], 2),
        (&["analyze", "--include", "(", "nowhere"], 2),
        (&["analyze", "--family", "gemm", "nowhere"], 2),
        (&["analyze", "--tokens", "decode=x", "nowhere"], 2),
        (&["analyze", "--what-if", "kernel:sgemm", "nowhere"], 2),
        (&["run", "-c", "nowhere.yaml", "--", "true"], 2),
        (&["run", "--", "no-such-program"], 2),
    ] {
        let ran = sandbox.output(arguments);
        assert_eq!(ran.code, code, "{arguments:?}\n{}", ran.stderr);
        // The code that is printed is the code that it ends with.
        if let Some((_, said)) = ran.stderr.rsplit_once("; rangefinder: exit code ") {
            let said: String = said.chars().take_while(char::is_ascii_digit).collect();
            assert_eq!(said, code.to_string(), "{arguments:?}\n{}", ran.stderr);
        }
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    assert_eq!(sandbox.rangefinder(&["config"]).stdout(full).status().unwrap().code(), Some(1));
}

/// A machine that fails loses no manifest: the file is on the disk before it gets its name, and
/// then the name is.
#[test]
fn the_manifest_is_flushed_before_it_is_renamed() {
    let sandbox = Sandbox::new();
    let library = sandbox.path("count_fsync.so");
    shared_library("count_fsync.c", &library, &["-D_GNU_SOURCE", "-ldl"]);
    let mut command = sandbox.rangefinder(&["run", "-q", "--", "true"]);
    let ran = command.env("LD_PRELOAD", &library).env("FLUSHED", sandbox.path("flushed")).output().unwrap();
    assert!(ran.status.success());
    let run = std::fs::canonicalize(sandbox.only_run()).unwrap();
    let flushed = std::fs::read_to_string(sandbox.path("flushed")).unwrap();
    let flushed: Vec<&Path> = flushed.lines().map(Path::new).collect();
    // One manifest a step, at least: begun, and what came of it.
    assert!(flushed.len() > 20 && flushed.len().is_multiple_of(2), "{flushed:?}");
    for pair in flushed.chunks(2) {
        let name = pair[0].file_name().unwrap().to_string_lossy();
        assert!(name.starts_with(".writing-") && pair[0].parent() == Some(run.as_path()), "{pair:?}");
        assert_eq!(pair[1], run);
    }
}

/// What a dry run says of the exit code is what the run ends with.
#[test]
fn a_dry_run_foresees_the_exit_code() {
    let sandbox = Sandbox::new();
    sandbox.write("program.py", "print('ran')\n");
    let program = ["python3", "program.py"];
    for (arguments, program) in [
        (&["--preset", "llm"][..], &program[..]),
        (&["stage1.enable=true"], &["true"]),
        (&["ncu.enable=true"], &["true"]),
        (&["nsys.enable=true"], &["true"]),
        (&[], &["true"]),
    ] {
        let words = |first: &[&'static str]| [&["run"], first, arguments, &["--"], program].concat();
        let ran = sandbox.output(&words(&[]));
        let foreseen = sandbox.output(&words(&["--dry-run"])).stdout;
        assert_eq!(
            foreseen.contains("the exit code will be 1"),
            ran.code == 1,
            "{arguments:?} {program:?}: {foreseen}"
        );
    }
}

#[test]
fn mistakes_cost_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("plain.txt", "x");
    sandbox.write("cwd.yaml", "# Nowhere.\nworkload: {cwd: nowhere}\n");
    let mut screens = String::new();
    for arguments in [
        &["run", "nsys.nvtx_captur=decode", "--", "true"][..],
        &["run", "--", "no-such-program"],
        &["run", "--", "./no-such-program"],
        &["run", "--", "./plain.txt"],
        &["run", "workload.cwd=nowhere", "--", "true"],
        &["run", "-c", "cwd.yaml", "--", "true"],
        &["demo", "model.config=nowhere.json"],
        &["run", "--dry-run", "model.config=nowhere.json", "--", "true"],
        &["run", "timeline.source=tracer", "rehearsal.enable=false", "--", "true"],
        &["run", "workload.timeout=0s", "--", "true"],
        &["run", "--preset", "ofz", "--", "true"],
        &["run", "-c", "no.yaml", "--", "true"],
        &["run", "true"],
        &["run"],
    ] {
        let ran = sandbox.output(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        screens.push_str(&format!("$ rangefinder {}\n{}\n", arguments.join(" "), ran.stderr));
    }
    assert!(!sandbox.path("runs").exists());
    insta::assert_snapshot!(redacted(&screens, &sandbox));
}

#[test]
fn a_plan_says_what_the_sampler_cannot_do() {
    let sandbox = Sandbox::new();
    let plan = |setting: &str| {
        let mut ran = sandbox.rangefinder(&["run", "--dry-run", setting, "--", "true"]);
        let output = ran.env("CUDA_VISIBLE_DEVICES", "").output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let asked = plan("counters.enable=true");
    let line = asked.lines().find(|line| line.starts_with("sampler ")).unwrap();
    assert!(
        line.contains("counters.enable=true was requested, but ")
            && line.ends_with("the exit code will be 1")
    );
    assert!(!plan("counters.enable=auto").contains("sampler"));
}

#[test]
fn a_dry_run_writes_nothing() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&[
        "run",
        "--dry-run",
        "workload.device=1",
        "workload.warmup=3",
        "workload.timeout=90s",
        "workload.hydra=true",
        "capture.duration=5s",
        "workload.env.MY_KEY=abcdef",
        "ncu.enable=false",
        "--",
        "sh",
        "-c",
        "exit 1",
        "a=b c",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!sandbox.path("runs").exists());
    insta::assert_snapshot!(redacted(&ran.stdout, &sandbox));
}

#[test]
fn fifty_runs_at_once_make_fifty_directories() {
    let sandbox = Sandbox::new();
    let children: Vec<_> =
        (0..50).map(|_| sandbox.rangefinder(&["run", "-q", "--", "true"]).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let ids: HashSet<String> =
        sandbox.runs().iter().map(|run| manifest(run)["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 50);
    assert!(sandbox.runs().iter().all(|run| manifest(run)["status"] == "finished"));
}

#[test]
fn keep_removes_only_older_finished_runs_of_the_same_name() {
    let sandbox = Sandbox::new();
    let run = |name: &str, keep: &str| {
        let ran = sandbox.output(&[
            "run",
            &format!("run.name={name}"),
            &format!("run.keep={keep}"),
            "--",
            "sh",
            "-c",
            "echo x > $RANGEFINDER_PASS_DIR/made",
        ]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stderr
    };
    run("other", "9");
    run("mine", "9");
    run("mine", "9");
    let mine: Vec<_> =
        sandbox.runs().into_iter().filter(|run| run.to_str().unwrap().contains("mine")).collect();
    std::fs::write(mine[0].join("notes.txt"), "precious").unwrap();
    std::fs::create_dir(sandbox.path("runs/20200101-000000-mine")).unwrap();
    std::fs::write(sandbox.path("runs/20200101-000000-mine/notes.txt"), "not a run").unwrap();
    let said = run("mine", "1");
    assert!(said.contains("contains files that Rangefinder did not write"), "{said}");
    assert_eq!(std::fs::read_to_string(mine[0].join("notes.txt")).unwrap(), "precious");
    assert!(!mine[0].join("workload").exists(), "what the manifest lists is gone");
    assert!(!mine[1].exists());
    assert!(sandbox.path("runs/20200101-000000-mine/notes.txt").exists());
    assert_eq!(sandbox.runs().iter().filter(|run| run.to_str().unwrap().contains("other")).count(), 1);
}

#[test]
fn keep_also_frees_what_a_workload_left_in_its_tmpdir() {
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        let ran = sandbox.output(&["run", "run.keep=1", "--", "sh", "-c", "echo x > $TMPDIR/cache"]);
        assert!(ran.code == 0 && !ran.stderr.contains("Rangefinder did not write"), "{}", ran.stderr);
    }
    sandbox.only_run();
}

#[test]
fn a_folder_that_holds_a_project_is_not_hidden_from_git() {
    let sandbox = Sandbox::new();
    sandbox.write("main.py", "");
    sandbox.output(&["run", "run.dir=.", "--", "true"]);
    assert!(!sandbox.path(".gitignore").exists());
}

#[test]
fn cmd_txt_can_be_pasted() {
    let sandbox = Sandbox::new();
    let script = "echo \"$A/${B-unset}/$1\" >> seen";
    let arguments = [
        "run",
        "workload.env.A=x y",
        "workload.env.B=null",
        "workload.env.C=",
        "--",
        "sh",
        "-c",
        script,
        "sh",
        "it's",
    ];
    sandbox.rangefinder(&arguments).env("B", "set").output().unwrap();
    let command = sandbox.only_run().join("rehearsal/cmd.txt");
    let status = std::process::Command::new("sh").arg(command).env("B", "set").status().unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(sandbox.path("seen")).unwrap(), "x y/unset/it's\n".repeat(2));
}

#[test]
fn what_was_asked_for_and_is_missing_is_said_even_quietly() {
    let sandbox = Sandbox::new();
    let mut screens = String::new();
    for arguments in [
        &["run", "-q", "nsys.enable=true", "--", "true"][..],
        &["run", "-q", "ncu.nvtx_include=[decode]", "--", "true"],
        &["run", "-q", "--", "sh", "-c", "exit 7"],
        &[
            "run",
            "-q",
            "capture.stop=command",
            "capture.stop_command=[nowhere]",
            "capture.duration=1s",
            "--",
            "true",
        ],
        &["run", "-q", "workload.env.PATH=/nowhere", "--", "ls"],
        &["run", "-q", "workload.timeout=1e19", "--", "true"],
        &["run", "-q", "report.formats=pdf", "--", "true"],
    ] {
        let ran = sandbox.output(arguments);
        screens.push_str(&format!("$ rangefinder {}\n{}[{}]\n\n", arguments.join(" "), ran.stderr, ran.code));
    }
    insta::assert_snapshot!(redacted(&screens, &sandbox));
    assert_eq!(sandbox.output(&["run", "-q", "report.formats=json", "--", "true"]).code, 0);
}

#[test]
fn samples_that_were_asked_for_and_are_missing_are_named() {
    let sandbox = Sandbox::new();
    let missing = [
        ("counters.enable=true", "no hardware counters over time (`counters.enable=true`): "),
        (
            "stacks.enable=true",
            "no stacks were sampled (`stacks.enable=true`): Rangefinder does not sample its own",
        ),
    ];
    for (setting, missing) in missing {
        let name = format!("run.dir={setting}");
        let hidden = |arguments: &[&str]| {
            let output = sandbox.rangefinder(arguments).env("CUDA_VISIBLE_DEVICES", "").output().unwrap();
            (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
        };
        let (code, said) = hidden(&["demo", "-q", &name, setting]);
        let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!((code, errors.len()), (1, 1), "{said}");
        assert!(errors[0].starts_with(&format!("error: rehearse: {missing}")), "{said}");
        let run = std::fs::read_dir(sandbox.path(setting)).unwrap().flatten();
        let run = run.map(|entry| entry.path()).find(|path| path.is_dir()).unwrap();
        let manifest: Value = serde_json::from_slice(&std::fs::read(run.join("run.json")).unwrap()).unwrap();
        assert!(manifest["steps"][2]["missing"][0].as_str().unwrap().starts_with(missing), "{manifest}");
        let (code, said) = hidden(&["resume", run.to_str().unwrap()]);
        assert_eq!(code, 1);
        let note =
            "note: nothing to resume: every step is done or was skipped; what is missing needs a new run: ";
        assert!(said.contains(&format!("{note}{missing}")), "{said}");
        let words: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, steps) = words.split_once("captures and steps").unwrap();
        assert!(steps.contains(missing), "{said}");
    }
}

/// Samples of stacks find processes that have nothing to do with NVTX.
#[test]
fn what_the_tracer_saw_does_not_depend_on_samples() {
    let sandbox = Sandbox::new();
    let binary = env!("CARGO_BIN_EXE_rangefinder");
    let script = format!("sleep 0.4; {binary} demo --emit-only; sleep 0.1");
    let mut threads = Vec::new();
    for stacks in ["true", "false"] {
        let settings = [format!("run.dir={stacks}"), format!("stacks.enable={stacks}")];
        let rehearsed = |command: &[&str], injected: bool| {
            let arguments = ["run", "-q", &settings[0], &settings[1], "--"];
            let mut ran = sandbox.rangefinder(&[&arguments[..], command].concat());
            if injected {
                ran.env("NVTX_INJECTION64_PATH", "/x.so");
            }
            ran.output().unwrap();
            let runs = std::fs::read_dir(sandbox.path(stacks)).unwrap().flatten();
            let run = runs.map(|entry| entry.path()).filter(|path| path.is_dir()).max().unwrap();
            let note = step(&manifest(&run), "rehearse")["note"].as_str().unwrap().to_owned();
            let summary = std::fs::read_to_string(run.join("summary.txt")).unwrap();
            let ranges = std::fs::read(run.join("rehearsal/ranges.json")).unwrap();
            std::fs::remove_dir_all(run).unwrap();
            (note, summary, serde_json::from_slice::<Value>(&ranges).unwrap())
        };
        assert_eq!(rehearsed(&["sleep", "0.4"], false).0, "no NVTX calls were seen");
        let (note, summary, _) = rehearsed(&["sleep", "0.4"], true);
        assert_eq!(note, "the tracer was not loaded: `NVTX_INJECTION64_PATH` is already set");
        assert!(summary.contains("the tracer was not loaded:"), "{summary}");
        let (note, _, ranges) = rehearsed(&["sh", "-c", &script], false);
        assert_eq!(note, "26 ranges in 7 regions, 1 process");
        assert_eq!(ranges["processes"].as_array().unwrap().len(), 1);
        threads.push(ranges["threads"].clone());
    }
    assert_eq!(threads[0], threads[1]);
}

#[test]
fn json_events_are_alone_on_stdout() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "--json", "--", "sh", "-c", "echo out; echo err >&2"]);
    assert_eq!(ran.code, 0);
    let events: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.first().unwrap()["event"], "run_started");
    assert_eq!(events.last().unwrap()["event"], "run_finished");
    assert_eq!(events.last().unwrap()["exit_code"], 0);
    let mut said: Vec<&str> = ran.stderr.lines().collect();
    said.sort_unstable();
    assert_eq!(said, ["err", "out"]);
}

#[test]
fn quiet_is_quiet() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "--quiet", "--", "echo", "hi"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("hi\n", ""));
}

#[test]
fn variables_of_other_profilers_are_noticed() {
    let sandbox = Sandbox::new();
    let output = sandbox
        .rangefinder(&["run", "workload.env.CUDA_INJECTION64_PATH=null", "--", "true"])
        .env("NVTX_INJECTION64_PATH", "/x.so")
        .env("CUDA_INJECTION64_PATH", "/x.so")
        .env("NSYS_PROFILING_SESSION_ID", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("warning: `NVTX_INJECTION64_PATH` is set"), "{said}");
    assert!(said.contains("warning: `NSYS_PROFILING_SESSION_ID` is set"), "{said}");
    assert!(!said.contains("CUDA_INJECTION64_PATH"), "{said}");
    assert!(said.contains("the rehearsal sees no ranges"), "{said}");
    assert_eq!(sandbox.manifest()["warnings"].as_array().unwrap().len(), 3);
}

#[test]
fn the_workload_sees_what_it_was_promised() {
    let sandbox = Sandbox::new();
    let script =
        "echo $CUDA_VISIBLE_DEVICES/$RANGEFINDER_WARMUP/$RANGEFINDER_PASS/$A/${B-unset}/$TMPDIR; pwd; cat";
    let output = sandbox
        .rangefinder(&[
            "run",
            "workload.device=1",
            "workload.warmup=2",
            "workload.env.A=x",
            "workload.env.B=null",
            "--",
            "sh",
            "-c",
            script,
        ])
        .env("B", "set")
        .stdin(std::fs::File::open("/proc/self/status").unwrap())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut lines = stdout.lines();
    let run = sandbox.only_run();
    assert_eq!(lines.next().unwrap(), format!("1/2/rehearsal/x/unset/{}/tmp", run.display()));
    assert_eq!(lines.next().unwrap(), sandbox.path("").to_str().unwrap().trim_end_matches('/'));
    assert!(lines.any(|line| line.starts_with("Name:")), "stdin is passed through");
}

#[test]
fn a_long_run_path_gets_a_short_tmpdir_that_is_removed() {
    let sandbox = Sandbox::new();
    let long = "d".repeat(80);
    let script = "echo $TMPDIR; echo x > $TMPDIR/y; readlink -f $TMPDIR/y";
    let ran = sandbox.output(&["run", &format!("run.dir={long}"), "--", "sh", "-c", script]);
    let mut lines = ran.stdout.lines();
    let tmpdir = lines.next().unwrap();
    assert!(tmpdir.len() <= 64, "{tmpdir}");
    assert!(!std::path::Path::new(tmpdir).exists() && !std::path::Path::new(tmpdir).is_symlink());
    let real = lines.next().unwrap();
    assert!(real.contains(&long) && real.ends_with("/tmp/y"), "it lies inside the run: {real}");
    assert!(!std::path::Path::new(real).exists(), "and goes with the pass");
    // Also when the program cannot be started.
    sandbox.executable("broken", "#!/no/such/interpreter\n");
    let mut child = sandbox.rangefinder(&["run", "-q", &format!("run.dir={long}"), "--", "./broken"]);
    let child = child.stderr(std::process::Stdio::null()).spawn().unwrap();
    let link = std::env::temp_dir().join(format!("rf-{}-0", child.id()));
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(3));
    assert!(!link.is_symlink());
}

#[test]
fn inputs_and_git_are_recorded() {
    let sandbox = Sandbox::new();
    sandbox.write("data.txt", "abc");
    for arguments in [
        &["init", "-q"][..],
        &["add", "data.txt"],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ] {
        assert!(
            std::process::Command::new("git")
                .args(arguments)
                .current_dir(sandbox.path(""))
                .status()
                .unwrap()
                .success()
        );
    }
    sandbox.write("data.txt", "abcd");
    sandbox.output(&["run", "--", "cat", "data.txt"]);
    let run = sandbox.only_run();
    let inputs = std::fs::read_to_string(run.join("inputs.yaml")).unwrap();
    assert!(inputs.contains("data.txt\"\n    bytes: 4\n    blake3: "), "{inputs}");
    let environment: Value = serde_json::from_slice(&std::fs::read(run.join("env.json")).unwrap()).unwrap();
    assert_eq!(environment["git"]["dirty"], true);
    assert_eq!(environment["git"]["commit"].as_str().unwrap().len(), 40);
    assert!(environment["machine"]["cores"].as_u64().unwrap() > 0);
}

#[test]
fn the_demo_ends_with_its_report() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["demo"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report = std::fs::read_to_string(sandbox.only_run().join("report.md")).unwrap();
    assert!(
        report.contains("| `:prefill` | push/pop | 1 |")
            && report.contains("| `:decode/step` | push/pop | 16 |"),
        "{report}"
    );
    assert!(ran.stderr.contains("/report.html\n"), "{}", ran.stderr);
    assert_eq!(step(&sandbox.manifest(), "rehearse")["status"], "done");
}

/// The screen that a run ends with can be had again.
#[test]
fn one_screen_about_a_run() {
    let sandbox = Sandbox::new();
    let none = sandbox.output(&["report"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.starts_with("error: no runs in `"), "{}", none.stderr);
    let ran = sandbox.output(&["demo"]);
    let run = sandbox.only_run();
    let newest = sandbox.output(&["report"]);
    assert_eq!(newest.code, 0, "{}", newest.stderr);
    assert!(
        ran.stderr.contains(&newest.stdout) && newest.stdout.contains("\n  :prefill "),
        "{}",
        newest.stdout
    );
    // Also if two begin in one second.
    for name in ["b", "a"] {
        assert_eq!(sandbox.output(&["run", "-q", &format!("run.name={name}"), "--", "true"]).code, 0);
        let newest = sandbox.output(&["report"]).stdout;
        assert!(newest.lines().next().unwrap().ends_with(&format!("-{name}")), "{newest}");
    }
    let named = sandbox.output(&["report", "--json", run.to_str().unwrap()]);
    let document: Value = serde_json::from_str(&named.stdout).unwrap();
    assert_eq!(document["analysis"]["stages"][0]["name"], "prefill");
    assert!(run.join("csv/stages.csv").is_file() && !run.join("csv/kernels.csv").exists());
    std::fs::remove_file(run.join("summary.txt")).unwrap();
    let lost = sandbox.output(&["report", run.to_str().unwrap()]);
    assert_eq!(lost.code, 1);
    assert!(lost.stderr.contains("it was deleted after the run\nhint: "), "{}", lost.stderr);
    let again = sandbox.output(&["analyze", "--out", "again", run.to_str().unwrap()]);
    assert!(lost.stderr.contains("rangefinder analyze --out FOLDER "), "{}", lost.stderr);
    assert_eq!((again.code, sandbox.path("again/summary.txt").is_file()), (0, true), "{}", again.stderr);
}

#[test]
fn what_is_wrong_is_named() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    for name in ["folder/a.txt", "folder/b.json"] {
        sandbox.write(name, "{\"layers\": 2}");
    }
    sandbox.write("text.txt", "hello\n");
    sandbox.write("train.py", "print('trained')\n");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data/torch.kineto.json.gz");
    std::fs::copy(trace, sandbox.path("trace.json.gz")).unwrap();
    for (arguments, code, expected) in [
        (
            &["run", "run.dir=/etc/passwd", "--", "true"][..],
            1,
            "error: `/etc/passwd` is a file, not a folder\n",
        ),
        (
            &["run", "run.dir=/proc/nowhere", "--", "true"],
            1,
            "error: cannot make a run directory in `/proc/nowhere`: No such file or directory (os error 2)\n",
        ),
        (
            &["run", "--", "python3", "-u", "trian.py"],
            2,
            "error: there is no file `trian.py` for Python to run\nhint: did you mean `train.py`?\n",
        ),
        (
            &["run", "--", "python3", "-W", "ignore", "folder/c.py"],
            2,
            "error: there is no file `folder/c.py` for Python to run\n",
        ),
        (
            &["run", "timeline.source=nsys", "nsys.enable=false", "--", "true"],
            2,
            "error: `timeline.source=nsys` and `nsys.enable=false` contradict each other",
        ),
        (
            &["run", "--plan", "text.txt", "--", "true"],
            2,
            "error: a plan must have the key `kernels`, the list of kernels to measure\n",
        ),
        (&["run", "ncu.budget", "--", "true"], 2, "error: `ncu.budget` needs a value: `ncu.budget=VALUE`\n"),
        (
            &["run", "nsys.path=/nope", "nsys.enable=true", "--", "true"],
            1,
            "hint: correct `nsys.path`, or remove it to use the newest version that is found\n",
        ),
        (&["run", "--qick", "--", "true"], 2, "tip: a similar argument exists: '--quick'\n\nUsage"),
        (&["run", "--foo", "--", "true"], 2, "tip: options of the program to profile go after `--`"),
        (
            &["ranges", "rehearsal.enable=false", "--", "true"],
            2,
            "error: `rehearsal.enable=false` leaves `rangefinder ranges` nothing to list",
        ),
        (
            &["analyze", "trace.json.gz", "--include", "("],
            2,
            "error: `--include (` is not a valid regular expression: unclosed group\n",
        ),
        (
            &["analyze", "trace.json.gz", "--family", "mine=("],
            2,
            "error: `--family mine=(` is not a valid regular expression: unclosed group\n",
        ),
        (&["run", "--", "/tmp"], 2, "error: `/tmp` is a folder, not a program\n"),
        (&["run", "python", "x.py"], 2, "rangefinder run -- python …\n"),
        (
            &["run", "ncu.path=none", "ncu.enable=true", "--", "true"],
            1,
            "error: counters: ncu is turned off by `ncu.path=none`: no hardware counters of single launches\n",
        ),
        (
            &["run", "rehearsal.enable=false", "nsys.path=none", "ncu.path=none", "--", "true"],
            1,
            "warning: the workload was not run: each step that runs it was turned off or not possible\n",
        ),
        (
            &["run", "--", "sh", "-c", "kill -KILL $$"],
            3,
            "error: rehearse: the workload was killed by signal 9 (SIGKILL)\n",
        ),
        (
            &["ranges", "workload.timeout=200ms", "--", "sleep", "3"],
            3,
            "error: the workload exceeded `workload.timeout=200ms`\n",
        ),
        (&["run", "--", "."], 2, "error: `.` is a folder, not a program\n"),
        (
            &["ranges"],
            2,
            "error: no workload given\nhint: put it at the end, after `--`: `-- python infer.py`\n",
        ),
        (&["analyze", "folder"], 1, "error: nothing to analyze in `folder`: all 2 files were skipped\n"),
        (&["analyze", "trace.json.gz", "model.config=no.json"], 2, "error: `model.config`: "),
        (
            &["analyze", "trace.json.gz", "--stage", "zzz"],
            1,
            "error: no region named `zzz` (--stage)\nhint: it has ",
        ),
        (
            &["analyze", "trace.json.gz", "--tokens", "zzz=3"],
            1,
            "error: no stage named `zzz` (--tokens)\nhint: it has ",
        ),
    ] {
        let ran = sandbox.output(arguments);
        assert!(
            ran.code == code && ran.stderr.contains(expected),
            "{arguments:?}: {} {}",
            ran.code,
            ran.stderr
        );
        assert!(!ran.stdout.contains("hint:"), "{arguments:?}: {}", ran.stdout);
    }
    let run = sandbox.runs().pop().unwrap();
    let ran = sandbox.output(&["resume", run.to_str().unwrap(), "--without", "FOO"]);
    assert!(ran.code == 2 && ran.stderr.starts_with("error: `--without FOO`: the run has no such secret\n"));
    let ran = sandbox.output(&["run", "--dry-run", "stage1.enable=true", "--", "true"]);
    let expected = "stage1 was requested, but the workload is not a Python program: the exit code will be 1";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
}
