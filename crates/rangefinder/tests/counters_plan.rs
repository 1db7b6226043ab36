//! Which launches ncu measures: chosen from the timeline, named in a plan, and as many as the budget
//! allows.

use serde_json::Value;

use crate::support::scripted_ncu::{Scene, row, verdicts};
use crate::support::{self, Sandbox, fake_cupti};

#[test]
fn the_budget_ends_it_and_what_there_is_stays() {
    let test = "the_budget_ends_it_and_what_there_is_stays";
    let body = r#"cp $REPORTS/kernel.ncu-rep "$out"; sleep 2
echo '==PROF== Profiling "copy_kernel" - 0: 0%....50%....100% - 10 passes' >> "$log"
trap 'kill $!; exit 130' INT; sleep 60 & wait"#;
    // A script's background job ignores SIGINT, by which ncu is ended.
    for in_the_background in [false, true] {
        let Some(mut scene) = Scene::new(test, body, &["ncu.enable=true", "ncu.budget=2s", "--", "true"])
        else {
            return;
        };
        if in_the_background {
            scene.command = support::ignoring_interrupts(&scene.command);
        }
        let (_, ran, manifest) = scene.run();
        assert_eq!(verdicts(&manifest), [row("kernel replay", "partial", "budget-spent")], "{}", ran.stderr);
        let pass = manifest["passes"].as_array().unwrap().iter().find(|pass| pass["name"] == "ncu").unwrap();
        // Two seconds until the first launch, which the budget does not count, and the budget.
        let wall = pass["wall_ms"].as_u64().unwrap();
        assert!((4_000..20_000).contains(&wall), "{wall}");
    }
}

/// Replays that are far slower than foreseen: fewer are chosen, by the pace of the first.
#[test]
fn the_first_launches_tell_how_many_fit() {
    let test = "the_first_launches_tell_how_many_fit";
    let body = r#"cp $REPORTS/kernel.ncu-rep "$out"
echo '==PROF== Profiling "tiny_kernel" - 0: 0%....50%....100% - 18 passes' >> "$log"
[ $(wc -l < "$calls") -gt 1 ] && exit
echo -n '==PROF== Profiling "tiny_kernel" - 1: 0%....' >> "$log"
trap 'kill $!; exit 130' INT; sleep 60 & wait"#;
    let Some(scene) = Scene::of_400_kernels(test, body) else { return };
    let (sandbox, ran, manifest) = scene.run();
    let expected = [
        row("kernel replay", "partial", "budget-spent"),
        row("kernel replay of fewer launches", "captured", ""),
    ];
    assert_eq!(verdicts(&manifest), expected, "{}", ran.stderr);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = |text: &str| assert!(ran.stderr.contains(text), "{text}: {}", ran.stderr);
    told("20 launches of 1 kind for 100 % of the kernels' time");
    told("ncu, kernel replay: partial: stopped: 1 of 20 launches after 1");
    told("times as slow as predicted; at this pace not all launches fit `ncu.budget`");
    told("next: kernel replay of fewer launches");
    told(" of each instead of 20, to fit the budget");
    let plan = std::fs::read(sandbox.only_run().join("ncu/plan.json")).unwrap();
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    assert!((1..=5).contains(&plan["invocations"][0]["launches"].as_u64().unwrap()), "{plan}");
    assert!(
        !std::fs::read_to_string(sandbox.only_run().join("run.json")).unwrap().contains("each launch took")
    );
    // What was measured before is not lost: each report has 36 launches.
    let table = std::fs::read_to_string(sandbox.only_run().join("ncu/raw.csv")).unwrap();
    assert_eq!(table.lines().filter(|line| line.contains(",toy,")).count(), 72);
}

/// As fast as foreseen, and slow afterwards: it is not given up.
#[test]
fn what_is_on_time_is_left_alone() {
    let test = "what_is_on_time_is_left_alone";
    let body = r#"cp $REPORTS/kernel.ncu-rep "$out"
for number in $(seq 0 9); do
  echo "==PROF== Profiling \"tiny_kernel\" - $number: 0%....50%....100% - 18 passes" >> "$log"
done
sleep 16"#;
    let Some(scene) = Scene::of_400_kernels(test, body) else { return };
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(verdicts(&manifest), [row("kernel replay", "captured", "")], "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(sandbox.path("calls")).unwrap().lines().count(), 1);
}

/// Too slow even for a single launch in what is left of the budget.
#[test]
fn given_up_and_nothing_fits() {
    let test = "given_up_and_nothing_fits";
    let body = r#"cp $REPORTS/kernel.ncu-rep "$out"
echo -n '==PROF== Profiling "tiny_kernel" - 0: 0%....' >> "$log"
trap 'sleep 12; kill $!; exit 130' INT; sleep 60 & wait"#;
    let Some(scene) = Scene::of_400_kernels(test, body) else { return };
    let (_, ran, manifest) = scene.run();
    assert_eq!(verdicts(&manifest), [row("kernel replay", "partial", "budget-spent")], "{}", ran.stderr);
    assert!(ran.stderr.contains("representing 100 % of the GPU's time; stopped: 0 of 20"), "{}", ran.stderr);
    assert!(ran.stderr.contains("s are too short for another launch"), "{}", ran.stderr);
    assert_eq!(ran.code, 1);
}

/// A name that is in two places: the one that was meant.
#[test]
fn a_path_is_a_path() {
    let test = "a_path_is_a_path";
    let program = "push=prefill push=attn gpu=40 pop pop push=decode push=attn gpu=40 pop pop";
    let mut arguments = vec!["ncu.nvtx_include=[':decode/attn']", "--", "EMIT", "inject"];
    arguments.extend(program.split(' '));
    let body = r#"cp $REPORTS/kernel.ncu-rep "$out""#;
    let Some(mut scene) = Scene::new(test, body, &arguments) else { return };
    scene.command.env("RANGEFINDER_CUPTI", fake_cupti(test));
    let (sandbox, ran, _) = scene.run();
    let calls = std::fs::read_to_string(sandbox.path("calls")).unwrap();
    let first = calls.lines().next().unwrap();
    assert!(first.contains("--nvtx-include decode/attn "), "{calls}\n{}", ran.stderr);
    let skip: u64 = first.split("--launch-skip ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(skip < 40, "{calls}");
    assert!(ran.stderr.contains("the ranges take 50 % of the GPU's time"), "{}", ran.stderr);
}

#[test]
fn a_plan_is_checked_before_anything_runs() {
    let sandbox = Sandbox::new();
    sandbox.write("plan.yaml", "kernels:\n  - {name: gemm, grid: [4], sampels: 2}\n");
    let ran = sandbox.output(&["run", "--plan", "plan.yaml", "--", "true"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("sampels") && sandbox.runs().is_empty(), "{}", ran.stderr);
}

/// Kernels that the tracer saw: 400 of one kind, 400 launches that matter less, and a gate.
#[test]
fn launches_are_chosen_from_the_timeline() {
    let test = "launches_are_chosen_from_the_timeline";
    let program =
        ["--", "EMIT", "inject", "push=warm", "gpu=3", "pop", "push=A", "push=A1", "gpu=400", "pop", "pop"];
    let arguments = |more: &[&'static str]| {
        let mut words = vec!["ncu.enable=true"];
        words.extend(more);
        words.extend(program);
        words
    };
    // The report has such a kernel, too.
    let body = r#"cp $REPORTS/kernel.ncu-rep "$out""#;
    let Some(mut scene) = Scene::new(test, body, &arguments(&[])) else { return };
    scene.command.env("RANGEFINDER_CUPTI", fake_cupti(test));
    let (sandbox, ran, manifest) = scene.run();
    assert_eq!(verdicts(&manifest), [row("kernel replay", "captured", "")]);
    assert!(ran.code == 0 && ran.stderr.contains("representing"), "{}", ran.stderr);
    let run = sandbox.only_run();
    let plan: Value = serde_json::from_slice(&std::fs::read(run.join("ncu/plan.json")).unwrap()).unwrap();
    assert!(plan["covered"].as_f64().unwrap() >= 0.9, "{plan}");
    assert_eq!(plan["invocations"].as_array().unwrap().len(), 1);
    let command = std::fs::read_to_string(run.join("ncu/cmd.txt")).unwrap();
    assert!(command.contains("--filter-mode per-launch-config"), "{command}");
    assert!(command.contains("tiny_kernel"), "{command}");
    // From the middle of the launches, not from their beginning.
    let skip = command.split("--launch-skip ").nth(1).unwrap().split(' ').next().unwrap();
    let skip: u64 = skip.parse().unwrap();
    assert!((100..300).contains(&skip), "{command}");
    assert!(ran.stderr.contains("of the kernels' time, about"), "{}", ran.stderr);
    // What was chosen can be given back.
    let saved = std::fs::read_to_string(run.join("ncu/ncu-plan.yaml")).unwrap();
    let edited = saved.replace("samples: 1", "samples: 3");
    let Some(scene) = Scene::new(test, body, &arguments(&["--plan", "edited.yaml"])) else { return };
    scene.sandbox.write("edited.yaml", &edited);
    let mut scene = scene;
    scene.command.env("RANGEFINDER_CUPTI", fake_cupti(test));
    let (sandbox, _, _) = scene.run();
    let command = std::fs::read_to_string(sandbox.only_run().join("ncu/cmd.txt")).unwrap();
    assert!(command.contains("--launch-count 3"), "{command}");
}

/// Two ranks whose every tenth kernel is a collective: ncu never gets to replay one.
#[test]
fn collectives_of_ranks_are_not_replayed() {
    let test = "collectives_of_ranks_are_not_replayed";
    let program = ["--", "python3", "launch.py", "2", "EMIT", "inject", "push=A", "gpu=40", "pop"];
    let body = r#"cp $REPORTS/kernel.ncu-rep "$out""#;
    let run = |more: &[&'static str]| {
        let words: Vec<&str> = ["ncu.enable=true"].iter().chain(more).chain(&program).copied().collect();
        let mut scene = Scene::new(test, body, &words)?;
        scene.sandbox.write("launch.py", include_str!("programs/launch.py"));
        scene.command.env("RANGEFINDER_CUPTI", fake_cupti(test)).env("FAKE_COLLECTIVES", "1");
        Some(scene.run())
    };
    let Some((sandbox, ran, _)) = run(&[]) else { return };
    assert!(
        ran.stderr.contains("collectives are not measured: ncu replays a kernel on one rank"),
        "{}",
        ran.stderr
    );
    let command = std::fs::read_to_string(sandbox.only_run().join("ncu/cmd.txt")).unwrap();
    assert!(command.contains("tiny_kernel") && !command.contains("nccl"), "{command}");
    let Some((_, ran, manifest)) = run(&["ncu.nvtx_include=A", "ncu.replay_mode=range"]) else { return };
    let first = &verdicts(&manifest)[0];
    assert_eq!(*first, row("range replay", "failed", "unsupported-call"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`:A` has collectives of 2 ranks in it"), "{}", ran.stderr);
}
