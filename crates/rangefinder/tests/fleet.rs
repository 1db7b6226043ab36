//! `python -m rangefinder.fleet`, asked about a made-up dataset whose answers are known; and `rangefinder steps`, which
//! decides for it what has changed.

#[path = "../../dataset/examples/made/fleet.rs"]
mod made;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use made::Plan;
use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, tool};

const DUCKDB: &str = "python/duckdb-2.0.0";

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/tests/fleet")
}

/// The Python tests in files of this name, with a dataset of this size; how many there were.
fn python_tests(
    interpreter: &Path,
    packages: &[PathBuf],
    plan: Plan,
    files: &str,
    env: &[(&str, &str)],
) -> u32 {
    let sandbox = Sandbox::new();
    let truth = plan.write(&sandbox.path("fleet"), |_| ()).unwrap();
    std::fs::write(sandbox.path("truth.json"), truth.json().to_string()).unwrap();
    let ran = Command::new(interpreter)
        .args(["-B", "-m", "unittest", "discover", "-p", files, "-s"])
        .arg(tests())
        .env("PYTHONPATH", std::env::join_paths(packages).unwrap())
        .env("FLEET", sandbox.path("fleet"))
        .env("FLEET_TRUTH", sandbox.path("truth.json"))
        .env("RANGEFINDER", env!("CARGO_BIN_EXE_rangefinder"))
        .envs(env.iter().copied())
        .output();
    let ran = Ran::from(ran.unwrap());
    assert!(ran.code == 0 && !ran.stderr.contains("skipped="), "{}", ran.stderr);
    let count = |line: &str| line.strip_prefix("Ran ")?.split(' ').next()?.parse().ok();
    ran.stderr.lines().find_map(count).unwrap()
}

#[test]
fn a_fleet_on_this_machine() {
    const TEST: &str = "a_fleet_on_this_machine";
    let (Some(interpreter), Some(duckdb)) = (tool(TEST, "bin/python3"), tool(TEST, DUCKDB)) else { return };
    let plan = Plan { runs: 60, ranks: 4, kernels: 1_000 };
    assert!(python_tests(&interpreter, &[duckdb], plan, "test_*.py", &[]) >= 29);
}

#[test]
fn a_fleet_in_an_object_store() {
    const TEST: &str = "a_fleet_in_an_object_store";
    let (Some(interpreter), Some(duckdb), Some(obstore), Some(moto)) = (
        tool(TEST, "bin/python3"),
        tool(TEST, DUCKDB),
        tool(TEST, "python/obstore-0.12.1"),
        tool(TEST, "python/moto-5.2.5"),
    ) else {
        return;
    };
    let (plan, env) = (Plan { runs: 4, ranks: 2, kernels: 400 }, [("MOTO", moto.to_str().unwrap())]);
    assert_eq!(python_tests(&interpreter, &[duckdb, obstore], plan, "store_s3.py", &env), 3);
}

/// What is written as rows of the question `regressions-over-time`.
fn row(metric: &str, at: usize, ns: f64) -> Value {
    json!({ "program": "a.py", "metric": metric, "run": format!("run-{at}"), "begun_us": at, "ns": ns })
}

fn steps(sandbox: &Sandbox, words: &[&str], input: &[u8]) -> Ran {
    let mut command = sandbox.rangefinder(&[&["steps"], words].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // One that is refused is not read to its end.
    let _ = stdin.write_all(input);
    drop(stdin);
    Ran::from(child.wait_with_output().unwrap())
}

fn lines(rows: &[Value]) -> Vec<u8> {
    rows.iter().flat_map(|row| format!("{row}\n").into_bytes()).collect()
}

#[test]
fn changes_are_decided_here() {
    let sandbox = Sandbox::new();
    // Up by a fifth from the 31st run on, then below where it was; beside one that stays.
    let level = |at: usize| [1e6, 1.2e6, 0.9e6][at / 30] * (1.0 + 0.001 * (at % 5) as f64);
    let mut rows: Vec<Value> = (0..90).map(|at| row("an iteration", at, level(at))).collect();
    rows.extend((0..90).map(|at| row("a launch", at, 2e3 * (1.0 + 0.001 * (at % 3) as f64))));
    let ran = steps(&sandbox, &[], &lines(&rows));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let found: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&str, i64, &str)> = found
        .iter()
        .map(|change| {
            assert_eq!((&change["program"], &change["metric"]), (&json!("a.py"), &json!("an iteration")));
            let (verdict, first) =
                (change["verdict"].as_str().unwrap(), change["first_run"].as_str().unwrap());
            (verdict, change["since_us"].as_i64().unwrap(), first)
        })
        .collect();
    assert_eq!(told, [("slower", 30, "run-30"), ("faster", 60, "run-60")]);
    assert!((found[0]["ratio"].as_f64().unwrap() - 1.2).abs() < 0.005, "{}", found[0]);
    assert!(found[0]["low"].as_f64().unwrap() < 1.2 && found[0]["high"].as_f64().unwrap() > 1.195);
    assert_eq!((&found[0]["runs_before"], &found[0]["runs_after"]), (&json!(30), &json!(30)));
    // The order of the lines says nothing, and what has no time or no number is no run.
    rows.reverse();
    rows.push(
        json!({ "program": "a.py", "metric": "an iteration", "run": "x", "begun_us": null, "ns": 9e9 }),
    );
    rows.push(json!({ "program": "a.py", "metric": "an iteration", "run": "x", "begun_us": 13, "ns": null }));
    rows.push(row("an iteration", 13, 0.0));
    rows.push(row("an iteration", 13, -5.0));
    assert_eq!(steps(&sandbox, &[], &lines(&rows)).stdout, ran.stdout);
    // Within the margin it is none.
    assert_eq!(steps(&sandbox, &["--margin", "30%"], &lines(&rows)).stdout, "");
    assert_eq!(steps(&sandbox, &[], b"").stdout, "");
    assert_eq!(steps(&sandbox, &["--margin", "-1"], b"").code, 2);
}

#[test]
fn hostile_rows_are_refused() {
    let sandbox = Sandbox::new();
    let good = format!("{}\n", row("m", 1, 1.0));
    for (line, said) in [
        ("nonsense".to_owned(), "line 2 of standard input is not a run's number: "),
        ("[]".to_owned(), "line 2 of standard input is not a run's number: "),
        ("{}".to_owned(), "missing field `program`"),
        (String::new(), "line 2 of standard input is not a run's number: "),
        (good.replace("\"ns\":1.0", "\"ns\":\"1\""), "invalid type: string"),
        (good.replace("\"ns\":1.0", "\"ns\":1e999"), "number out of range"),
        (good.replace("\"begun_us\":1", "\"begun_us\":1e30"), "invalid type: floating point"),
        (good.replace("\"ns\"", "\"other\""), "unknown field `other`"),
        ("[".repeat(100_000), "line 2 of standard input is not a run's number: "),
        ("x".repeat((1 << 20) + 1), "line 2 of standard input is longer than 1 MiB"),
    ] {
        let ran = steps(&sandbox, &[], format!("{good}{line}\n").as_bytes());
        let start: String = line.chars().take(40).collect();
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{start}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(said), "{start}: {}", ran.stderr);
        assert!(ran.stderr.len() < 400, "{start}: {}", ran.stderr);
    }
    let ran = steps(&sandbox, &[], b"\xff\xfe\n");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    // It is no command of the user's.
    let help = sandbox.output(&["--help"]).stdout;
    assert!(!help.contains("steps"), "{help}");
}
