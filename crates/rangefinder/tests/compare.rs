//! Two programs, or two recordings, compared.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{self, Ran, Sandbox, nvtx_program};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data").join(name)
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}\n{}", ran.stdout, ran.stderr))
}

/// Folders in the folder of the only set.
fn set(sandbox: &Sandbox) -> PathBuf {
    let mut sets: Vec<PathBuf> =
        std::fs::read_dir(sandbox.path("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    sets.retain(|path| path.is_dir());
    assert_eq!(sets.len(), 1, "{sets:?}");
    sets.remove(0)
}

fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.join("run.json").is_file()).collect()
}

#[test]
fn a_program_that_does_more_is_slower_and_where() {
    let Some(paced) = nvtx_program("a_program_that_does_more_is_slower_and_where", "paced") else { return };
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&[
        "compare",
        "--repeat",
        "6",
        "--json",
        "--html",
        "page.html",
        "--",
        &paced,
        "40",
        "4",
        "1",
        "--",
        &paced,
        "40",
        "4",
        "9",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = json(&ran);
    assert_eq!(document["time"]["verdict"], "slower", "{}", ran.stdout);
    assert_eq!(document["time"]["processes"], serde_json::json!([6, 6]));
    let first = &document["reasons"][0];
    assert_eq!((first["difference"].as_str(), first["place"].as_str()), (Some("host"), Some(":step/post")));
    assert_eq!(document["around"][0]["name"], "command");
    let page = std::fs::read_to_string(sandbox.path("page.html")).unwrap();
    assert!(
        page.contains("<h1>slower, ") && page.contains("data-difference=\"host\""),
        "the page says the same"
    );
    assert_eq!(page.matches("data-timeline data-label=").count(), 2);
    assert_eq!(page.matches("<circle ").count(), 12, "a point for every run");
    assert!(ran.stderr.contains("wrote page.html"), "{}", ran.stderr);
    // The runs are there to be compared again, without those that warmed up.
    let set = set(&sandbox);
    assert_eq!(["a", "b", "warm-up"].map(|side| runs(&set.join(side)).len()), [6, 6, 2]);
    let record: Value = serde_json::from_slice(&std::fs::read(set.join("set.json")).unwrap()).unwrap();
    assert_eq!(
        (record["processes"].as_array().unwrap().len(), &record["ended"]),
        (14, &Value::from("as asked"))
    );
    let sides = [set.join("a"), set.join("b")].map(|side| side.to_str().unwrap().to_owned());
    let again = sandbox.output(&["diff", &sides[0], &sides[1]]);
    let line = again.stdout.lines().next().unwrap();
    assert!(line.starts_with("slower, ") && line.contains("times as long in `:step/post`"), "{line}");
    let nowhere = sandbox.output(&["diff", "--html", "no/such/page.html", &sides[0], &sides[1]]);
    assert_eq!(nowhere.code, 2, "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("--html: there is no folder `no/such`"), "{}", nowhere.stderr);
    let back = sandbox.output(&["diff", "--markdown", &sides[1], &sides[0]]);
    assert!(back.stdout.starts_with("**faster, "), "{}", back.stdout);
    assert!(back.stdout.contains("| `an iteration` |"), "{}", back.stdout);
}

/// The round that warms up is sampled, and tells which function it is.
#[test]
fn the_function_that_takes_longer() {
    const PROGRAM: &str = r#"
import sys, time
from rangefinder import stage

def until(end):
    while time.perf_counter() < end:
        pass

def clean(milliseconds):
    until(time.perf_counter() + milliseconds / 1e3)

def main():
    for _ in range(60):
        with stage("step"):
            clean(float(sys.argv[1]))
            until(time.perf_counter() + 0.002)

main()
"#;
    let sandbox = Sandbox::new();
    sandbox.write("program.py", PROGRAM);
    let words = ["--", "python3", "program.py", "4", "--", "python3", "program.py", "16"];
    let ran = sandbox.output(&[&["compare", "--json"], &words[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = json(&ran);
    assert_eq!(document["time"]["verdict"], "slower", "{}", ran.stdout);
    // So large a change needs no more.
    assert_eq!(document["time"]["processes"], serde_json::json!([7, 7]), "{}", ran.stdout);
    if document.get("stacks").is_none() {
        return support::skip("the_function_that_takes_longer", "stacks cannot be sampled");
    }
    assert_eq!(document["function"]["function"], "clean program.py", "{}", ran.stdout);
    let set = set(&sandbox);
    let sides = ["a", "b"].map(|side| set.join(side).to_str().unwrap().to_owned());
    let again = sandbox.output(&["diff", &sides[0], &sides[1]]);
    let first = again.stdout.lines().next().unwrap();
    assert!(first.contains(" times as long: `clean (program.py)` takes "), "{first}");
    assert!(again.stdout.contains("\n  in all, the host takes "), "{}", again.stdout);
    // Stacks of the run that warmed up are of an iteration as long as those that count.
    let stacks = document["stacks"].as_array().unwrap();
    for side in [0, 1] {
        let of_stacks: f64 = stacks.iter().map(|stack| stack["ns"][side].as_f64().unwrap()).sum();
        let ratio = of_stacks / document["iteration_ns"][side].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 0.001, "{ratio}");
    }
}

#[test]
fn runs_of_one_program() {
    let Some(paced) = nvtx_program("runs_of_one_program", "paced") else { return };
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "--repeat", "5", "--json", "--", &paced]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = json(&ran);
    assert_eq!((document["runs"].as_u64(), document["of"].as_str()), (Some(5), Some("an iteration")));
    assert!(document["precision"].as_f64().unwrap() > 0.0);
    assert_eq!(runs(&set(&sandbox)).len(), 5);
    let plain = Sandbox::new();
    let ran = plain.output(&[
        "run",
        "--repeat",
        "auto",
        "--plain",
        "compare.most=7",
        "compare.warmup=0",
        "--",
        "true",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("the process takes "), "{}", ran.stdout);
    let list = plain.output(&["list"]).stdout;
    assert!(list.contains("\n  several runs: true\n  the process takes "), "{list}");
    let folder = set(&plain);
    assert_eq!(plain.output(&["report", folder.to_str().unwrap()]).stdout, ran.stdout);
    // They have no page.
    let opened = plain.output(&["open"]);
    assert!(opened.code == 1 && !opened.stderr.contains("-repeat"), "{}", opened.stderr);
    assert!(!set(&plain).join("warm-up").exists());
}

#[test]
fn a_run_that_fails_ends_the_comparison() {
    let Some(paced) = nvtx_program("a_run_that_fails_ends_the_comparison", "paced") else { return };
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["compare", "--repeat", "5", "--", &paced, "--", &paced, "5", "1", "1", "7"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("a run of `after` failed, so there are no more: the workload failed with exit code 7"),
        "{}",
        ran.stderr
    );
}

/// What a program said about its failure is told, and not only where it is kept.
#[test]
fn the_last_words_of_a_run_that_fails() {
    let sandbox = Sandbox::new();
    let wrong = "import sys; [print('line', at, file=sys.stderr) for at in range(2000)]; sys.exit('no data')";
    let ran = sandbox.output(&["compare", "--", "true", "--", "python3", "-c", wrong]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("\n  line 1999\n  no data\nhint: its output is in "), "{}", ran.stderr);
    assert!(ran.stderr.contains("\n  line 1996\n") && !ran.stderr.contains("line 1995"), "{}", ran.stderr);
}

/// Neither ranges nor calls: how long the processes took is still known, and compared again.
#[test]
fn programs_that_show_nothing() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["compare", "--repeat", "5", "--", "sleep", "0.01", "--", "sleep", "0.6"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.starts_with("slower, ") && ran.stdout.contains("\n  the process took "),
        "{}",
        ran.stdout
    );
    let set = set(&sandbox);
    assert!(set.to_str().unwrap().ends_with("-sleep-compare"), "{}", set.display());
    let sides = [set.join("a"), set.join("b")].map(|side| side.to_str().unwrap().to_owned());
    let again = sandbox.output(&["diff", &sides[0], &sides[1]]);
    assert_eq!(again.stdout, ran.stdout, "{}", again.stderr);
    let report = sandbox.output(&["report", runs(&set.join("a"))[0].to_str().unwrap()]);
    assert!(report.stderr.contains("it is one of several"), "{}", report.stderr);
    // Both are looked for before one is run.
    let other = Sandbox::new();
    let ran = other.output(&["compare", "--", "touch", "ran", "--", "no-such-program"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(!other.path("ran").exists() && !other.path("runs").exists());
}

/// What cannot decide is said before it is run, with what would; and how long it takes.
#[test]
fn too_few_runs_and_too_little_time() {
    let sandbox = Sandbox::new();
    let both = ["--", "sleep", "0.01", "--", "sleep", "0.2"];
    let few = sandbox.output(&[&["compare", "--repeat", "3"][..], &both].concat());
    assert_eq!(few.code, 0, "{}", few.stderr);
    let (plan, told) = few.stderr.split_once("  warm-up\n").unwrap();
    assert!(plan.starts_with("3 runs of each, after 1 to warm up\n"), "{plan}");
    assert!(plan.contains("that takes at least 5 (`--repeat 5`)"), "{plan}");
    assert!(told.contains(" left\n"), "{told}");
    let mut lines = few.stdout.lines();
    assert_eq!(lines.next(), Some("undecided, 3 runs are too few to tell about time"), "{}", few.stdout);
    let time = lines.next().unwrap();
    // Where nothing is decided, no interval speaks for one side.
    assert!(time.contains("(3 and 3 runs); it takes at least 5 runs of each"), "{time}");
    assert!(
        !few.stdout.contains("99 %") && few.stdout.contains("what changed is not known"),
        "{}",
        few.stdout
    );
    let short = Sandbox::new();
    let ran = short.output(&[&["compare", "compare.budget=1s"][..], &both].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("7 to 15 runs of each, after 1 to warm up: until"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("too short to decide which is faster: 5 runs of each take"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("the time is spent (`compare.budget`)"), "{}", ran.stderr);
}

#[test]
fn what_is_typed_wrong() {
    let sandbox = Sandbox::new();
    for (arguments, said) in [
        (&["compare", "--", "true"][..], "two programs are needed"),
        (&["compare", "--", "true", "--", "true", "--", "true"], "more than one `--`"),
        (&["compare", "--repeat", "0", "--", "true", "--", "true"], "expected `auto`, or a number of runs"),
        (&["diff", "--margin", "200%", "a", "b"], "expected a percentage from 0% to less than 100%"),
        (&["run", "--plain", "--", "true"], "--repeat"),
    ] {
        let ran = sandbox.output(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    for (arguments, said) in [
        (["diff", "missing", "missing"], "`missing` does not exist\nhint: rangefinder list"),
        (["diff", "empty", "empty"], "cannot compare `empty`: it has neither runs nor traces"),
    ] {
        let ran = sandbox.output(&arguments);
        assert_eq!(ran.code, 1, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}

/// The same program, recorded by two versions of nsys: nothing changed, and one run of each does not tell about time.
#[test]
fn bare_traces() {
    let sandbox = Sandbox::new();
    let [before, after] =
        ["toy-2023.4.4.sqlite", "toy-2025.3.1.sqlite"].map(|name| data(name).to_str().unwrap().to_owned());
    let ran = sandbox.output(&["diff", &before, &after]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!(ran.stdout);
}

/// A real report of ncu, and the same with one kernel that no longer reaches the peak of the memory.
#[test]
fn what_limits_a_kernel_is_compared() {
    let sandbox = Sandbox::new();
    let packed = data("../../../counters/tests/data/toy-kernel.raw.csv.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(packed).unwrap()).read_to_string(&mut text).unwrap();
    let heading: Vec<&str> = text.lines().next().unwrap().split("\",\"").collect();
    let at = |name: &str| heading.iter().position(|other| *other == name).unwrap();
    let planted = [
        (at("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"), "20.00"),
        (at("lts__throughput.avg.pct_of_peak_sustained_elapsed"), "30.00"),
        (at("gpu__time_duration.sum"), "500,000"),
    ];
    let changed = |line: &str| {
        let mut cells: Vec<&str> = line.split("\",\"").collect();
        planted.iter().for_each(|(at, value)| cells[*at] = value);
        cells.join("\",\"")
    };
    let lines =
        text.lines().map(|line| if line.contains("copy_kernel") { changed(line) } else { line.to_owned() });
    sandbox.write("before.csv", &text);
    sandbox.write("after.csv", &lines.collect::<Vec<_>>().join("\n"));
    let ran = sandbox.output(&["diff", "before.csv", "after.csv"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!("counters", ran.stdout);
    let document = json(&sandbox.output(&["diff", "--json", "before.csv", "after.csv"]));
    let first = &document["counters"][0];
    assert_eq!(first["limit"], serde_json::json!(["dram", "latency"]));
    assert_eq!(
        (first["launches"].as_array().unwrap()[1].as_u64(), first["ns"][1].as_f64()),
        (Some(3), Some(5e5))
    );
    let same = sandbox.output(&["diff", "before.csv", "before.csv"]);
    let line = same.stdout.lines().next().unwrap();
    assert_eq!(line, "the same limits: 5 kernels, measured by ncu on both sides");
    // A timeline has no counters, and counters have no timeline.
    let toy = data("toy-2025.3.1.sqlite");
    let ran = sandbox.output(&["diff", "before.csv", toy.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("ncu measured kernels before only") && !ran.stdout.contains("new"),
        "{}",
        ran.stdout
    );
}

/// What is told of one side is not told of the other.
#[test]
fn loops_of_two_kinds() {
    let sandbox = Sandbox::new();
    let (by_launches, by_ranges) = (data("toy-2025.3.1.sqlite"), data("demo-2025.3.1.sqlite"));
    let [toy, demo] = [&by_launches, &by_ranges].map(|file| file.to_str().unwrap());
    for (before, after) in [(toy, demo), (demo, toy)] {
        let ran = sandbox.output(&["diff", before, after]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(
            ran.stdout.contains("  an iteration took "),
            "the loop has no name on both sides: {}",
            ran.stdout
        );
        assert!(!ran.stdout.contains("_v7000") && !ran.stdout.contains("about 0.0\n"), "{}", ran.stdout);
    }
}
