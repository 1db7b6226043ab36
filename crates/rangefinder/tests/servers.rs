//! Programs of several processes: each is in the report, or named with its cause.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Sandbox, manifest};

/// A server with a worker that is forked, one that is spawned, one that is killed and reaped at once, and one that is
/// started without any of our variables.
const SERVER: &str = r#"
import multiprocessing, os, signal, subprocess, sys, time
from rangefinder import stage

def work(name, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with stage(name):
            time.sleep(0.01)

if __name__ == "__main__":
    with stage("serve"):
        pass
    start = lambda how, name, seconds: multiprocessing.get_context(how).Process(target=work, args=(name, seconds))
    workers = {"fork": start("fork", "forked", 1.5), "spawn": start("spawn", "spawned", 1.0), "kill": start("fork", "doomed", 60)}
    for worker in workers.values():
        worker.start()
    bare = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(1.5)"], env={})
    print("PIDS", *[f"{name}={worker.pid}" for name, worker in workers.items()], f"bare={bare.pid}", flush=True)
    time.sleep(1)
    os.kill(workers["kill"].pid, signal.SIGKILL)
    for worker in workers.values():
        worker.join()
    bare.wait()
"#;

#[test]
fn every_process_of_a_server() {
    let sandbox = Sandbox::new();
    sandbox.write("server.py", SERVER);
    let ran = sandbox.output(&["run", "-p", "quick", "--", "python3", "server.py"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let run = sandbox.only_run();
    let output = std::fs::read_to_string(run.join("workload/rehearsal/stdout.log")).unwrap();
    let pids: BTreeMap<&str, u64> = output
        .lines()
        .find_map(|line| line.strip_prefix("PIDS "))
        .unwrap()
        .split(' ')
        .map(|word| word.split_once('=').map(|(name, pid)| (name, pid.parse().unwrap())).unwrap())
        .collect();
    let manifest = manifest(&run);
    let processes = manifest["passes"][0]["processes"].as_array().unwrap();
    let of = |name: &str| {
        processes
            .iter()
            .find(|row| row["pid"] == pids[name])
            .unwrap_or_else(|| panic!("{name}: {processes:#?}"))
    };
    for (name, start) in [("fork", "fork"), ("spawn", "spawn"), ("kill", "fork")] {
        let row = of(name);
        assert_eq!(row["start"], start, "{row:#}");
        assert!(row["recorded"]["ranges"].as_u64() > Some(20), "{row:#}");
        assert_eq!(row["without_tracer"], false, "{row:#}");
    }
    assert!(of("bare")["recorded"].is_null() && of("bare")["without_tracer"] == true, "{:#}", of("bare"));
    // The system tells how a process ended since Linux 6.15, unless it waits for its parent.
    match &of("kill")["ending"] {
        Value::Null => {}
        ending => {
            assert_eq!(ending["signal"], 9);
            let summary = std::fs::read_to_string(run.join("summary.txt")).unwrap();
            let said = summary.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains("signal 9 (SIGKILL)"), "{summary}");
        }
    }
    let table = std::fs::read_to_string(run.join("csv/processes.csv")).unwrap();
    let line = |name: &str| table.lines().find(|line| line.starts_with(&format!("{},", pids[name]))).unwrap();
    assert!(line("spawn").contains(",spawn,opens ranges,"), "{table}");
    assert!(line("bare").contains("its environment lacks the tracer's variables"), "{table}");
}

/// One process is no table.
#[test]
fn a_program_of_one_process() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "-p", "quick", "--", "sleep", "0.3"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let summary = std::fs::read_to_string(sandbox.only_run().join("summary.txt")).unwrap();
    assert!(!summary.contains("processes"), "{summary}");
    assert!(!sandbox.only_run().join("csv/processes.csv").exists());
}

/// Three requests that overlap, with their own times beside ours.
const REQUESTS: &str = r#"
import json, threading, time
from rangefinder import request, stage

told = {}

def serve(name, wait, prompt, tokens):
    times = {"begin": time.monotonic()}
    with request(name, prompt_tokens=prompt) as now:
        time.sleep(wait)
        times["scheduled"] = time.monotonic()
        now.scheduled()
        times["tokens"] = []
        for _ in range(tokens):
            with stage("execute_context_0(0)_generation_1(1)"):
                time.sleep(0.02)
            times["tokens"].append(time.monotonic())
            now.token()
    times["end"] = time.monotonic()
    told[name] = times

# The first range of a process takes longer.
with stage("ready"):
    pass
threads = [threading.Thread(target=serve, args=(name, 0.05 * at, 10 * at, 5 + at)) for at, name in enumerate(["a", "b 1", "c"])]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
json.dump(told, open("told.json", "w"))
"#;

#[test]
fn requests_and_their_own_times() {
    let sandbox = Sandbox::new();
    sandbox.write("requests.py", REQUESTS);
    let ran = sandbox.output(&["run", "-p", "quick", "--", "python3", "requests.py"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let run = sandbox.only_run();
    let read = |path: std::path::PathBuf| -> Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let told = read(sandbox.path("told.json"));
    let analysis = read(run.join("analysis.json"));
    let requests = analysis["requests"]["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 3);
    for request in requests {
        let times = &told[request["id"].as_str().unwrap()];
        let second = |value: &Value| value.as_f64().unwrap();
        let begin = second(&times["begin"]);
        let tokens: Vec<f64> = times["tokens"].as_array().unwrap().iter().map(second).collect();
        assert_eq!(request["tokens"], tokens.len());
        let between = (tokens[tokens.len() - 1] - tokens[0]) / (tokens.len() - 1) as f64;
        for (ours, theirs) in [
            ("queue_ns", second(&times["scheduled"]) - begin),
            ("first_token_ns", tokens[0] - begin),
            ("between_tokens_ns", between),
            ("whole_ns", second(&times["end"]) - begin),
        ] {
            let ours_s = request[ours].as_f64().unwrap() / 1e9;
            // A thread may lose the processor between its own clock and ours.
            assert!((ours_s - theirs).abs() < 0.01 * theirs + 0.015, "{ours}: {ours_s}, {theirs}");
        }
    }
    let phases = &analysis["requests"]["phases"];
    assert_eq!((&phases[0]["phase"], &phases[0]["batches"]), (&"decode".into(), &18.into()), "{phases:#}");
    assert!(run.join("csv/requests.csv").is_file() && run.join("csv/request_times.csv").is_file());
    let summary = std::fs::read_to_string(run.join("summary.txt")).unwrap();
    assert!(summary.contains("3 requests in") && summary.contains("(TTFT)"), "{summary}");
}
