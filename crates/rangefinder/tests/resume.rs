//! A run that broke off goes on.

use std::process::Stdio;

use crate::support::{Sandbox, eventually, manifest, signal, step};

#[test]
fn a_killed_run_is_finished_by_resume() {
    let sandbox = Sandbox::new();
    let script = "echo attempt; echo started >> starts; while ! test -e go; do sleep 0.05; done; echo \"$1\"";
    let mut child = sandbox
        .rangefinder(&["run", "-q", "workload.env.A=b", "--", "sh", "-c", script, "sh", "a ' b"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the workload is up", || sandbox.path("starts").exists());
    let run = sandbox.only_run();
    // What it says is ours to write down, a moment later.
    let log = run.join("workload/rehearsal/stdout.log");
    eventually("its word is kept", || std::fs::read_to_string(&log).is_ok_and(|text| text == "attempt\n"));
    let busy = sandbox.output(&["resume", run.to_str().unwrap()]);
    assert!(busy.code == 1 && busy.stderr.contains("is in use by another rangefinder"), "{}", busy.stderr);
    let early = sandbox.output(&["report", run.to_str().unwrap()]);
    let expected = "error: the run is still in progress: its report is written at the end\n";
    assert!(early.code == 1 && early.stderr == expected, "{}", early.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    sandbox.write("go", "");
    let ran = sandbox.output(&["resume", run.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "attempt\na ' b\n"), "{}", ran.stderr);
    let manifest = manifest(&run);
    assert_eq!(manifest["status"], "finished");
    assert_eq!(step(&manifest, "rehearse")["status"], "done");
    let earlier = std::fs::read_to_string(run.join("workload/rehearsal.attempt-1/stdout.log")).unwrap();
    assert_eq!(earlier, "attempt\n", "what the first attempt left is kept");
    assert!(!run.join("tmp").exists() && !run.join(".reserve").exists());
}

#[test]
fn an_interrupted_run_is_finished_by_resume() {
    let sandbox = Sandbox::new();
    let script = "echo started >> starts; while ! test -e go; do sleep 0.05; done";
    let child =
        sandbox.rangefinder(&["run", "-q", "--", "sh", "-c", script]).stderr(Stdio::null()).spawn().unwrap();
    eventually("the workload is up", || sandbox.path("starts").exists());
    signal(child.id(), nix::sys::signal::Signal::SIGINT);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    sandbox.write("go", "");
    let run = sandbox.only_run();
    let ran = sandbox.output(&["resume", run.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let manifest = manifest(&run);
    assert_eq!(
        (&manifest["status"], &step(&manifest, "rehearse")["status"]),
        (&"finished".into(), &"done".into())
    );
}

/// What a preset sets is no wish of the user, whether the run is resumed or not.
#[test]
fn an_interrupted_quick_run_is_finished_by_resume() {
    let sandbox = Sandbox::new();
    let script = "echo started >> starts; while ! test -e go; do sleep 0.05; done";
    let child = sandbox
        .rangefinder(&["run", "-q", "--quick", "--", "sh", "-c", script])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the workload is up", || sandbox.path("starts").exists());
    signal(child.id(), nix::sys::signal::Signal::SIGINT);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    sandbox.write("go", "");
    let run = sandbox.only_run();
    let ran = sandbox.output(&["resume", run.to_str().unwrap()]);
    assert_eq!(
        (ran.code, step(&manifest(&run), "timeline")["status"].as_str()),
        (0, Some("skipped")),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_finished_run_is_not_run_again() {
    let sandbox = Sandbox::new();
    sandbox.output(&["run", "--", "sh", "-c", "echo x >> count"]);
    let run = sandbox.only_run();
    let ran = sandbox.output(&["resume", run.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("note: nothing to resume: no step of this run was interrupted, failed or is partial"),
        "{}",
        ran.stderr
    );
    assert_eq!(std::fs::read_to_string(sandbox.path("count")).unwrap(), "x\n");
}

#[test]
fn a_failed_workload_is_tried_again() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.output(&["run", "--", "sh", "-c", "test -e fixed"]).code, 3);
    sandbox.write("fixed", "");
    let run = sandbox.only_run();
    assert_eq!(sandbox.output(&["resume", run.to_str().unwrap()]).code, 0);
    let manifest = manifest(&run);
    assert_eq!(manifest["passes"].as_array().unwrap().len(), 1);
    for name in ["timeline", "counters", "analyze"] {
        let note = step(&manifest, name)["note"].as_str().unwrap();
        assert!(!note.contains("failed"), "{name} was skipped for a reason that is gone: {note}");
    }
}

#[test]
fn a_moved_run_and_what_is_not_a_run() {
    let sandbox = Sandbox::new();
    sandbox.output(&["run", "--", "false"]);
    std::fs::rename(sandbox.only_run(), sandbox.path("moved")).unwrap();
    assert_eq!(sandbox.output(&["resume", "moved"]).code, 3);
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.write("moved/run.json", "{\"schema\": 99}");
    for (folder, message) in [
        ("empty", "empty` is not a run directory: it has no run.json\n"),
        ("moved", "written by a newer rangefinder"),
    ] {
        let ran = sandbox.output(&["resume", folder]);
        assert!(ran.code == 1 && ran.stderr.contains(message), "{}", ran.stderr);
    }
    sandbox.write("moved/run.json", "{\"schema\": 1, \"id\":");
    let ran = sandbox.output(&["resume", "moved"]);
    assert!(ran.code == 1 && ran.stderr.contains("is not a manifest"), "{}", ran.stderr);
}

#[test]
fn a_report_made_by_resume_still_knows_the_rehearsal() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.output(&["demo"]).code, 0);
    let run = sandbox.only_run();
    let text = std::fs::read_to_string(run.join("run.json")).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let steps = document["steps"].as_array_mut().unwrap();
    steps.iter_mut().find(|step| step["name"] == "report").unwrap()["status"] = "running".into();
    std::fs::write(run.join("run.json"), document.to_string()).unwrap();
    std::fs::remove_file(run.join("report.md")).unwrap();
    assert_eq!(sandbox.output(&["resume", run.to_str().unwrap()]).code, 0);
    let report = std::fs::read_to_string(run.join("report.md")).unwrap();
    assert!(report.contains("| `:decode/step` | push/pop | 16 |"), "{report}");
}
