//! Programs that do not come to their end: what was recorded until then is analyzed and told.

use std::process::Stdio;

use nix::sys::signal::Signal::{SIGINT, SIGKILL};

use crate::support::{Sandbox, eventually, manifest, signal, step};

/// Steps of 10 ms each, for ever or so many; then it fails.
const STEPS: &str = "import os, sys, time\n\
    from rangefinder import stage\n\
    def work():\n\
    \x20   until = time.perf_counter() + 0.01\n\
    \x20   while time.perf_counter() < until: pass\n\
    for at in range(1_000_000):\n\
    \x20   with stage('step'): work()\n\
    \x20   if at == 30: open('ready', 'w').close()\n\
    \x20   if len(sys.argv) > 1 and at == int(sys.argv[1]): sys.exit(7)\n";

/// The first line of the answer, and that it stands above what was found.
fn assert_answered(said: &str, run: &std::path::Path, what: &str) {
    let (head, loop_) = (said.find(what), said.find("loop `:step`: "));
    assert!(head.is_some() && head < loop_, "{what}: {said}");
    let told = manifest(run);
    assert_eq!(step(&told, "analyze")["status"], "done", "{what}");
    assert_eq!(step(&told, "report")["status"], "done", "{what}");
    for file in ["report.md", "stakeholder_summary.md", "report.html"] {
        let text = std::fs::read_to_string(run.join(file)).unwrap();
        assert!(text.to_lowercase().contains(&what.to_lowercase()), "{what}: {file}");
    }
}

#[test]
fn an_interrupt() {
    let sandbox = Sandbox::new();
    sandbox.write("steps.py", STEPS);
    let said = std::fs::File::create(sandbox.path("said")).unwrap();
    let mut command = sandbox.rangefinder(&["run", "--quick", "--", "python3", "steps.py"]);
    let mut child = command.stdout(Stdio::null()).stderr(said).spawn().unwrap();
    eventually("it is in its loop", || sandbox.path("ready").exists());
    signal(child.id(), SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let said = std::fs::read_to_string(sandbox.path("said")).unwrap();
    let run = sandbox.only_run();
    assert_answered(&said, &run, "the program was interrupted after ");
    let told = manifest(&run);
    assert_eq!((told["status"].as_str(), told["exit_code"].as_u64()), (Some("interrupted"), Some(130)));
    assert_eq!(step(&told, "timeline")["note"], "before it started");
}

/// The second one is ours: the program is killed, and nothing more is computed.
#[test]
fn a_second_interrupt() {
    let sandbox = Sandbox::new();
    sandbox
        .write("stays.py", &format!("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{STEPS}"));
    let mut command = sandbox.rangefinder(&["run", "--quick", "--", "python3", "stays.py"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("it is in its loop", || sandbox.path("ready").exists());
    signal(child.id(), SIGINT);
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal(child.id(), SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let told = sandbox.manifest();
    assert_eq!(told["passes"][0]["ending"]["signal"], SIGKILL as i32);
    assert_eq!(step(&told, "analyze")["note"], "before it started");
}

#[test]
fn a_limit() {
    let sandbox = Sandbox::new();
    sandbox.write("steps.py", STEPS);
    let ran = sandbox.output(&["run", "--quick", "workload.timeout=4s", "--", "python3", "steps.py"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_answered(&ran.stderr, &sandbox.only_run(), "the program was ended after ");
}

#[test]
fn a_failure() {
    let sandbox = Sandbox::new();
    sandbox.write("steps.py", STEPS);
    let ran = sandbox.output(&["run", "--quick", "--", "python3", "steps.py", "60"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert_answered(&ran.stderr, &sandbox.only_run(), "the program failed with exit code 7 after ");
    // One that fails at once has nothing to answer with.
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "--quick", "--", "sh", "-c", "exit 7"]);
    assert_eq!((ran.code, step(&sandbox.manifest(), "analyze")["status"].as_str()), (3, Some("skipped")));
}

/// Stacks are an answer, too.
#[test]
fn a_failure_without_ranges() {
    let sandbox = Sandbox::new();
    let program = "import sys, time\n\
        def work():\n\
        \x20   while time.process_time() < 2: pass\n\
        work()\n\
        sys.exit(7)\n";
    sandbox.write("fails.py", program);
    let ran = sandbox.output(&["run", "--quick", "--", "python3", "fails.py"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    if ran.stderr.contains("stacks could not be sampled") {
        return;
    }
    let (head, found) =
        (ran.stderr.find("the program failed with exit code 7"), ran.stderr.find("fails.py:3 work"));
    assert!(head.is_some() && head < found, "{}", ran.stderr);
}
