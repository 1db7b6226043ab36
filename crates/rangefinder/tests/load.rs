//! A server and its client: the client runs when the server is ready, and only its time counts.

use std::net::TcpListener;
use std::path::Path;

use serde_json::Value;

use crate::support::nsys_scene::Scene;
use crate::support::{Live, Ran, Sandbox, manifest, signal, step};

const SERVER: &str = include_str!("programs/server.py");
const CLIENT: &str = include_str!("programs/client.py");
const ENGINE: &str = include_str!("programs/engine.py");

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    fill(&sandbox);
    sandbox
}

fn fill(sandbox: &Sandbox) {
    for (name, text) in [("server.py", SERVER), ("client.py", CLIENT), ("engine.py", ENGINE)] {
        sandbox.write(name, text);
    }
}

/// Nobody listens there now.
fn port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// `rangefinder run` of the server with its client.
fn words(port: &str, client: &str, more: &[&str], server: &[&str]) -> Vec<String> {
    let load = format!("capture.load=[python3, client.py, {port}, {client}]");
    let ready = format!("capture.ready=http://127.0.0.1:{port}/health");
    let ours = ["-p", "quick", &load, &ready].into_iter().chain(more.iter().copied());
    let server = ["--", "python3"].into_iter().chain(server.iter().copied()).chain([port]);
    ours.chain(server).map(str::to_owned).collect()
}

fn run(sandbox: &Sandbox, words: &[String]) -> Ran {
    let words: Vec<&str> = ["run"].into_iter().chain(words.iter().map(String::as_str)).collect();
    sandbox.output(&words)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn instances(analysis: &Value, region: &str) -> u64 {
    let rows = analysis["regions"].as_array().unwrap();
    rows.iter().filter(|row| row["path"] == region).filter_map(|row| row["instances"].as_u64()).sum()
}

#[test]
fn only_the_time_of_the_load_counts() {
    let (sandbox, port) = (sandbox(), port());
    let ran = run(&sandbox, &words(&port, "30", &["capture.warm_up=10"], &["server.py"]));
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let folder = sandbox.only_run();
    let manifest = manifest(&folder);
    let pass = &manifest["passes"][0];
    assert_eq!(pass["ended_by_us"], "stopped");
    assert_eq!(pass["load"]["ending"]["code"], 0);
    let log = std::fs::read_to_string(folder.join("workload/rehearsal/load.stdout.log")).unwrap();
    assert_eq!(log, "sent 30 with []\n", "the client is not recorded");
    let parents: Vec<&Value> =
        pass["processes"].as_array().unwrap().iter().map(|row| &row["parent"]).collect();
    let root = pass["processes"][0]["parent"].as_u64().unwrap();
    assert_eq!(parents.iter().filter(|parent| parent.as_u64() == Some(root)).count(), 1, "{parents:?}");
    // What there was before the load, and its first ten requests, do not count.
    let analysis = json(&folder.join("analysis.json"));
    assert_eq!(analysis["requests"]["count"], 20);
    assert_eq!((instances(&analysis, ":load weights"), instances(&analysis, ":step")), (0, 60));
    let note = step(&manifest, "rehearse")["note"].as_str().unwrap();
    assert!(note.contains("the load took") && note.ends_with("and then the workload was ended"), "{note}");
    let summary = std::fs::read_to_string(folder.join("summary.txt")).unwrap();
    assert!(summary.contains("where the time goes, while the load ran"), "{summary}");
    // The same when it is analyzed again.
    let again = sandbox.output(&["analyze", "--json", folder.to_str().unwrap()]);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["requests"]["count"], 20, "{}", again["requests"]);
}

#[test]
fn a_line_of_output_and_a_time() {
    let (sandbox, port) = (sandbox(), port());
    let load = format!("capture.load=[python3, client.py, {port}, -1]");
    let ran = sandbox.output(&[
        "run",
        "-p",
        "quick",
        &load,
        "capture.ready=startup complete",
        "capture.delay=300ms",
        "capture.duration=500ms",
        "--",
        "python3",
        "server.py",
        &port,
    ]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let folder = sandbox.only_run();
    let load = &manifest(&folder)["passes"][0]["load"];
    assert_eq!(load["problem"], "the workload ended before its load did");
    let ns = |moment: &str| load[moment]["monotonic_ns"].as_i64().unwrap();
    let took = ns("ended") - ns("began");
    assert!(took > 800_000_000, "{took}");
    // From the first request that counts to the last.
    let span = json(&folder.join("analysis.json"))["span_ns"].as_i64().unwrap();
    assert!(span < took - 250_000_000, "{span} of {took}");
}

#[test]
fn what_goes_wrong_is_told() {
    struct Case {
        client: &'static str,
        server: &'static [&'static str],
        more: &'static [&'static str],
        said: &'static str,
    }
    let cases = [
        Case {
            client: "2, 4",
            server: &["server.py"],
            more: &[],
            said: "the load failed with exit code 4: two requests failed",
        },
        Case {
            client: "2",
            server: &["-c", "import time; time.sleep(60)"],
            more: &["capture.ready_within=1s"],
            said: "/health did not answer: Connection refused (os error 111) (`capture.ready`; `capture.ready_within` says how long to wait)",
        },
        Case {
            client: "-1",
            server: &[
                "-c",
                "import runpy, sys; sys.argv[1:] = [sys.argv[1], '1']; runpy.run_path('server.py')",
            ],
            more: &[],
            said: "the workload ended by itself before its load did",
        },
        Case {
            client: "2",
            server: &["-c", "raise SystemExit(7)"],
            more: &[],
            said: "the workload failed with exit code 7",
        },
    ];
    for case in cases {
        let (sandbox, port) = (sandbox(), port());
        let ran = run(&sandbox, &words(&port, case.client, case.more, case.server));
        let note = step(&sandbox.manifest(), "rehearse")["note"].as_str().unwrap_or_default().to_owned();
        assert!(note.contains(case.said), "{note}\n{}", ran.stderr);
        assert_ne!(ran.code, 0, "{note}");
    }
}

#[test]
fn another_server_is_not_taken_for_the_workload() {
    let sandbox = sandbox();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let ran = run(&sandbox, &words(&port, "2", &[], &["server.py"]));
    assert_ne!(ran.code, 0);
    let said = format!("something else already answers at http://127.0.0.1:{port}/health");
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
}

#[test]
fn an_interrupt_ends_both() {
    let (sandbox, port) = (sandbox(), port());
    let words = words(&port, "-1", &[], &["server.py"]);
    let words: Vec<&str> = ["run"].into_iter().chain(words.iter().map(String::as_str)).collect();
    let mut live = Live::start(&mut sandbox.rangefinder(&words));
    live.expect("startup complete");
    // The client is at work.
    std::thread::sleep(std::time::Duration::from_millis(700));
    signal(live.child.id(), nix::sys::signal::Signal::SIGINT);
    assert_eq!(live.wait(), 130);
    let manifest = sandbox.manifest();
    // It was ended, or failed because nobody answered any more.
    let load = &manifest["passes"][0]["load"];
    assert!(load["ended"].is_object() && load["ending"]["code"] != 0, "{load:#}");
}

/// nsys has a clock of its own.
#[test]
fn in_every_pass_alike() {
    const TEST: &str = "load__in_every_pass_alike";
    let port = port();
    let load = format!("capture.load=[python3, client.py, {port}, 12]");
    let ready = format!("capture.ready=http://127.0.0.1:{port}/health");
    let arguments = [
        &load,
        &ready,
        "capture.warm_up=2",
        "ncu.enable=false",
        "stage1.enable=false",
        "--",
        "python3",
        "server.py",
        &port,
    ];
    let Some(scene) = Scene::new(TEST, &arguments) else { return };
    fill(&scene.sandbox);
    let (ran, manifest, scene) = scene.run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let passes = manifest["passes"].as_array().unwrap();
    let nsys = passes.iter().find(|pass| pass["name"] == "nsys").unwrap();
    assert_eq!(nsys["load"]["ending"]["code"], 0);
    assert_eq!(nsys["ended_by_us"], "stopped");
    let analysis = json(&scene.sandbox.only_run().join("analysis.json"));
    assert!(analysis["source"].as_str().unwrap().contains("nsys"), "{}", analysis["source"]);
    assert_eq!(analysis["requests"]["count"], 10, "{}", analysis["requests"]);
    assert_eq!(instances(&analysis, ":load weights"), 0);
}

/// Processes and ranges as in the published sources of the engines.
#[test]
fn stand_ins_for_engines() {
    for (engine, processes) in [
        ("vllm", &[("VLLM::EngineCor", "spawn", false), ("VLLM::Worker_TP", "fork", true)][..]),
        ("sglang", &[("sglang::schedul", "spawn", true), ("sglang::detoken", "spawn", false)]),
    ] {
        let (sandbox, port) = (sandbox(), port());
        let ran = run(&sandbox, &words(&port, "10", &[], &["engine.py", engine]));
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        let folder = sandbox.only_run();
        let manifest = manifest(&folder);
        let seen = manifest["passes"][0]["processes"].as_array().unwrap();
        for (name, start, has_ranges) in processes {
            let rows: Vec<&Value> = seen.iter().filter(|row| row["name"] == *name).collect();
            let expected = if *name == "VLLM::Worker_TP" { 2 } else { 1 };
            assert_eq!(rows.len(), expected, "{name}: {seen:#?}");
            for row in rows {
                assert_eq!(
                    (&row["start"], row["recorded"].is_object()),
                    (&Value::from(*start), *has_ranges),
                    "{row:#}"
                );
                assert_eq!(row["without_tracer"], false, "{row:#}");
            }
        }
        let requests = &json(&folder.join("analysis.json"))["requests"];
        let phases: Vec<(String, u64, Value)> = requests["phases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                (
                    row["phase"].as_str().unwrap().to_owned(),
                    row["batches"].as_u64().unwrap(),
                    row["context_tokens"].clone(),
                )
            })
            .collect();
        let row = |phase: &str, batches: u64, tokens: Value| (phase.to_owned(), batches, tokens);
        let expected = match engine {
            // Ten requests with three steps each, on two workers.
            "vllm" => vec![row("prefill", 20, 80.into()), row("decode", 40, 0.into())],
            _ => vec![row("any", 30, Value::Null)],
        };
        assert_eq!(phases, expected, "{engine}");
    }
}
