//! The pass under PyTorch's profiler. PyTorch is far too large to be fetched for a test: a
//! stand-in has the few names that the helper touches, and hands out a trace that the real one
//! recorded.

use std::path::Path;

use serde_json::Value;

use crate::support::{self, Ran, Sandbox, tool};

const STAND_IN: &str = r#"
import gzip, os, shutil, sys, types

class profile:
    def __init__(self, **settings):
        self.settings = settings
    def start(self):
        open(os.path.join(os.environ["RANGEFINDER_PASS_DIR"], "settings"), "a").write(repr(self.settings) + "\n")
    def stop(self):
        pass
    def export_chrome_trace(self, path):
        with gzip.open(os.environ["RECORDED"]) as recorded, open(path, "wb") as trace:
            shutil.copyfileobj(recorded, trace)
    def __enter__(self):
        self.start()
        return self
    def __exit__(self, *what):
        self.stop()

class ProfilerActivity:
    CPU, CUDA = "cpu", "cuda"

def module(name, **names):
    made = sys.modules[name] = types.ModuleType(name)
    made.__dict__.update(names)
    return made

profiler = module("torch.profiler", profile=profile, ProfilerActivity=ProfilerActivity,
                  supported_activities=lambda: {"cpu", "cuda"})
inner = module("torch.autograd.profiler", profile=type("profile", (profile,), {}))
autograd = module("torch.autograd", profiler=inner)
"#;

/// A run of a Python program beside the stand-in.
fn ran(program: &str, arguments: &[&str]) -> (Sandbox, Ran) {
    let sandbox = Sandbox::new();
    for folder in ["packages/torch", "packages/torch-2.11.0.dist-info"] {
        std::fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    sandbox.write("packages/torch/__init__.py", STAND_IN);
    sandbox.write(
        "packages/torch-2.11.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n",
    );
    sandbox.write("program.py", program);
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data/torch.kineto.json.gz");
    let words: Vec<&str> =
        ["run"].iter().chain(arguments).chain(&["--", "python3", "program.py"]).copied().collect();
    let mut command = sandbox.rangefinder(&words);
    command.env("PYTHONPATH", sandbox.path("packages")).env("RECORDED", recorded);
    let output = Ran::from(command.output().unwrap());
    (sandbox, output)
}

fn verdict(sandbox: &Sandbox) -> Value {
    let manifest = sandbox.manifest();
    let all = manifest["verdicts"].as_array().unwrap();
    all.iter().find(|record| record["tool"] == "torch").unwrap_or_else(|| panic!("{all:?}"))["verdict"]
        .clone()
}

#[test]
fn operators_of_a_program() {
    let (sandbox, output) = ran("import torch\n", &["-p", "stage1.max", "stage1.activities=cpu"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let run = sandbox.only_run();
    assert_eq!(verdict(&sandbox)["outcome"], "captured");
    assert!(run.join("stage1/kineto.json.gz").is_file());
    let settings = std::fs::read_to_string(run.join("workload/stage1/settings")).unwrap();
    assert!(
        settings.contains("'activities': ['cpu']") && settings.contains("'with_stack': True"),
        "{settings}"
    );
    let operators = std::fs::read_to_string(run.join("operators.md")).unwrap();
    assert!(operators.contains("| `aten::"), "{operators}");
    let summary = std::fs::read_to_string(run.join("stakeholder_summary.md")).unwrap();
    assert!(summary.contains("| operator | calls |"), "{summary}");
    // The profiler is in no other pass.
    assert!(!run.join("workload/rehearsal/settings").exists());
}

/// As many as the program calls. Debian's PyTorch is built without Kineto, and older than those that make no objects of events.
#[test]
fn operators_of_a_real_torch() {
    let Some(torchrun) = tool("operators_of_a_real_torch", "torch/torchrun") else { return };
    let torch = torchrun.parent().unwrap();
    let at = |folder: &str| torch.join(folder).display().to_string();
    let libraries = ["x86_64-linux-gnu", "x86_64-linux-gnu/blas", "x86_64-linux-gnu/lapack", ""];
    let libraries = libraries.map(|folder| at(&format!("usr/lib/{folder}"))).join(":");
    let sandbox = Sandbox::new();
    sandbox.write(
        "program.py",
        "import torch\nfrom rangefinder import stage\nx = torch.ones(4)\n\
         for _ in range(300):\n    with stage('step'):\n        x = torch.relu(x)\n",
    );
    let mut command = sandbox.rangefinder(&["run", "--", "python3", "program.py"]);
    command
        .env("PYTHONPATH", at("usr/lib/python3/dist-packages"))
        .env("LD_LIBRARY_PATH", format!("{libraries}:{}:{}", at("lib/x86_64-linux-gnu"), at("stubs")))
        .env("OMP_NUM_THREADS", "1");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let run = sandbox.only_run();
    let verdict = verdict(&sandbox);
    assert_eq!(verdict["outcome"], "captured", "{verdict}");
    let operators = std::fs::read_to_string(run.join("operators.md")).unwrap();
    for counted in ["| `aten::relu` | 300 |", "| `aten::ones` | 1 |"] {
        assert!(operators.contains(counted), "{counted}\n{operators}");
    }
    let left = std::fs::read_dir(run.join("workload/stage1")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).filter(|name| name != "stdout.log").collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("kineto")), "{left:?}");
}

/// It goes on without the profiler, whose trace is there before the program ends.
#[test]
fn a_long_program() {
    let program = r#"
import os, time, torch
begun = time.monotonic()
trace = os.path.join(os.environ["RANGEFINDER_PASS_DIR"], "kineto.json.gz")
while time.monotonic() < begun + 2:
    sum(range(1000))
if os.environ["RANGEFINDER_PASS"] == "stage1":
    print("there" if os.path.exists(trace) else "not there")
"#;
    for (duration, found) in
        [("200ms", "there\n"), ("1h", "not there\n"), ("auto", "not there\n"), ("null", "not there\n")]
    {
        let (sandbox, output) = ran(program, &[&format!("stage1.duration={duration}")]);
        assert_eq!((output.code, output.stdout.as_str()), (0, found), "{}", output.stderr);
        let verdict = verdict(&sandbox);
        assert_eq!(verdict["outcome"], "captured");
        let text = verdict["text"].as_str().unwrap();
        assert_eq!(text.ends_with(" in the time of `stage1.duration`"), duration == "200ms", "{text}");
    }
}

#[test]
fn a_program_that_has_a_profiler_of_its_own() {
    let program = "import torch\nwith torch.profiler.profile(): pass\n";
    let (sandbox, output) = ran(program, &["stage1.enable=true"]);
    assert_eq!(output.code, 1, "{}", output.stderr);
    let verdict = verdict(&sandbox);
    assert_eq!((&verdict["outcome"], &verdict["cause"]), (&"missed".into(), &"cupti-in-use".into()));
    assert!(verdict["remedy"].as_str().unwrap().contains("RANGEFINDER_PASS is `stage1`"), "{verdict}");
}

#[test]
fn a_program_that_fails() {
    let (sandbox, output) =
        ran("import os, torch\nif os.environ['RANGEFINDER_PASS'] == 'stage1': os._exit(7)\n", &[]);
    assert_eq!(output.code, 3, "{}", output.stderr);
    assert_eq!(verdict(&sandbox)["cause"], "workload-failed");
    assert!(verdict(&sandbox)["remedy"].as_str().unwrap().contains("workload/stage1/stderr.log"));
}

/// The rehearsal has shown it: no second pass, and no error where nobody asked for one.
#[test]
fn a_program_that_never_imports_it() {
    for (arguments, code) in [(&[][..], 0), (&["stage1.enable=true"][..], 1)] {
        let (sandbox, output) = ran("print('ran')\n", arguments);
        assert_eq!(output.code, code, "{}", output.stderr);
        assert_eq!(output.stdout, "ran\n", "once");
        assert_eq!(output.stderr.contains("error:"), code != 0, "{}", output.stderr);
        let manifest = sandbox.manifest();
        let step = support::step(&manifest, "stage1");
        let note = step["note"].as_str().unwrap();
        assert_eq!(step["status"], if code == 0 { "skipped" } else { "failed" });
        assert!(note.starts_with("the program did not import torch in the rehearsal"), "{note}");
        assert_eq!(note.contains("\nhint: leave this pass out"), code != 0, "{note}");
    }
}

/// Where a child of it does, it is worth a pass; where nobody could look, too.
#[test]
fn a_program_whose_children_import_it_or_that_cannot_be_looked_at() {
    let child = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import torch'])\n";
    let (sandbox, _) = ran(child, &[]);
    assert!(sandbox.only_run().join("workload/stage1").is_dir());
    let (sandbox, _) = ran(
        "import os\npath = os.path.join(os.environ['RANGEFINDER_PASS_DIR'], 'imported.txt')\n\
         if os.path.exists(path): os.remove(path)\n",
        &[],
    );
    assert!(sandbox.only_run().join("workload/stage1").is_dir());
}

/// What `cmd.txt` says can be typed again, after the run is over.
#[test]
fn the_command_of_a_pass_can_be_pasted() {
    let program = "import torch, rangefinder\nwith rangefinder.stage('here'): print('ran')\n";
    let (sandbox, output) = ran(program, &[]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let run = sandbox.only_run();
    for pass in ["rehearsal", "stage1"] {
        let command = std::fs::read_to_string(run.join(pass).join("cmd.txt")).unwrap();
        let recorded =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data/torch.kineto.json.gz");
        let shell =
            std::process::Command::new("sh").args(["-c", &command]).env("RECORDED", recorded).output();
        let pasted = Ran::from(shell.unwrap());
        assert_eq!((pasted.code, pasted.stdout.as_str()), (0, "ran\n"), "{pass}: {}", pasted.stderr);
    }
    // Under the profiler again.
    assert!(run.join("workload/stage1/kineto.json.gz").is_file());
}

#[test]
fn not_for_every_program() {
    let sandbox = Sandbox::new();
    let output = sandbox.output(&["run", "stage1.enable=true", "--", "true"]);
    assert_eq!(output.code, 1);
    assert!(
        output
            .stderr
            .contains("error: stage1: the workload is not a Python program\nhint: leave this pass out"),
        "{}",
        output.stderr
    );
    let summary =
        "  stage1     failed     the workload is not a Python program\n             do: leave this pass out";
    assert!(output.stderr.contains(summary), "{}", output.stderr);
    // What nobody asked for is not even mentioned.
    let output = sandbox.output(&["run", "--", "true"]);
    assert!(output.code == 0 && !output.stderr.contains("stage1"), "{}", output.stderr);
}

/// The helper is within reach of every Python program, and behind what is installed.
#[test]
fn the_helper_is_there() {
    let program =
        "import os, rangefinder\nwith rangefinder.stage('here'): pass\nprint(os.environ['PYTHONPATH'])\n";
    let (sandbox, output) = ran(program, &["stage1.enable=false"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let packages = sandbox.path("packages").display().to_string();
    assert!(output.stdout.contains(&format!("/site:{packages}:")), "{}", output.stdout);
    assert!(!sandbox.only_run().join("tmp").exists());
}
