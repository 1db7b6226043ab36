//! Captures by the real nsys, in the layout in which Debian leaves it: found, imported
//! all the same, and judged by what is in the report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::{self, Ran, Sandbox, nvtx_program, step, tool};

const VERSIONS: [&str; 2] = ["2022.4.2", "2023.4.4"];

/// One version of nsys, and the libraries that its importer lacks here.
struct Nsys {
    program: PathBuf,
    libraries: PathBuf,
}

impl Nsys {
    fn get(test: &str, version: &str) -> Option<Self> {
        Some(Self {
            program: tool(test, &format!("nsys-{version}/usr/bin/nsys"))?,
            libraries: tool(test, "nsys-libraries/usr/lib/x86_64-linux-gnu")?,
        })
    }

    fn command(&self, sandbox: &Sandbox, arguments: &[&str]) -> Command {
        let mut command = sandbox.rangefinder(arguments);
        command.env("RANGEFINDER_NSYS", &self.program).env("RANGEFINDER_LIBRARY_PATH", &self.libraries);
        command
    }

    /// `rangefinder run`. No other nsys runs at the same time: they are a group of tests.
    fn run(&self, sandbox: &Sandbox, overrides: &[&str], workload: &[&str]) -> (Ran, Value) {
        let mut arguments = vec!["run", "nsys.trace=nvtx"];
        arguments.extend(overrides);
        arguments.push("--");
        arguments.extend(workload);
        let ran = Ran::from(self.command(sandbox, &arguments).output().unwrap());
        (ran, sandbox.manifest())
    }
}

/// Outcome, cause and text of every verdict.
fn verdicts(manifest: &Value) -> Vec<(String, String)> {
    manifest["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| {
            let verdict = &record["verdict"];
            let said = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
            (said("outcome"), said("cause"))
        })
        .collect()
}

/// Every file of an installation and when it was last changed, but for what the Python
/// inside nsys compiles for itself the first time anybody uses it.
fn contents(folder: &Path) -> BTreeMap<PathBuf, std::time::SystemTime> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let metadata = entry.metadata().unwrap();
            if !metadata.is_dir() {
                found.insert(entry.path(), metadata.modified().unwrap());
            } else if entry.file_name() != "__pycache__" {
                folders.push(entry.path());
            }
        }
    }
    found
}

const PROGRAM: [&str; 10] =
    ["push=A", "sleep=50", "pop", "push=B", "push=A", "sleep=30", "pop", "pop", "dpush=LLM:d", "dpop=LLM"];

#[test]
fn everything_or_only_what_is_wanted() {
    const TEST: &str = "everything_or_only_what_is_wanted";
    let Some(emit) = nvtx_program(TEST, "emit") else { return };
    let workload: Vec<&str> = std::iter::once(emit.as_str()).chain(PROGRAM).chain(["sleep=700"]).collect();
    for version in VERSIONS {
        let Some(nsys) = Nsys::get(TEST, version) else { return };
        let installation = nsys.program.ancestors().nth(3).unwrap().to_owned();
        let before = contents(&installation);
        for (overrides, instances) in [
            (&[][..], "4 of 4 instances"),
            (&["nsys.nvtx_capture=A"], "2 of 2 instances"),
            (&["nsys.nvtx_capture=d"], "1 of 1 instance"),
            (&["nsys.nvtx_capture=A;B"], "3 of 3 instances"),
            (&["nsys.nvtx_capture=:*"], "2 of 2 instances"),
        ] {
            let sandbox = Sandbox::new();
            let (ran, manifest) = nsys.run(&sandbox, overrides, &workload);
            assert_eq!(ran.code, 0, "{version} {overrides:?}: {}", ran.stderr);
            assert_eq!(
                verdicts(&manifest),
                [("captured".to_owned(), String::new())],
                "{version} {overrides:?}"
            );
            let note = step(&manifest, "timeline")["note"].as_str().unwrap().to_owned();
            assert!(note.ends_with(&format!("captured: {instances}")), "{version} {overrides:?}: {note}");
            assert_eq!(manifest["passes"][1]["name"], "nsys");
            let run = sandbox.only_run();
            for file in
                ["nsys/cmd.txt", "nsys/run.nsys-rep", "nsys/run.sqlite", "analysis.json", "kernels.md"]
            {
                assert!(run.join(file).is_file(), "{file}");
            }
            assert!(!run.join("nsys/run.qdstrm").exists() && !run.join("nsys/run.sqlite.partial").exists());
        }
        assert_eq!(contents(&installation), before, "the installation was written to");
    }
}

#[test]
fn a_gate_that_can_match_nothing_is_not_tried() {
    const TEST: &str = "a_gate_that_can_match_nothing_is_not_tried";
    let Some(emit) = nvtx_program(TEST, "emit") else { return };
    let workload: Vec<&str> = std::iter::once(emit.as_str()).chain(PROGRAM).collect();
    for version in VERSIONS {
        let Some(nsys) = Nsys::get(TEST, version) else { return };
        for gate in ["nsys.nvtx_capture=range", "nsys.nvtx_capture=d@llm", "nsys.nvtx_capture=r*"] {
            let sandbox = Sandbox::new();
            let (ran, manifest) = nsys.run(&sandbox, &["nsys.capture_range=nvtx", gate], &workload);
            assert_eq!(ran.code, 1, "{}", ran.stderr);
            assert_eq!(manifest["passes"].as_array().unwrap().len(), 1, "only the rehearsal ran");
            assert!(ran.stderr.contains("regions in the program:\n  :A  (1 instance)"), "{}", ran.stderr);
            assert_eq!(step(&manifest, "timeline")["status"], "failed");
        }
    }
}

/// Python's nvtx since 0.2.13 is not seen by these versions, which say nothing of it.
#[test]
fn a_client_that_nsys_cannot_see_is_named() {
    const TEST: &str = "a_client_that_nsys_cannot_see_is_named";
    let Some(python) = tool(TEST, "bin/python3") else { return };
    let Some(package) = tool(TEST, "python/nvtx-0.2.16") else { return };
    for version in VERSIONS {
        let Some(nsys) = Nsys::get(TEST, version) else { return };
        let sandbox = Sandbox::new();
        sandbox.write("w.py", "import nvtx, time\nfor _ in range(5):\n    with nvtx.annotate('decode'):\n        time.sleep(0.02)\n");
        let path = format!("workload.env.PYTHONPATH={}", package.display());
        let (ran, manifest) =
            nsys.run(&sandbox, &["nsys.enable=true", &path], &[python.to_str().unwrap(), "w.py"]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert_eq!(verdicts(&manifest), [("missed".to_owned(), "client-not-seen".to_owned())], "{version}");
        let note = step(&manifest, "timeline")["note"].as_str().unwrap().to_owned();
        assert!(note.contains("does not see its NVTX client: use a newer nsys"), "{note}");
        assert!(note.contains("using the timeline of Rangefinder's tracer: 5 ranges"), "{note}");
        // The ladder ends in something to look at.
        let analysis = std::fs::read_to_string(sandbox.only_run().join("analysis.json")).unwrap();
        assert!(analysis.contains("\":decode\""), "{analysis}");
    }
}

#[test]
fn an_importer_that_does_not_start_is_named_by_its_library() {
    const TEST: &str = "an_importer_that_does_not_start_is_named_by_its_library";
    let Some(emit) = nvtx_program(TEST, "emit") else { return };
    if Path::new("/usr/lib/x86_64-linux-gnu/libssh.so.4").exists() {
        return support::skip(TEST, "the library is installed here");
    }
    for version in VERSIONS {
        importer_without_its_library(TEST, version, &emit);
    }
}

fn importer_without_its_library(test: &str, version: &str, emit: &str) {
    let Some(mut nsys) = Nsys::get(test, version) else { return };
    nsys.libraries = "/nonexistent".into();
    let sandbox = Sandbox::new();
    let (ran, manifest) = nsys.run(&sandbox, &["nsys.enable=true"], &[emit, "push=A", "pop"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(verdicts(&manifest), [("failed".to_owned(), "importer-broken".to_owned())]);
    let note = step(&manifest, "timeline")["note"].as_str().unwrap().to_owned();
    assert!(note.contains("libssh.so is missing (Debian's package libssh-4)"), "{note}");
    let stream = sandbox.only_run().join("nsys/run.qdstrm");
    assert!(stream.is_file(), "what was recorded is kept");
    // Nobody asked for it: the run says so, and is complete without it.
    let other = Sandbox::new();
    let (ran, manifest) = nsys.run(&other, &[], &[emit, "push=A", "pop"]);
    assert_eq!((ran.code, &step(&manifest, "timeline")["status"]), (0, &"failed".into()), "{}", ran.stderr);
    // Where the library is, it can be read after all.
    let nsys = Nsys::get(test, version).unwrap();
    let output = nsys.command(&sandbox, &["analyze", "--json", stream.to_str().unwrap()]).output().unwrap();
    let ran = Ran::from(output);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["regions"][0]["path"], ":A");
    let nowhere = sandbox.output(&["analyze", stream.to_str().unwrap()]);
    assert!(nowhere.code == 1 && nowhere.stderr.contains("must be exported by nsys"), "{}", nowhere.stderr);
}

/// nsys ends with 0 and leaves a report; there is nothing in it.
#[test]
fn an_empty_report_is_no_success() {
    const TEST: &str = "an_empty_report_is_no_success";
    let Some(nsys) = Nsys::get(TEST, VERSIONS[1]) else { return };
    let sandbox = Sandbox::new();
    let (ran, manifest) = nsys.run(&sandbox, &["nsys.enable=true"], &["sleep", "0.2"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(verdicts(&manifest), [("missed".to_owned(), "nothing-recorded".to_owned())], "{}", ran.stderr);
    assert!(ran.stderr.contains("the report is empty"), "{}", ran.stderr);
}

#[test]
fn without_nsys_the_run_goes_on() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "--", "true"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let manifest = sandbox.manifest();
    let timeline = step(&manifest, "timeline");
    assert_eq!(timeline["status"], "skipped");
    let expected = "nothing for a timeline: the tracer saw no ranges, CUDA calls or kernels (nsys is turned off by \
                    `RANGEFINDER_NSYS=none`)";
    assert_eq!(timeline["note"], expected);
    let asked = sandbox.output(&["run", "run.name=asked", "nsys.enable=true", "--", "true"]);
    assert_eq!(asked.code, 1, "{}", asked.stderr);
}

/// Only nsys applies its gate.
#[test]
fn a_gate_of_nsys_is_not_applied_to_the_tracers_timeline() {
    let sandbox = Sandbox::new();
    let demo = ["--", env!("CARGO_BIN_EXE_rangefinder"), "demo", "--emit-only"];
    let settings = ["run", "timeline.source=tracer", "nsys.nvtx_capture=decode"];
    let ran = sandbox.output(&[&settings[..], &demo].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let note = "the gate `decode` of nsys is not applied to it\nhint: `rangefinder analyze RUN --within decode` shows";
    assert!(ran.stderr.contains(note) && !ran.stderr.contains("nsys: "), "{}", ran.stderr);
    // Only what is there can be selected.
    let settings = ["run", "run.name=two", "nsys.nvtx_capture=nope;decode"];
    let ran = sandbox.output(&[&settings[..], &demo].concat());
    assert!(ran.stderr.contains("hint: `rangefinder analyze RUN --within decode` shows"), "{}", ran.stderr);
    let settings = ["run", "timeline.source=tracer", "nsys.enable=true"];
    let ran = sandbox.output(&[&settings[..], &demo].concat());
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

/// nsys keeps the environment of what it runs; what we make of its report does not.
#[test]
fn the_export_holds_no_secret() {
    const TEST: &str = "the_export_holds_no_secret";
    let Some(emit) = nvtx_program(TEST, "emit") else { return };
    let Some(nsys) = Nsys::get(TEST, VERSIONS[1]) else { return };
    let sandbox = Sandbox::new();
    let secret = "hf_0123456789abcdefghijklmnop";
    let mut command =
        nsys.command(&sandbox, &["run", "nsys.trace=nvtx", "--", &emit, "push=A", "sleep=50", "pop"]);
    let ran = Ran::from(command.env("HF_TOKEN", secret).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let run = sandbox.only_run();
    let holds = |file: &str| {
        let bytes = std::fs::read(run.join(file)).unwrap();
        bytes.windows(secret.len()).any(|part| part == secret.as_bytes())
    };
    assert!(!holds("nsys/run.sqlite"), "the secret is in the export");
    assert_eq!(verdicts(&sandbox.manifest()), [("captured".to_owned(), String::new())]);
}

/// Processes whose command line names this folder.
fn alive_in(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let lines = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let named = line.contains(folder) || String::from_utf8_lossy(&environment).contains(folder);
        (named && !line.is_empty()).then_some(line)
    });
    lines.collect()
}

/// A capture that has begun and would go on for a minute.
fn under_way(nsys: &Nsys, sandbox: &Sandbox, emit: &str) -> std::process::Child {
    let arguments = [
        "run",
        "rehearsal.enable=false",
        "nsys.enable=true",
        "nsys.trace=nvtx",
        "--",
        emit,
        "push=A",
        "sleep=100",
        "pop",
        "sleep=60000",
    ];
    let child = nsys.command(sandbox, &arguments).stderr(std::process::Stdio::null()).spawn().unwrap();
    support::eventually("the workload runs under nsys", || {
        alive_in(&sandbox.path("")).iter().any(|line| line.starts_with(emit))
    });
    child
}

/// nsys puts the workload into a session of its own and leaves an agent with init: both
/// go with us, whatever becomes of us.
#[test]
fn nobody_outlives_a_capture_that_is_killed() {
    const TEST: &str = "nobody_outlives_a_capture_that_is_killed";
    let Some(emit) = nvtx_program(TEST, "emit") else { return };
    let Some(nsys) = Nsys::get(TEST, VERSIONS[1]) else { return };
    let sandbox = Sandbox::new();
    let mut child = under_way(&nsys, &sandbox, &emit);
    child.kill().unwrap();
    child.wait().unwrap();
    support::eventually("everyone is gone", || alive_in(&sandbox.path("")).is_empty());
}

/// An interrupt stops nsys, and what it has is still a report.
#[test]
fn an_interrupted_capture_keeps_what_it_has() {
    const TEST: &str = "an_interrupted_capture_keeps_what_it_has";
    let Some(emit) = nvtx_program(TEST, "emit") else { return };
    let Some(nsys) = Nsys::get(TEST, VERSIONS[1]) else { return };
    let sandbox = Sandbox::new();
    let mut child = under_way(&nsys, &sandbox, &emit);
    std::thread::sleep(Duration::from_millis(600));
    support::signal(child.id(), nix::sys::signal::Signal::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let manifest = sandbox.manifest();
    assert_eq!(manifest["status"], "interrupted");
    assert_eq!(step(&manifest, "timeline")["status"], "interrupted");
    assert!(sandbox.only_run().join("nsys/run.nsys-rep").is_file(), "{:?}", verdicts(&manifest));
    assert!(alive_in(&sandbox.path("")).is_empty());
}
