//! The tracer's GPU half where there is no GPU: a library that hands out records as CUPTI
//! does stands in its place. What the real one does is shown by `cargo xtask gpu-test`.

use serde_json::Value;

use crate::support::{Ran, Sandbox, fake_cupti, nvtx_program};

/// `rangefinder run timeline.source=tracer`, and what came of it.
fn traced(test: &str, words: &str) -> Option<(Ran, Value)> {
    let emit = nvtx_program(test, "emit")?;
    let sandbox = Sandbox::new();
    let mut arguments =
        vec!["run", "timeline.source=tracer", "rehearsal.graph_nodes=true", "--", emit.as_str()];
    arguments.extend(words.split(' '));
    let mut command = sandbox.rangefinder(&arguments);
    let ran = Ran::from(command.env("RANGEFINDER_CUPTI", fake_cupti(test)).output().unwrap());
    let analysis = std::fs::read(sandbox.only_run().join("analysis.json")).unwrap();
    Some((ran, serde_json::from_slice(&analysis).unwrap()))
}

fn kernels(analysis: &Value) -> u64 {
    analysis["kernels"].as_array().unwrap().iter().map(|row| row["calls"].as_u64().unwrap()).sum()
}

#[test]
fn kernels_belong_to_the_range_that_launched_them() {
    let words = "inject push=A gpu=50 pop gpu=7 push=B gpu=20000 pop";
    let Some((ran, analysis)) = traced("kernels_belong_to_the_range_that_launched_them", words) else {
        return;
    };
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let row = |path: &str| {
        let regions = analysis["regions"].as_array().unwrap();
        regions.iter().find(|row| row["path"] == path).unwrap()["kernels_inclusive"].as_u64().unwrap()
    };
    assert_eq!((row(":A"), row(":B"), kernels(&analysis)), (50, 20_000, 20_057), "{}", ran.stderr);
    assert_eq!(analysis["unattributed"]["kernels"], 7);
    assert_eq!(analysis["kernels"][0]["name"], "tiny_kernel(float*)");
    assert!(ran.stderr.contains("from Rangefinder's tracer: captured: 20057 kernels"), "{}", ran.stderr);
}

/// What was written is there, however the program ends.
#[test]
fn a_flush_survives_the_end() {
    for end in ["quit=0", "kill", "abort"] {
        let words = format!("inject push=A gpu=50 pop sleep=1200 gpu=1 {end}");
        let Some((_, analysis)) = traced("a_flush_survives_the_end", &words) else { return };
        assert!((50..=51).contains(&kernels(&analysis)), "{end}: {}", kernels(&analysis));
    }
}

/// Workers of `multiprocessing` that are forked end by `os._exit`; one of these uses the GPU for a moment, one is killed.
const WORKERS: &str = r#"
import ctypes, multiprocessing, os, signal, sys, time
from rangefinder import stage

def work(name, kernels, wait):
    # As `cuInit` does.
    ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
    with stage(name):
        ctypes.CDLL(os.environ["RANGEFINDER_CUPTI"]).fake_launch(kernels)
    time.sleep(wait)

workers = [multiprocessing.get_context("fork").Process(target=work, args=given) for given in [("short", 50, 0), ("doomed", 30, 60)]]
for worker in workers:
    worker.start()
workers[0].join()
time.sleep(1.5)
workers[1].kill()
workers[1].join()
print("DOOMED", workers[1].pid)
"#;

#[test]
fn forked_workers_keep_their_kernels() {
    let test = "forked_workers_keep_their_kernels";
    let sandbox = Sandbox::new();
    sandbox.write("workers.py", WORKERS);
    let words = ["run", "timeline.source=tracer", "stage1.enable=false", "--", "python3", "workers.py"];
    let mut command = sandbox.rangefinder(&words);
    let ran = Ran::from(command.env("RANGEFINDER_CUPTI", fake_cupti(test)).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let analysis: Value =
        serde_json::from_slice(&std::fs::read(sandbox.only_run().join("analysis.json")).unwrap()).unwrap();
    let row = |path: &str| {
        let regions = analysis["regions"].as_array().unwrap();
        regions.iter().find(|row| row["path"] == path).unwrap()["kernels_inclusive"].as_u64().unwrap()
    };
    assert_eq!((row(":short"), row(":doomed")), (50, 30), "{}", ran.stderr);
    let pid = ran.stdout.split_once("DOOMED ").unwrap().1.split_whitespace().next().unwrap().to_owned();
    let said: Vec<&str> = analysis["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["text"].as_str().unwrap())
        .filter(|text| text.contains("half a second"))
        .collect();
    assert!(said.len() == 1 && said[0].contains(&format!("(pid {pid})")), "{said:?}");
}

#[test]
fn another_client_gets_cupti() {
    for subscribe in ["subscribe", "subscribe2"] {
        let words = format!("inject push=A gpu=50 pop {subscribe} gpu=30 capture=2 subscribe");
        let Some((ran, analysis)) = traced("another_client_gets_cupti", &words) else { return };
        assert_eq!(ran.stdout.matches("subscribe: granted").count(), 2, "{}", ran.stdout);
        assert_eq!(kernels(&analysis), 50);
        assert!(ran.stderr.contains("took over CUPTI"), "{}", ran.stderr);
        assert_eq!(ran.code, 1, "the timeline that was asked for is not whole: {}", ran.stderr);
    }
}

/// Also what a thread of its own captures.
#[test]
fn kernels_of_a_graph_have_the_ranges_of_their_capture() {
    let words = "inject push=forward push=attn capture=3 pop push=mlp capture=2 pop pop thread push=other capture=1 pop \
                 join capture=1 instantiate push=step replay=4 pop gpu=9";
    let Some((ran, analysis)) = traced("kernels_of_a_graph_have_the_ranges_of_their_capture", words) else {
        return;
    };
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let graphs = &analysis["cuda_graphs"];
    let captured: Vec<(&str, u64, u64)> = graphs["captured"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["path"].as_str().unwrap(),
                row["replays"].as_u64().unwrap(),
                row["kernels"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected = [(":forward", 4, 20), (":forward/attn", 4, 12), (":forward/mlp", 4, 8), (":other", 4, 4)];
    assert_eq!(captured, expected, "{}", ran.stderr);
    assert_eq!(
        (&graphs["kernels"], &graphs["outside"], &graphs["unseen"]),
        (&28.into(), &4.into(), &0.into())
    );
    let step = analysis["regions"].as_array().unwrap().iter().find(|row| row["path"] == ":step").unwrap();
    assert_eq!(step["kernels_inclusive"], 28);
}

/// CUDA does not live on in a forked child, and neither do we.
#[test]
fn a_fork_leaves_the_parent_alone() {
    let words = "inject push=A gpu=50 pop fork push=C sleep=20 pop wait push=A gpu=50 pop";
    let Some((ran, analysis)) = traced("a_fork_leaves_the_parent_alone", words) else { return };
    assert_eq!((ran.code, kernels(&analysis)), (0, 100), "{}", ran.stderr);
}

#[test]
fn a_library_that_is_none() {
    let test = "a_library_that_is_none";
    let Some(emit) = nvtx_program(test, "emit") else { return };
    let sandbox = Sandbox::new();
    sandbox.write("libcupti.so", "this is no library");
    let arguments = ["run", "timeline.source=tracer", "--", &emit, "inject", "push=A", "pop"];
    let mut command = sandbox.rangefinder(&arguments);
    let ran = Ran::from(command.env("RANGEFINDER_CUPTI", sandbox.path("libcupti.so")).output().unwrap());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("libcupti could not be loaded in the workload"), "{}", ran.stderr);
    let manifest = sandbox.manifest();
    let verdict = &manifest["verdicts"].as_array().unwrap().last().unwrap()["verdict"];
    assert_eq!((&verdict["outcome"], &verdict["cause"]), (&"partial".into(), &"tool-broken".into()));
    assert!(verdict["remedy"].as_str().unwrap().contains("RANGEFINDER_CUPTI"), "{verdict}");
}
