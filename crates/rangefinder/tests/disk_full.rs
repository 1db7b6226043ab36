//! A full disk: one clear error, and what was captured is kept.

use std::process::Command;

use crate::support::{self, Sandbox, manifest, redacted, skip, step};

/// Runs `script` where `./small` is a file system of this size.
fn with_small_disk(sandbox: &Sandbox, size: &str, script: &str) -> Option<support::Ran> {
    std::fs::create_dir(sandbox.path("small")).unwrap();
    let line = format!(
        "mount -t tmpfs -o size={size} none small && {script}; code=$?; cp -r small/. kept 2>/dev/null; exit $code"
    );
    let probe = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return None;
    }
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &line])
        .current_dir(sandbox.path(""))
        .env("PROGRAM", env!("CARGO_BIN_EXE_rangefinder"))
        .env("FLOOD", support::hazard("flood"))
        .output()
        .unwrap();
    Some(output.into())
}

#[test]
fn a_log_that_fills_the_disk_does_not_stop_the_workload() {
    let sandbox = Sandbox::new();
    let script = "$PROGRAM run run.dir=small/runs -- sh -c '$FLOOD 4; echo end >&2; touch ended' > /dev/null";
    let Some(ran) = with_small_disk(&sandbox, "2m", script) else {
        return skip("a_log_that_fills_the_disk_does_not_stop_the_workload", "no user namespaces here");
    };
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(sandbox.path("ended").exists(), "the workload ran to its end");
    insta::assert_snapshot!(redacted(&ran.stderr, &sandbox));
    let run = std::fs::read_dir(sandbox.path("kept/runs"))
        .unwrap()
        .flatten()
        .find(|entry| entry.path().is_dir())
        .unwrap();
    let manifest = manifest(&run.path());
    assert_eq!(step(&manifest, "rehearse")["status"], "failed");
    assert_eq!(step(&manifest, "timeline")["note"], "the rehearsal failed", "the workload ended with 0");
    let kept = run.path().join("workload/rehearsal/stdout.log").metadata().unwrap().len();
    assert!(kept > 500_000 && kept < 4 << 20, "{kept}");
}

#[test]
fn a_disk_that_is_full_from_the_start() {
    let sandbox = Sandbox::new();
    let script = "$PROGRAM run run.dir=small/runs -- true";
    let Some(ran) = with_small_disk(&sandbox, "16k", script) else {
        return skip("a_disk_that_is_full_from_the_start", "no user namespaces here");
    };
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: the disk is full: cannot write `"), "{}", ran.stderr);
}
