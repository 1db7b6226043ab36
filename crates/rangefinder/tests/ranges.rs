//! The rehearsal sees which ranges really happen, whatever becomes of the process.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Ran, Sandbox, nvtx_program as program, skip, step, tool};

/// The document of `ranges --json`, and how the command ended.
fn ranges(sandbox: &Sandbox, command: &[&str]) -> (Value, Ran) {
    let mut arguments = vec!["ranges", "--json", "--"];
    arguments.extend(command);
    let ran = sandbox.output(&arguments);
    let document =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}\n{}", ran.stdout, ran.stderr));
    (document, ran)
}

/// `(path, kind, registered, wide, instances, open)` of every region, sorted.
fn table(document: &Value) -> Vec<(String, String, String, bool, u64, u64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut rows: Vec<_> = document["regions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|region| {
            (
                text(&region["path"]),
                text(&region["kind"]),
                text(&region["registered"]),
                region["wide"].as_bool().unwrap(),
                region["instances"].as_u64().unwrap(),
                region["open"].as_u64().unwrap(),
            )
        })
        .collect();
    rows.sort();
    rows
}

fn row(path: &str, kind: &str, registered: &str, instances: u64) -> (String, String, String, bool, u64, u64) {
    (path.to_owned(), kind.to_owned(), registered.to_owned(), false, instances, 0)
}

#[test]
fn every_kind_of_range_of_a_c_program() {
    let Some(kinds) = program("every_kind_of_range_of_a_c_program", "kinds") else { return };
    let sandbox = Sandbox::new();
    let (document, ran) = ranges(&sandbox, &[&kinds]);
    assert_eq!(ran.code, 3, "it exits with 5, traced or not");
    let mut wide = row(":wide", "push/pop", "no", 1);
    wide.3 = true;
    let mut open = row(":never_closed", "push/pop", "no", 1);
    open.5 = 1;
    let mut expected = vec![
        row(":attributes", "push/pop", "no", 2),
        row(":cut", "push/pop", "no", 1),
        open,
        row(":plain", "push/pop", "no", 3),
        row(":plain/inner", "push/pop", "no", 6),
        row(":se", "start/end", "no", 2),
        wide,
        row("LLM:registered", "push/pop", "yes", 4),
        row("LLM:registered/text", "push/pop", "no", 4),
    ];
    expected.sort();
    assert_eq!(table(&document), expected);
    assert_eq!((document["marks"].as_u64(), document["threads"].as_u64()), (Some(1), Some(2)));
    let notes = document["diagnostics"].to_string();
    assert!(notes.contains("1 pop without a matching push"), "{notes}");
}

#[test]
fn every_range_of_the_python_packages() {
    let test = "every_range_of_the_python_packages";
    for version in ["0.2.8", "0.2.13", "0.2.16"] {
        let Some(python) = tool(test, "bin/python3") else { return };
        let Some(packages) = tool(test, &format!("python/nvtx-{version}")) else { return };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/ranges.py");
        let sandbox = Sandbox::new();
        let arguments = ["ranges", "--json", "--", python.to_str().unwrap(), script.to_str().unwrap()];
        let output = sandbox.rangefinder(&arguments).env("PYTHONPATH", packages).output().unwrap();
        let ran = Ran::from(output);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, "done\n"), "{version}");
        let document: Value = serde_json::from_str(&ran.stdout).unwrap();
        let found: Vec<_> = table(&document)
            .into_iter()
            .map(|(path, kind, registered, _, count, open)| (path, kind, registered, count, open))
            .collect();
        let expected = [
            (":decorated", "push/pop", 5),
            (":outer", "push/pop", 5),
            (":pushed", "push/pop", 5),
            (":started", "start/end", 5),
            ("LLM:inner", "push/pop", 5),
            ("LLM:on_thread", "push/pop", 1),
        ];
        let expected: Vec<_> = expected
            .map(|(path, kind, count)| (path.to_owned(), kind.to_owned(), "yes".to_owned(), count, 0))
            .to_vec();
        assert_eq!(found, expected, "{version}");
    }
}

/// A worker that was forked before CUDA was used, initialises CUDA, and forks itself.
#[test]
fn a_child_that_starts_the_tracer_anew_can_fork() {
    let test = "a_child_that_starts_the_tracer_anew_can_fork";
    let Some(emit) = program(test, "emit") else { return };
    let sandbox = Sandbox::new();
    let words = "push=A pop fork inject push=B pop fork push=C pop wait wait";
    let mut arguments = vec!["ranges", "--json", "workload.timeout=20s", "--", emit.as_str()];
    arguments.extend(words.split(' '));
    let ran = sandbox.output(&arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for region in ["\":A\"", "\":B\"", "\":C\""] {
        assert!(ran.stdout.contains(region), "{region}: {}", ran.stdout);
    }
}

#[test]
fn many_threads_and_a_fork_in_the_middle() {
    let Some(many) = program("many_threads_and_a_fork_in_the_middle", "many") else { return };
    let sandbox = Sandbox::new();
    let (document, ran) = ranges(&sandbox, &[&many, "64", "100000"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let count = |path: &str| {
        let regions = document["regions"].as_array().unwrap();
        let found = regions.iter().filter(|region| region["path"] == path);
        found
            .map(|region| (region["instances"].as_u64().unwrap(), region["processes"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(count(":before"), [(6_400_000, 1)]);
    assert_eq!(count(":after"), [(12_800_000, 2)]);
    assert_eq!(count(":around"), [(1, 1)], "the child's pop has no push of its own");
    let processes = document["processes"].as_array().unwrap();
    let forked: Vec<bool> = processes.iter().map(|process| process["forked"].as_bool().unwrap()).collect();
    assert_eq!(forked.iter().filter(|forked| **forked).count(), 1, "{processes:?}");
}

#[test]
fn what_was_recorded_survives_every_ending() {
    let test = "what_was_recorded_survives_every_ending";
    let Some(endings) = program(test, "endings") else { return };
    for (way, code, works) in
        [("return", 0, 1), ("kill", 3, 1), ("abort", 3, 1), ("_exit", 3, 1), ("exec", 0, 2), ("daemon", 0, 1)]
    {
        let sandbox = Sandbox::new();
        let (document, ran) = ranges(&sandbox, &[&endings, way]);
        assert_eq!(ran.code, code, "{way}: {}", ran.stderr);
        let found: Vec<_> = table(&document).into_iter().map(|row| (row.0, row.4, row.5)).collect();
        assert_eq!(
            found,
            [(":work".to_owned(), works, works), (":work/step".to_owned(), 3 * works, 0)],
            "{way}"
        );
    }
}

#[test]
fn a_tracer_that_cannot_write_gets_out_of_the_way_and_it_is_told() {
    let test = "a_tracer_that_cannot_write_gets_out_of_the_way_and_it_is_told";
    let Some(many) = program(test, "many") else { return };
    let sandbox = Sandbox::new();
    // The run's own folder for traces is taken by a file.
    let script =
        format!("rm -rf \"$RANGEFINDER_TRACE_DIR\"; touch \"$RANGEFINDER_TRACE_DIR\"; exec {many} 4 100");
    let ran = sandbox.output(&["run", "--", "sh", "-c", &script]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("the rehearsal's trace cannot be read").count(), 1, "{}", ran.stderr);
    let log = std::fs::read_to_string(sandbox.only_run().join("workload/rehearsal/stderr.log")).unwrap();
    assert_eq!(log, "", "the tracer says nothing on the program's own streams");

    let probe = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return skip(test, "no user namespaces here");
    }
    std::fs::create_dir(sandbox.path("small")).unwrap();
    let line = format!(
        "mount -t tmpfs -o size=2m none small && {} run run.dir=small -- {many} 4 100000",
        env!("CARGO_BIN_EXE_rangefinder")
    );
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &line])
        .current_dir(sandbox.path(""))
        .output();
    let ran = Ran::from(output.unwrap());
    let told = "stopped before it ended: the disk is nearly full, and the tracer leaves its last 5 %";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert!(ran.stderr.contains("workload: exit code 0"), "{}", ran.stderr);
}

#[test]
fn the_screen() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["ranges", "--", env!("CARGO_BIN_EXE_rangefinder"), "demo", "--emit-only"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let times = regex::Regex::new(r" +\d+(\.\d+)? (ns|us|ms|s)\b| +\d+\.\d%").unwrap();
    let told = regex::Regex::new(r"in <n>, checksum .*\n.*").unwrap();
    let screen = times.replace_all(&ran.stdout, " <n>").into_owned();
    insta::assert_snapshot!(told.replace_all(&screen, "in <n>").into_owned());
    // An expression that selects one region alone, or says what else it selects.
    if let Some(emit) = program("the_screen", "emit") {
        let script = "rpush=step pop rpush=outer rpush=step pop pop rpush=x rpush=step pop pop";
        let arguments: Vec<&str> = ["ranges", "--", &emit].into_iter().chain(script.split(' ')).collect();
        let screen = sandbox.output(&arguments).stdout;
        for line in [
            "\n    nsys  -c nvtx -p step    (registered; also opens for `:outer/step` and 1 more)\n",
            "\n    ncu   --nvtx --nvtx-include '[step/'\n",
            "\n      ncu   --nvtx --nvtx-include outer/step\n",
            "\n    nsys  -c nvtx -p outer    (registered)\n",
        ] {
            assert!(screen.contains(line), "{line}{screen}");
        }
    }
    let ran = sandbox.output(&["ranges", "--", "true"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("no NVTX calls were seen\nhint: "), "{}", ran.stdout);
}

#[test]
fn classic_gates_are_explained() {
    let Some(emit) = program("classic_gates_are_explained", "emit") else { return };
    let sandbox = Sandbox::new();
    // Long enough that none lies at one end of the run by chance.
    let decode =
        "drpush=LLM:decode sleep=20 dpop=LLM drpush=LLM:decode sleep=20 dpop=LLM push=prefill sleep=20 pop";
    let stages =
        "push=stem sleep=20 pop push=residual sleep=20 pop push=head sleep=20 pop start=session sleep=20 end";
    let forked = "fork push=worker sleep=20 pop wait wpush=wide sleep=20 pop";
    let early = "push=early pop sleep=200 push=late sleep=1 pop";
    let alike =
        "drpush=LLM:step sleep=20 dpop=LLM rpush=step sleep=20 pop rpush=a rpush=step sleep=20 pop pop";
    let steps = "push=step_1 push=fwd sleep=20 pop pop push=step_2 sleep=20 pop push=st*ar sleep=20 pop \
        push=st.ar sleep=20 pop";
    let at_once = "start=se sleep=20 end start=sx sleep=20 start=sy sleep=20 end sleep=20 end";
    let deep = "rpush=a rpush=b rpush=step sleep=20 pop pop pop rpush=c rpush=step sleep=20 pop pop rpush=x/y sleep=20 pop";
    let mut screens = String::new();
    for (gate, script) in [
        ("range", decode),
        ("decode", decode),
        ("decode@LLM", decode),
        ("LLM@decode/", decode),
        ("prefil", decode),
        ("stem;residual;head", stages),
        ("stem", stages),
        ("session/", stages),
        ("res*", stages),
        ("worker", forked),
        ("wide", forked),
        ("early", early),
        ("late/", early),
        ("step", alike),
        (":step", alike),
        (":a/step", alike),
        ("a/step", alike),
        ("regex:st.*", stages),
        ("FOO:decode", decode),
        ("sx,sy", at_once),
        ("se,sx", at_once),
        ("session,stem", stages),
        ("stem,head", stages),
        ("stem;foo;b*", stages),
        (":step_*", steps),
        ("step*@LLM", steps),
        ("step_*/fwd", steps),
        ("nothing*", steps),
        ("*", steps),
        ("st*ar", steps),
        (r"st\*ar", steps),
        (r"st\*", steps),
        ("b/step", deep),
        ("a/*/step", deep),
        ("regex:^b$/^s", deep),
        (":b/step", deep),
        (":a/stp", alike),
        ("x/y", deep),
        (r"x\/y", deep),
    ] {
        let mut arguments = vec!["ranges", "--gate", gate, "--", &emit];
        arguments.extend(script.split(' '));
        let ran = sandbox.output(&arguments);
        screens.push_str(&format!("{}[exit code {}]\n\n", ran.stdout, ran.code));
    }
    let times = regex::Regex::new(r"the first after [0-9.]+ (ns|us|ms)").unwrap();
    let shares = regex::Regex::new(r"\d+ % of the run").unwrap();
    let screens = times.replace_all(&screens, "the first after <n>");
    insta::assert_snapshot!(shares.replace_all(&screens, "<n> % of the run").into_owned());
}

#[test]
fn a_gate_as_json_and_the_ranges_as_a_tree() {
    let Some(emit) = program("a_gate_as_json_and_the_ranges_as_a_tree", "emit") else { return };
    let sandbox = Sandbox::new();
    let script =
        "push=A push=B pop pop dpush=LLM:d dpush=LLM:e dpop=LLM dpush=LLM:f dpop=LLM dpop=LLM start=s end";
    let mut arguments = vec!["ranges", "nsys.capture_range_end=repeat", "--gate", "A", "--json", "--", &emit];
    arguments.extend(script.split(' '));
    let ran = sandbox.output(&arguments);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let gate = &document["gates"][0];
    let arguments = ["-c", "nvtx", "-p", "A", "-e", "NSYS_NVTX_PROFILER_REGISTER_ONLY=0"];
    assert_eq!(gate["nsys"]["use"]["arguments"], serde_json::json!(arguments), "{gate}");
    assert_eq!(gate["nsys_prediction"]["files"], serde_json::json!([".nsys-rep"]), "{gate}");
    assert_eq!(gate["nsys_prediction"]["exit_code"], 0, "{gate}");
    let mut arguments = vec!["ranges", "--tree", "--", &emit];
    arguments.extend(script.split(' '));
    let times = regex::Regex::new(r" +\d+(\.\d+)? (ns|us|ms|s)\b| +\d+\.\d%").unwrap();
    let ran = sandbox.output(&arguments);
    insta::assert_snapshot!(times.replace_all(&ran.stdout, " <n>").into_owned());
}

/// The gates of a configuration are proven by a run, and by a dry run after it.
#[test]
fn a_run_proves_its_gates() {
    let Some(emit) = program("a_run_proves_its_gates", "emit") else { return };
    let sandbox = Sandbox::new();
    let run = |gates: &[&str], more: &[&str]| {
        let mut arguments = vec!["run"];
        arguments.extend(more.iter().chain(gates));
        arguments.extend(["--", &emit, "push=decode", "sleep=50", "pop", "push=prefill", "sleep=50", "pop"]);
        sandbox.output(&arguments)
    };
    let gates = ["nsys.nvtx_capture=decode", "ncu.nvtx_include=[prefill]"];
    let before = run(&gates, &["--dry-run"]);
    assert!(before.stdout.contains("gates      not checked yet"), "{}", before.stdout);
    let blind = run(&gates, &["--dry-run", "rehearsal.enable=false"]);
    let said = "gates      cannot be checked, because `rehearsal.enable=false`; they are used as typed";
    assert!(blind.stdout.contains(said), "{}", blind.stdout);
    run(&gates, &[]);
    let manifest = sandbox.manifest();
    let plan = step(&manifest, "plan");
    assert_eq!(
        plan["note"],
        "nsys: -c nvtx -p decode -e NSYS_NVTX_PROFILER_REGISTER_ONLY=0 matches 1 instance; \
         ncu: --nvtx --nvtx-include prefill/ matches 1 instance"
    );
    assert!(sandbox.only_run().join("plan.json").is_file());
    let after = run(&gates, &["--dry-run"]);
    assert!(after.stdout.contains("gates      checked against the rehearsal in "), "{}", after.stdout);
    assert!(after.stdout.contains("the run uses: --nvtx --nvtx-include prefill/\n"), "{}", after.stdout);
    assert!(
        after.stdout.contains("      as typed it would match nothing (without a slash"),
        "{}",
        after.stdout
    );
    let strict = run(&gates, &["--dry-run", "nsys.strict=true"]).stdout;
    assert!(strict.contains("      matches nothing: `decode` is not a registered string"), "{strict}");
    let missing = run(&["nsys.nvtx_capture=decod"], &["run.name=again"]);
    assert_eq!(missing.code, 1, "{}", missing.stderr);
    assert!(!missing.stderr.contains("--nvtx-include"), "only nsys has such a gate: {}", missing.stderr);
    for line in
        ["`nsys.nvtx_capture`: `decod` matches nothing", "no range has this name (nearest: `:decode`)"]
    {
        assert!(missing.stderr.contains(line), "{}", missing.stderr);
    }
}

/// A pattern of ours is one of ncu's, and is applied to what nsys records.
#[test]
fn a_run_proves_its_patterns() {
    let Some(emit) = program("a_run_proves_its_patterns", "emit") else { return };
    let sandbox = Sandbox::new();
    let run = |words: &[&str]| {
        let script = [
            "push=step 1",
            "sleep=20",
            "pop",
            "push=step 2",
            "sleep=20",
            "pop",
            "push=load",
            "sleep=20",
            "pop",
        ];
        let arguments: Vec<&str> =
            ["run"].iter().chain(words).chain(&["--", emit.as_str()]).chain(&script).copied().collect();
        sandbox.output(&arguments)
    };
    let gates = ["nsys.nvtx_capture=:step *", "ncu.nvtx_include=[':step *']"];
    let blind = run(&[&["--dry-run", "rehearsal.enable=false"], &gates[..]].concat()).stdout;
    for said in [
        "':step *': nsys has no patterns, so everything is recorded, and what the gate matches is kept afterwards",
        "':step *' becomes 'regex:[^step .*$/' 'regex:^step .*$'",
    ] {
        assert!(blind.contains(said), "{blind}");
    }
    run(&gates);
    let manifest = sandbox.manifest();
    assert_eq!(
        step(&manifest, "plan")["note"],
        "nsys: ':step *' matches 2 instances; nsys has no patterns, so everything is recorded, and what the gate \
         matches is kept afterwards; ncu: --nvtx --nvtx-include 'regex:^step .*$/' matches 2 instances"
    );
    let dry = |gates: &[&str]| {
        let ran = run(&[&["--dry-run"], gates].concat());
        let gates = ran.stdout[ran.stdout.find("gates ").unwrap()..].to_owned();
        format!("{}[exit code {}]\n\n", gates.split_once('\n').unwrap().1, ran.code)
    };
    let times = regex::Regex::new(r"the first after [0-9.]+ (ns|us|ms)").unwrap();
    let screens = [dry(&gates), dry(&["ncu.nvtx_include=[load,foo*]"])].concat();
    insta::assert_snapshot!(times.replace_all(&screens, "the first after <n>").into_owned());
    let missing = run(&["run.name=again", "ncu.nvtx_include=[load,foo*]"]);
    assert_eq!(missing.code, 1, "{}", missing.stderr);
    let said = "`ncu.nvtx_include`: `foo*` matches nothing";
    assert!(missing.stderr.contains(said) && !missing.stderr.contains("nsys  -p"), "{}", missing.stderr);
}

/// The run directory is on a file system from which nothing may be executed.
#[test]
fn a_run_directory_without_execution() {
    let test = "a_run_directory_without_execution";
    let Some(many) = program(test, "many") else { return };
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("closed")).unwrap();
    let line = format!(
        "mount -t tmpfs -o noexec none closed && {} run run.dir=closed -p off -- {many} 2 100 && \
         cat closed/*/rehearsal/ranges.json",
        env!("CARGO_BIN_EXE_rangefinder")
    );
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &line])
        .current_dir(sandbox.path(""))
        .output()
        .unwrap();
    if !output.status.success() && output.stdout.is_empty() {
        return skip(test, "no user namespaces here");
    }
    let ran = Ran::from(output);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    assert_eq!(document["ranges"], 1 + 3 * 200, "{}", ran.stderr);
}
