//! Disks of every size, limits of every kind, signals at every moment: no harm to the workload,
//! the right exit code, nobody left behind, and a manifest that is closed or can be resumed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::{self, Ran, Sandbox, eventually, nvtx_program, signal, skip};

/// Processes that were started with something of this folder in their environment.
fn left_behind(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let of_ours = |path: PathBuf| {
        let environment = std::fs::read(path.join("environ")).ok()?;
        let ours = String::from_utf8_lossy(&environment).contains(folder);
        ours.then(|| std::fs::read_to_string(path.join("comm")).unwrap_or_default())
    };
    processes.filter_map(|entry| of_ours(entry.path())).collect()
}

fn user_namespaces() -> bool {
    let probe = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).status();
    probe.is_ok_and(|status| status.success())
}

#[test]
fn a_disk_of_any_size() {
    let test = "a_disk_of_any_size";
    let Some(many) = nvtx_program(test, "many") else { return };
    if !user_namespaces() {
        return skip(test, "no user namespaces here");
    }
    let sizes = ["16k", "40k", "64k", "96k", "128k", "192k", "256k", "384k", "512k", "1m", "2m", "4m", "16m"];
    let mut complete = 0;
    for size in sizes {
        let sandbox = Sandbox::new();
        std::fs::create_dir(sandbox.path("small")).unwrap();
        let line = format!(
            "mount -t tmpfs -o size={size} none small && $PROGRAM run run.dir=small/runs -p off -- \
             sh -c '{many} 2 5000 && touch ended'; code=$?; cp -r small/. kept 2>/dev/null; exit $code"
        );
        let output = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &line])
            .current_dir(sandbox.path(""))
            .env("PROGRAM", env!("CARGO_BIN_EXE_rangefinder"))
            .output()
            .unwrap();
        let ran = Ran::from(output);
        assert!(!ran.stderr.contains("panicked"), "{size}: {}", ran.stderr);
        assert!([0, 1].contains(&ran.code), "{size}: {}: {}", ran.code, ran.stderr);
        complete += u32::from(ran.code == 0);
        if ran.code == 1 {
            assert!(ran.stderr.contains("the disk is full"), "{size}: {}", ran.stderr);
        }
        let runs = std::fs::read_dir(sandbox.path("kept/runs")).into_iter().flatten().flatten();
        for run in runs.map(|entry| entry.path()).filter(|path| path.join("run.json").exists()) {
            // It ran, and ran to its end, or nothing was started at all.
            let manifest = support::manifest(&run);
            assert!(closed(&manifest), "{size}: {manifest:#}\n{}", ran.stderr);
            let started = manifest["passes"].as_array().is_some_and(|passes| !passes.is_empty());
            assert_eq!(started, sandbox.path("ended").exists(), "{size}: {}", ran.stderr);
        }
        assert_eq!(left_behind(&sandbox.path("")), [""; 0], "{size}");
    }
    assert!(complete > 0, "the largest disk is large enough");
}

/// Nobody reading it could think that it goes on.
fn closed(manifest: &Value) -> bool {
    let steps = manifest["steps"].as_array().unwrap();
    manifest["status"] != "running" && steps.iter().all(|step| step["status"] != "running")
}

#[test]
fn limits_of_every_kind() {
    let test = "limits_of_every_kind";
    let Some(many) = nvtx_program(test, "many") else { return };
    let root = nix::unistd::geteuid().is_root();
    let limits = [
        "--fsize=0",
        "--fsize=4096",
        "--fsize=65536",
        "--fsize=1000000",
        "--as=60000000",
        "--as=120000000",
        "--as=300000000",
        "--as=2000000000",
        "--nofile=4",
        "--nofile=8",
        "--nofile=12",
        "--nofile=20",
        "--nofile=64",
        "--stack=524288",
        "--stack=1048576",
        "--data=20000000",
        "--core=0",
        "--cpu=30",
        "--nproc=1",
        "--nproc=3",
        "--nproc=5",
        "--nproc=7",
        "--nproc=9",
        "--nproc=12",
        "--nproc=40",
    ];
    for limit in limits {
        let sandbox = Sandbox::new();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(sandbox.path(""), open).unwrap();
        let through: &[&str] = if limit.starts_with("--nproc") {
            if !root {
                skip(&format!("{test}_nproc"), "only root can become a user without processes");
                continue;
            }
            // Root has no such limit, and this user has no other process.
            &["setpriv", "--reuid=61234", "--regid=61234", "--clear-groups", "prlimit"]
        } else {
            &["prlimit"]
        };
        let mut command = Command::new(through[0]);
        command.args(&through[1..]).args([limit, "--"]);
        let inner = sandbox.rangefinder(&[
            "run",
            "-p",
            "off",
            "--",
            "sh",
            "-c",
            &format!("{many} 2 2000 && touch ended"),
        ]);
        command
            .arg(inner.get_program())
            .args(inner.get_args())
            .current_dir(sandbox.path(""))
            .stdin(Stdio::null());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let Ok(output) = command.output() else {
            skip(&format!("{test}_tools"), "no `prlimit` or `setpriv` here");
            return;
        };
        let signalled = std::os::unix::process::ExitStatusExt::signal(&output.status);
        let ran = Ran::from(output);
        // Rust's own words for a thread that gets no memory to begin with are a panic.
        let starved = ["memory allocation of", "failed to allocate an alternative stack"]
            .iter()
            .any(|said| ran.stderr.contains(said));
        assert!(starved || !ran.stderr.contains("panicked"), "{limit}: {}", ran.stderr);
        eventually("nobody is left behind", || left_behind(&sandbox.path("runs")).is_empty());
        // Nothing can be done without memory. The run can be finished with more of it.
        if signalled == Some(6) && starved {
            for run in sandbox.runs() {
                let resumed = sandbox.output(&["resume", run.to_str().unwrap()]);
                assert_eq!(resumed.code, 0, "{limit}: {}", resumed.stderr);
            }
            continue;
        }
        assert_eq!(signalled, None, "{limit}: {}", ran.stderr);
        // With a limit of the program's own: it failed (3), something is missing (1), or the
        // program could not even be loaded (127, of the dynamic loader).
        assert!([0, 1, 3, 127].contains(&ran.code), "{limit}: {}: {}", ran.code, ran.stderr);
        if ran.code == 0 {
            assert!(sandbox.path("ended").exists(), "{limit}: {}", ran.stderr);
        }
        for run in sandbox
            .runs()
            .iter()
            .filter(|run| run.join("run.json").metadata().is_ok_and(|file| file.len() > 0))
        {
            assert!(closed(&support::manifest(run)), "{limit}: {}", ran.stderr);
        }
    }
}

#[test]
fn signals_at_every_moment() {
    let test = "signals_at_every_moment";
    let Some(many) = nvtx_program(test, "many") else { return };
    // Long enough that analysis and report are under way at some of the moments.
    let workload = ["run", "-p", "off", "-q", "--", &many, "2", "60000"];
    let sandbox = Sandbox::new();
    let clock = Instant::now();
    assert_eq!(sandbox.output(&workload).code, 0);
    let whole = clock.elapsed();
    const POINTS: u32 = 20;
    let mut caught = Vec::new();
    for point in 0..POINTS {
        let how = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL][point as usize % 3];
        let sandbox = Sandbox::new();
        let mut child =
            sandbox.rangefinder(&workload).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(whole * (2 * point + 1) / (2 * POINTS));
        let over = child.try_wait().unwrap().is_some();
        if !over {
            signal(child.id(), how);
        }
        let told = Instant::now();
        let output = child.wait_with_output().unwrap();
        let took = told.elapsed();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let at = format!("{how} at point {point}");
        assert!(!said.contains("panicked"), "{at}: {said}");
        eventually("nobody is left behind", || left_behind(&sandbox.path("runs")).is_empty());
        match (how, output.status.code()) {
            // It may have been at its very end.
            (_, Some(0)) => {}
            (Signal::SIGKILL, None) => {}
            // It had not come to look out for signals yet, nor to do anything.
            (_, None) if sandbox.runs().is_empty() => {}
            (Signal::SIGINT | Signal::SIGTERM, Some(130)) => {
                assert!(took < Duration::from_secs(20), "{at}: {took:?}");
                caught.push(point);
            }
            (_, code) => panic!("{at}: exit code {code:?}: {said}"),
        }
        // Before there is a run there is nothing to close.
        let Some(run) = sandbox.runs().first().filter(|run| run.join("run.json").exists()).cloned() else {
            continue;
        };
        let manifest = support::manifest(&run);
        if how != Signal::SIGKILL {
            assert!(closed(&manifest), "{at}: {manifest:#}");
        }
        if output.status.code() != Some(0) {
            let resumed = sandbox.output(&["resume", run.to_str().unwrap()]);
            assert_eq!(resumed.code, 0, "{at}: {}", resumed.stderr);
            assert!(run.join("report.html").exists(), "{at}");
        }
    }
    assert!(!caught.is_empty(), "no signal came in time");
}
