//! The truth table of nsys's gates: what is predicted from a rehearsal is what the
//! real nsys does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nsight::nsys::{Prediction, RangeEnd, Rehearsed, Setup, lost_its_agent, predict};
use nvtx::{NsysDialect, NsysGate};
use support::{Sandbox, lock, manifest, nvtx_program, tool};

/// `gate | range end (default: -) | r: only registered names | f: follow forks | what the program does`
/// with `~` for a blank inside a word.
const ROWS: &str = r"
A           | -                 | - | sleep=50 push=A sleep=50 pop
A           | -                 | r | push=A sleep=50 pop
A@*         | -                 | - | push=A sleep=50 pop
A@*         | -                 | r | push=A sleep=50 pop
A@*         | -                 | r | rpush=A sleep=50 pop
A@default   | -                 | - | push=A sleep=50 pop
A@          | -                 | - | push=A sleep=50 pop
@A          | -                 | - | push=A sleep=50 pop
R           | -                 | r | rpush=R sleep=50 pop
R           | -                 | - | rpush=R sleep=50 pop
a           | -                 | - | push=A sleep=50 pop
A*          | -                 | - | push=Ab sleep=50 pop
*           | -                 | - | push=A sleep=50 pop
*@*         | -                 | - | push=A sleep=50 pop
a;b         | -                 | - | push=a sleep=50 pop push=b sleep=50 pop
a;b         | -                 | - | push=a;b sleep=50 pop
a/b         | -                 | - | push=a/b sleep=50 pop
a/b         | -                 | - | push=a push=b sleep=50 pop pop
a[0]        | -                 | - | push=a[0] sleep=50 pop
a~b         | -                 | - | push=a~b sleep=50 pop
~A          | -                 | - | push=A sleep=50 pop
a:b         | -                 | - | push=a:b sleep=50 pop
a@b         | -                 | - | push=a@b sleep=50 pop
a@b@*       | -                 | - | push=a@b sleep=50 pop
a\@b        | -                 | - | push=a@b sleep=50 pop
a\@b@*      | -                 | - | push=a@b sleep=50 pop
a\b         | -                 | - | push=a\b sleep=50 pop
a\\b        | -                 | - | push=a\b sleep=50 pop
x@a@b       | -                 | - | dpush=a@b:x sleep=50 dpop=a@b
x@a\@b      | -                 | - | dpush=a@b:x sleep=50 dpop=a@b
x           | -                 | - | dpush=LLM:x sleep=50 dpop=LLM
x           | -                 | - | drpush=LLM:x sleep=50 dpop=LLM
x@LLM       | -                 | - | dpush=LLM:x sleep=50 dpop=LLM
x@LLM       | -                 | r | dpush=LLM:x sleep=50 dpop=LLM
x@LLM       | -                 | r | drpush=LLM:x sleep=50 dpop=LLM
x@llm       | -                 | - | dpush=LLM:x sleep=50 dpop=LLM
x@*         | -                 | r | drpush=LLM:x sleep=50 dpop=LLM
W           | -                 | - | wpush=W sleep=50 pop
W           | -                 | - | wrpush=W sleep=50 pop
s           | -                 | - | start=s sleep=50 end
s           | -                 | r | start=s sleep=50 end
s           | -                 | r | rstart=s sleep=50 end
s@LLM       | -                 | - | dstart=LLM:s sleep=50 end
s@LLM       | -                 | r | drstart=LLM:s sleep=50 end
m           | -                 | - | mark=m sleep=50
nothing     | -                 | - | push=nothing pop sleep=50
A           | none              | - | push=B sleep=50 pop
A           | none              | - | SIX
A           | stop              | - | SIX
A           | stop-shutdown     | - | SIX
A           | repeat            | - | SIX
A           | repeat:2          | - | SIX
A           | repeat:6          | - | SIX
A           | repeat:10         | - | SIX
A           | repeat:1          | - | SIX
A           | repeat-shutdown:1 | - | SIX
A           | repeat-shutdown:2 | - | SIX
A           | repeat            | - | push=A sleep=50 pop
A           | -                 | - | push=A sleep=50 exit=0
A           | -                 | - | push=A sleep=50 exit=7
A           | none              | - | push=A sleep=50 pop exit=7
A           | none              | - | push=A sleep=50 pop sleep=300 abort
A           | none              | - | push=A sleep=50 pop sleep=600 kill
A           | -                 | - | push=B sleep=20 pop exit=7
A           | -                 | - | ignoreterm push=A sleep=50 pop sleep=1500 exit=5
A           | none              | - | push=O sleep=20 push=A sleep=50 pop push=B pop pop push=A pop sleep=50
A           | -                 | - | push=O sleep=20 push=A sleep=50 push=I pop pop pop sleep=600
A           | -                 | - | push=A push=A sleep=50 pop sleep=50 pop sleep=600
A           | -                 | - | thread push=A sleep=50 pop join sleep=600
A           | -                 | - | fork push=A sleep=50 pop wait sleep=50
A           | -                 | f | fork push=A sleep=50 pop wait sleep=600
A           | none              | - | fork push=A sleep=50 pop wait push=A sleep=50 pop
A           | -                 | - | exec push=A sleep=50 pop wait sleep=600
";

const SIX: &str = "sleep=100 push=A sleep=20 pop sleep=100 push=A sleep=20 pop sleep=100 push=A sleep=20 pop \
                   sleep=100 push=A sleep=20 pop sleep=100 push=A sleep=20 pop sleep=100 push=A sleep=20 pop sleep=100";

struct Row {
    gate: String,
    range_end: Option<String>,
    register_only_off: bool,
    follow_forks: bool,
    script: Vec<String>,
}

fn rows() -> Vec<Row> {
    let words = |text: &str| text.split_whitespace().map(|word| word.replace('~', " ")).collect::<Vec<_>>();
    ROWS.lines()
        .filter(|line| !line.is_empty())
        .map(|line| {
            let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
            let script = if columns[3] == "SIX" { SIX } else { columns[3] };
            Row {
                gate: columns[0].replace('~', " "),
                range_end: (columns[1] != "-").then(|| columns[1].to_owned()),
                register_only_off: columns[2] != "r",
                follow_forks: columns[2] == "f",
                script: words(script),
            }
        })
        .collect()
}

/// What really happened, and what nsys said about it. An nsys that lost its agent
/// has not said anything about the gate.
fn observe(nsys: &Nsys, row: &Row, emit: &str) -> (Prediction, String) {
    for _ in 0..2 {
        let (prediction, log) = attempt(nsys, row, emit);
        if !lost_its_agent(&log) {
            return (prediction, log);
        }
    }
    attempt(nsys, row, emit)
}

fn attempt(nsys: &Nsys, row: &Row, emit: &str) -> (Prediction, String) {
    let sandbox = Sandbox::new();
    let report = sandbox.path("r");
    let mut command = Command::new(&nsys.program);
    command.args([
        "profile",
        "-t",
        "nvtx",
        "--sample=none",
        "--cpuctxsw=none",
        "-c",
        "nvtx",
        "-p",
        &row.gate,
        "-o",
    ]);
    command.arg(&report);
    if let Some(range_end) = &row.range_end {
        command.arg(format!("--capture-range-end={range_end}"));
    }
    if row.register_only_off {
        command.args(["-e", "NSYS_NVTX_PROFILER_REGISTER_ONLY=0"]);
    }
    if row.follow_forks {
        command.arg("--trace-fork-before-exec=true");
    }
    command.arg(emit).args(&row.script);
    command
        .env("LD_LIBRARY_PATH", &nsys.libraries)
        .env("TMPDIR", sandbox.path(""))
        .current_dir(sandbox.path(""));
    let log = sandbox.path("log");
    let output = std::fs::File::create(&log).unwrap();
    command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
    let alone = lock("nsys");
    let status = command.status().unwrap();
    drop(alone);
    let mut files: Vec<String> = std::fs::read_dir(sandbox.path(""))
        .unwrap()
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_prefix('r')?.to_owned()))
        .filter(|name| name.ends_with(".nsys-rep"))
        .collect();
    files.sort();
    let name = NsysGate::parse(&row.gate, nsys.dialect).map(|gate| gate.name).unwrap_or_default();
    let instances = files.iter().map(|file| nsys.count(&sandbox, file, &name)).collect();
    let exit_code = status.code().unwrap_or(-1);
    let prediction = Prediction { refused: exit_code == 1 && files.is_empty(), files, instances, exit_code };
    (prediction, std::fs::read_to_string(log).unwrap())
}

struct Nsys {
    program: PathBuf,
    libraries: String,
    python: PathBuf,
    dialect: NsysDialect,
}

impl Nsys {
    fn new(test: &str, version: &str, dialect: NsysDialect) -> Option<Self> {
        let program = tool(test, &format!("nsys-{version}/repaired/target-linux-x64/nsys"))?;
        let libraries = tool(test, "nsys-libraries/usr/lib/x86_64-linux-gnu")?;
        let links = libraries.ancestors().nth(3).unwrap();
        let libraries = format!("{}:{}", links.display(), libraries.display());
        Some(Self { program, libraries, python: tool(test, "bin/python3")?, dialect })
    }

    /// Ranges of this name in a report.
    fn count(&self, sandbox: &Sandbox, file: &str, name: &str) -> u64 {
        const COUNT: &str = "
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
name = 'coalesce(text, (select value from StringIds where id = textId))'
print(db.execute(f'select count(*) from NVTX_EVENTS where eventType in (59, 60) and {name} = ?', [sys.argv[2]]).fetchone()[0])";
        let database = sandbox.path(&format!("{file}.sqlite"));
        let exported = Command::new(&self.program)
            .args(["export", "--type", "sqlite", "-f", "true", "-o"])
            .arg(&database)
            .arg(sandbox.path(&format!("r{file}")))
            .env("LD_LIBRARY_PATH", &self.libraries)
            .output()
            .unwrap();
        assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
        let output =
            Command::new(&self.python).args(["-c", COUNT]).arg(&database).arg(name).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.trim().parse().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// What is predicted from a rehearsal of the same program.
fn foresee(row: &Row, emit: &str, dialect: NsysDialect) -> Prediction {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["run", "-q", "--", emit];
    arguments.extend(row.script.iter().map(String::as_str));
    sandbox.rangefinder(&arguments).stderr(Stdio::null()).status().unwrap();
    let run = sandbox.only_run();
    let ending = manifest(&run)["passes"][0]["ending"].clone();
    let exit_code = match (ending["code"].as_i64(), ending["signal"].as_i64()) {
        (Some(code), _) => code,
        (None, signal) => 128 + signal.unwrap(),
    };
    let trace = trace::read_tracer_files(&traces(&run), |_, _| ()).unwrap();
    let range_end = row.range_end.as_deref().unwrap_or("stop-shutdown");
    let setup = Setup {
        dialect,
        range_end: RangeEnd::parse(range_end).unwrap(),
        register_only_off: row.register_only_off,
        follow_forks: row.follow_forks,
    };
    let ignores_term = row.script.iter().any(|word| word == "ignoreterm");
    predict(&row.gate, setup, Rehearsed { trace: &trace, exit_code: exit_code as i32, ignores_term })
}

fn traces(run: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(run.join("rehearsal")).unwrap().flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rft")).collect()
}

fn hold_against(test: &str, version: &str, dialect: NsysDialect) {
    let Some(nsys) = Nsys::new(test, version, dialect) else { return };
    let Some(emit) = nvtx_program(test, "emit") else { return };
    let mut wrong = String::new();
    let rows = rows();
    assert!(rows.len() >= 60, "{} rows", rows.len());
    for row in &rows {
        let foreseen = foresee(row, &emit, dialect);
        let (observed, log) = observe(&nsys, row, &emit);
        if foreseen != observed {
            let told = format!("{} {:?} {}", row.gate, row.range_end, row.script.join(" "));
            wrong.push_str(&format!("{told}\n  foreseen {foreseen:?}\n  observed {observed:?}\n{log}\n"));
        }
    }
    assert!(wrong.is_empty(), "nsys {version} disagrees:\n{wrong}");
}

#[test]
fn the_truth_table_of_nsys_2022_4_2() {
    hold_against("the_truth_table_of_nsys_2022_4_2", "2022.4.2", NsysDialect { escapes: false });
}

#[test]
fn the_truth_table_of_nsys_2023_4_4() {
    hold_against("the_truth_table_of_nsys_2023_4_4", "2023.4.4", NsysDialect { escapes: true });
}
