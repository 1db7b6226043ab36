//! Recordings that are larger than the memory there is: an answer about their beginning, never an abort.

#[path = "../../trace/tests/support/recording.rs"]
mod recording;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Ran, Sandbox, eventually, manifest, step};

/// The program under test with so many MiB for its data.
fn limited(sandbox: &Sandbox, mib: u64, arguments: &[&str]) -> Ran {
    let inner = sandbox.rangefinder(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -d {}; exec \"$@\"", mib * 1024), "sh"]);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(sandbox.path(""));
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Ran::from(command.output().unwrap())
}

/// Two million ranges take some hundred MiB. Beside them, a file of a terabyte with nothing in it.
#[test]
fn what_was_not_read_is_said_first() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("recorded")).unwrap();
    recording::process(&sandbox.path("recorded/100.rft"), 100, 2, 1_000_000, 10_000);
    let sparse = std::fs::File::create(sandbox.path("recorded/200.rft")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let ran = limited(&sandbox, 160, &["analyze", "--out", "out", "recorded"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let told = "read in part: only the first ";
    assert!(ran.stdout.starts_with(told), "{}", ran.stdout);
    let report = std::fs::read_to_string(sandbox.path("out/report.md")).unwrap();
    // Below its title.
    assert!(report.lines().nth(2).unwrap().starts_with("**Read in part**: only the first "), "{report}");
    let document: Value =
        serde_json::from_slice(&std::fs::read(sandbox.path("out/analysis.json")).unwrap()).unwrap();
    let unread = &document["unread"][0];
    assert_eq!(unread["recorded_ns"], 1_000_000_000_000_000u64);
    let read = unread["read_ns"].as_i64().unwrap();
    // Of both threads, each range that began before that moment.
    assert_eq!(document["regions"][0]["instances"].as_i64().unwrap(), 2 * read / 1_000_000_000);
    assert!(read > 0);
}

/// A run whose process dies while it analyzes is not left as under way, and goes on where it was.
#[test]
fn a_run_that_dies_in_its_analysis_has_failed() {
    // More of them until the analysis takes long enough to be killed in.
    for ranges in [100_000, 400_000, 1_600_000] {
        let sandbox = Sandbox::new();
        let program = format!(
            "from rangefinder import stage\nfor _ in range({ranges}):\n    with stage('step'):\n        pass\n"
        );
        sandbox.write("ranges.py", &program);
        let run = killed_in_its_analysis(&sandbox);
        eventually("the run is not under way", || manifest(&run)["status"] != "running");
        let after = manifest(&run);
        if after["status"] == "finished" {
            continue;
        }
        assert_eq!(after["status"], "failed", "{after}");
        let steps: Vec<&Value> =
            after["steps"].as_array().unwrap().iter().filter(|step| step["status"] == "failed").collect();
        let told = |step: &&Value| step["note"].as_str().unwrap().contains("was killed in this step");
        assert!(steps.iter().any(told), "{after}");
        let resumed = sandbox.output(&["resume", run.to_str().unwrap()]);
        assert_eq!(resumed.code, 0, "{}", resumed.stderr);
        assert_eq!(manifest(&run)["status"], "finished");
        return;
    }
    panic!("no analysis took long enough");
}

fn killed_in_its_analysis(sandbox: &Sandbox) -> PathBuf {
    let mut command = sandbox.rangefinder(&["run", "--quick", "--", "python3", "ranges.py"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    loop {
        if let Some(run) = sandbox.runs().first().filter(|run| run.join("run.json").exists())
            && step(&manifest(run), "analyze")["status"] != "pending"
        {
            child.kill().unwrap();
            child.wait().unwrap();
            return run.clone();
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before its analysis");
        std::thread::sleep(Duration::from_millis(2));
    }
}
