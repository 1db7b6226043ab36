//! Signals while nothing of the workload runs: analysis and report end at once, and what was finished stays.

use std::path::Path;

use nix::sys::signal::Signal::{SIGINT, SIGTERM};

use crate::support::{
    Live, Sandbox, eventually, ignoring_interrupts, kineto, manifest, nvtx_program, signal, step,
};

/// Files that are being written.
fn unfinished(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".writing-")).collect()
}

/// Whether a process blocks SIGINT, or ignores it.
fn has_interrupts(pid: u32, mask: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(mask)).unwrap_or_default().trim();
    u64::from_str_radix(mask, 16).is_ok_and(|mask| mask & (1 << (SIGINT as u32 - 1)) != 0)
}

#[test]
fn analyze() {
    let sandbox = Sandbox::new();
    // Many regions, to have time: folded they would be one.
    let name = |number: u64| format!("step {}", number % 10_000);
    kineto::write(&sandbox.path("many.json"), 60_000, name, |_| "k".to_owned()).unwrap();
    // Reading, then writing the longest of the files, then those behind it.
    for (number, (trigger, with)) in
        [(None, SIGINT), (None, SIGTERM), (Some("analysis.json"), SIGINT), (Some("trace.perfetto"), SIGTERM)]
            .into_iter()
            .enumerate()
    {
        let out = format!("out{number}");
        let mut live = Live::start(&mut sandbox.rangefinder(&[
            "analyze",
            "--out",
            &out,
            "many.json",
            "regions.fold=false",
        ]));
        let pid = live.child.id();
        let folder = sandbox.path(&out);
        match trigger {
            None => eventually("it is at work", || has_interrupts(pid, "SigBlk:")),
            Some(file) => eventually(file, || folder.join(file).exists()),
        }
        signal(pid, with);
        assert_eq!(live.wait(), 130, "{trigger:?}");
        assert_eq!(unfinished(&folder), Vec::<String>::new());
        assert_eq!(folder.join("analysis.json").exists(), trigger.is_some());
        assert!(!folder.join("csv/calls.csv").exists(), "the last file");
        if trigger.is_some() {
            let whole = std::fs::read(folder.join("analysis.json")).unwrap();
            serde_json::from_slice::<serde_json::Value>(&whole).unwrap();
        }
    }
}

#[test]
fn steps_of_a_run() {
    let Some(program) = nvtx_program("steps_of_a_run", "pairs") else { return };
    for (name, with) in [("analyze", SIGTERM), ("report", SIGINT)] {
        let sandbox = Sandbox::new();
        let said = std::fs::File::create(sandbox.path("said")).unwrap();
        let mut live = Live::start(sandbox.rangefinder(&["run", "--", &program, "1500000"]).stderr(said));
        let is_running = || {
            let Some(run) = sandbox.runs().into_iter().next() else { return false };
            let Ok(text) = std::fs::read(run.join("run.json")) else { return false };
            let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
            step(&manifest, name)["status"] == "running"
        };
        eventually(name, is_running);
        signal(live.child.id(), with);
        assert_eq!(live.wait(), 130, "{name}");
        let run = sandbox.only_run();
        let told = manifest(&run);
        assert_eq!((told["status"].as_str(), told["exit_code"].as_u64()), (Some("interrupted"), Some(130)));
        assert_eq!(step(&told, name)["status"], "interrupted");
        assert_eq!(step(&told, "rehearse")["status"], "done", "what was finished is kept");
        assert_eq!(unfinished(&run), Vec::<String>::new());
        // What there is, and how to see it and to go on.
        let said = std::fs::read_to_string(sandbox.path("said")).unwrap();
        let kept = "interrupted; what is done is kept (rehearse, timeline), and `rangefinder analyze ";
        assert!(said.contains(kept) && said.contains("; to continue: rangefinder resume "), "{said}");
        let shown = sandbox.output(&["analyze", run.to_str().unwrap()]);
        assert!(shown.code == 0 && shown.stdout.contains("rangefinder's tracer"), "{}", shown.stderr);
        let again = sandbox.output(&["resume", run.to_str().unwrap()]);
        assert_eq!(again.code, 0, "{}", again.stderr);
        let told = manifest(&run);
        assert_eq!(
            (told["status"].as_str(), step(&told, "report")["status"].as_str()),
            (Some("finished"), Some("done"))
        );
    }
}

/// As a job in the background of a script does, and as `nohup` has it.
#[test]
fn ignored_signals_stay_ignored() {
    let sandbox = Sandbox::new();
    kineto::write(&sandbox.path("few.json"), 2_000, |_| "a".to_owned(), |_| "k".to_owned()).unwrap();
    let command = sandbox.rangefinder(&["analyze", "--out", "out", "few.json"]);
    let mut live = Live::start(&mut ignoring_interrupts(&command));
    let pid = live.child.id();
    eventually("it ignores interrupts", || has_interrupts(pid, "SigIgn:"));
    signal(pid, SIGINT);
    assert_eq!(live.wait(), 0);
}
