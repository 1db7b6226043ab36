//! The truth table of nsys's gates: what is predicted from a rehearsal is what the real nsys does.
//!
//! What it does is recorded for each version. The recordings are held against the predictions on every run, and a few rows of
//! one version against the real nsys; all rows of both versions (some minutes) with `cargo xtask test --real-gates`, which also
//! runs whenever the predictions' code has changed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nsight::nsys::{Prediction, RangeEnd, Rehearsed, Setup, lost_its_agent, predict};
use nvtx::{Begins, Kind, NamePattern, NsysDialect, NsysGate, ncu_pattern};

use crate::support::{Sandbox, manifest, nvtx_program, tool};

/// What is run, one line a row.
const ROWS: &str = include_str!("data/nsys-rows.txt");

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
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
            Row {
                gate: columns[0].replace('~', " "),
                range_end: (columns[1] != "-").then(|| columns[1].to_owned()),
                register_only_off: columns[2] != "r",
                follow_forks: columns[2] == "f",
                script: words(columns[3]),
            }
        })
        .collect()
}

/// What really happened, and what nsys said about it. An nsys that lost its agent
/// has not said anything about the gate.
fn observe(nsys: &Nsys, row: &Row, emit: &str) -> (Prediction, String) {
    for _ in 0..4 {
        let (prediction, log) = attempt(nsys, row, emit);
        if !lost_its_agent(&log, "") {
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
    let status = command.status().unwrap();
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

/// A rehearsal of one row's program.
struct Rehearsal {
    trace: trace::Trace,
    exit_code: i32,
}

/// Every row's program, rehearsed; most of them sleep, so that many can run at once.
fn rehearsals(emit: &str) -> Vec<Rehearsal> {
    let rows = rows();
    let each = rows.len().div_ceil(AT_ONCE);
    std::thread::scope(|scope| {
        let some = rows.chunks(each).map(|rows| {
            scope.spawn(|| rows.iter().map(|row| rehearse(row, emit)).collect::<Vec<Rehearsal>>())
        });
        let running: Vec<_> = some.collect();
        running.into_iter().flat_map(|some| some.join().unwrap()).collect()
    })
}

fn rehearse(row: &Row, emit: &str) -> Rehearsal {
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
    Rehearsal {
        trace: trace::read_tracer_files(&traces(&run), &trace::Extent::whole(), |_, _| ()).unwrap(),
        exit_code: exit_code as i32,
    }
}

/// What is predicted from a rehearsal of the same program.
fn foresee(row: &Row, rehearsal: &Rehearsal, dialect: NsysDialect) -> Prediction {
    let range_end = row.range_end.as_deref().unwrap_or("stop-shutdown");
    let setup = Setup {
        dialect,
        range_end: RangeEnd::parse(range_end).unwrap(),
        register_only_off: row.register_only_off,
        follow_forks: row.follow_forks,
    };
    let Rehearsal { trace, exit_code } = rehearsal;
    let mut foreseen = predict(&row.gate, setup, Rehearsed { trace, exit_code: *exit_code });
    // Of a program that ignores SIGTERM the code alone is not foreseen: nsys ends with 0.
    if row.script.iter().any(|word| word == "ignoreterm") && foreseen.exit_code == 143 {
        foreseen.exit_code = 0;
    }
    foreseen
}

fn traces(run: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(run.join("rehearsal")).unwrap().flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rft")).collect()
}

/// So often nsys may be asked again.
const AGAIN: usize = 4;
/// Rehearsals that run at once.
const AT_ONCE: usize = 6;
/// One row in so many is held against the real nsys on every run.
const ONE_IN: usize = 14;

/// Rows whose prediction is not what was observed, told one by one.
fn disagreements(
    rehearsals: &[Rehearsal],
    dialect: NsysDialect,
    mut observe: impl FnMut(usize, &Row) -> (Prediction, String),
) -> String {
    let mut wrong = String::new();
    let rows = rows();
    assert_eq!(rows.len(), rehearsals.len());
    for (at, (row, rehearsal)) in rows.iter().zip(rehearsals).enumerate() {
        let foreseen = foresee(row, rehearsal, dialect);
        let (mut observed, mut log) = observe(at, row);
        for _ in 0..AGAIN {
            // On a busy machine, one run in 25 of nsys 2023.4.4 says 0 in place of 143; what is wrong stays wrong.
            if foreseen != observed {
                (observed, log) = observe(at, row);
            }
        }
        if foreseen != observed {
            let told = format!("{} {:?} {}", row.gate, row.range_end, row.script.join(" "));
            wrong.push_str(&format!("{told}\n  foreseen {foreseen:?}\n  observed {observed:?}\n{log}\n"));
        }
    }
    wrong
}

const OLD: (&str, NsysDialect) = ("2022.4.2", NsysDialect { escapes: false });
const NEW: (&str, NsysDialect) = ("2023.4.4", NsysDialect { escapes: true });
/// Recorded on a machine with a GPU by `programs/record_gates.py`; what nsys said is beside it.
const NEWEST: (&str, NsysDialect) = ("2025.3.1", NsysDialect { escapes: true });

/// All rows against the real nsys. With `RANGEFINDER_RECORD_GATES`, what it does becomes the recording.
fn hold_against(test: &str, (version, dialect): (&str, NsysDialect)) {
    let Some(nsys) = Nsys::new(test, version, dialect) else { return };
    let Some(emit) = nvtx_program(test, "emit") else { return };
    let mut found: Vec<Option<Prediction>> = vec![None; rows().len()];
    let wrong = disagreements(&rehearsals(&emit), dialect, |at, row| {
        let (observed, log) = observe(&nsys, row, &emit);
        found[at] = Some(observed.clone());
        (observed, log)
    });
    assert!(wrong.is_empty(), "nsys {version} disagrees:\n{wrong}");
    if std::env::var_os("RANGEFINDER_RECORD_GATES").is_some() {
        let lines = written(&found.into_iter().flatten().collect::<Vec<_>>());
        std::fs::write(recording(version), lines).unwrap();
    }
}

#[test]
#[ignore = "cargo xtask test --real-gates"]
fn the_truth_table_of_nsys_2022_4_2() {
    hold_against("the_truth_table_of_nsys_2022_4_2", OLD);
}

#[test]
#[ignore = "cargo xtask test --real-gates"]
fn the_truth_table_of_nsys_2023_4_4() {
    hold_against("the_truth_table_of_nsys_2023_4_4", NEW);
}

/// What is recorded is what the real nsys does, in a few rows of all kinds.
#[test]
fn the_recording_is_what_nsys_does() {
    let test = "the_recording_is_what_nsys_does";
    let Some(nsys) = Nsys::new(test, NEW.0, NEW.1) else { return };
    let Some(emit) = nvtx_program(test, "emit") else { return };
    for (row, recorded) in rows().iter().zip(recorded(NEW.0)).step_by(ONE_IN) {
        let (mut observed, mut log) = observe(&nsys, row, &emit);
        for _ in 0..AGAIN {
            if observed != recorded {
                (observed, log) = observe(&nsys, row, &emit);
            }
        }
        assert_eq!(observed, recorded, "{} {:?} {}\n{log}", row.gate, row.range_end, row.script.join(" "));
    }
}

#[test]
fn the_recorded_truth_tables() {
    let Some(emit) = nvtx_program("the_recorded_truth_tables", "emit") else { return };
    let rehearsals = rehearsals(&emit);
    assert!(rehearsals.len() >= 80, "{} rows", rehearsals.len());
    for (version, dialect) in [OLD, NEW, NEWEST] {
        let recorded = recorded(version);
        let wrong = disagreements(&rehearsals, dialect, |at, _| (recorded[at].clone(), String::new()));
        assert!(wrong.is_empty(), "nsys {version} disagrees:\n{wrong}");
    }
}

fn recording(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/recorded-nsys-{version}.tsv"))
}

/// What a version of nsys did, row by row.
fn recorded(version: &str) -> Vec<Prediction> {
    let text = std::fs::read_to_string(recording(version)).unwrap();
    let list = |text: &str| -> Vec<String> {
        text.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect()
    };
    let rows = rows();
    let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), rows.len(), "rows that were not recorded");
    let read = |(columns, row): (&Vec<&str>, &Row)| {
        assert_eq!(columns[0].replace('~', " "), row.gate);
        let files = list(columns[5]);
        let instances = list(columns[6]).iter().map(|count| count.parse().unwrap()).collect();
        let exit_code = columns[4].parse().unwrap();
        Prediction { refused: exit_code == 1 && files.is_empty(), files, instances, exit_code }
    };
    lines.iter().zip(&rows).map(read).collect()
}

/// The same as text.
fn written(observed: &[Prediction]) -> String {
    let mut text = "gate\trange_end\tflags\tscript\texit_code\tfiles\tinstances\n".to_owned();
    let rows = ROWS.lines().filter(|line| !line.starts_with('#'));
    for (line, observed) in rows.zip(observed) {
        let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
        let counts: Vec<String> = observed.instances.iter().map(u64::to_string).collect();
        text.push_str(&columns.join("\t"));
        text.push_str(&format!(
            "\t{}\t{}\t{}\n",
            observed.exit_code,
            observed.files.join(","),
            counts.join(",")
        ));
    }
    text
}

/// A gate is proven as the nsys of this machine reads it.
#[test]
fn a_backslash_is_what_this_nsys_takes_it_for() {
    let test = "a_backslash_is_what_this_nsys_takes_it_for";
    let Some(emit) = nvtx_program(test, "emit") else { return };
    for (version, refused) in [("2022.4.2", false), ("2023.4.4", true)] {
        let Some(nsys) = tool(test, &format!("nsys-{version}/usr/bin/nsys")) else { return };
        let sandbox = Sandbox::new();
        let output = sandbox
            .rangefinder(&["ranges", "--gate", r"a\b", "--", &emit, r"push=a\b", "pop"])
            .env("RANGEFINDER_NSYS", nsys)
            .output()
            .unwrap();
        let screen = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = screen.contains("nsys accepts a backslash only before `@`");
        assert_eq!(said, refused, "nsys {version}:\n{screen}{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The real ncu reads every expression that is made of a pattern, whatever is in the names.
#[test]
fn ncu_takes_every_pattern() {
    let Some(ncu) = tool("ncu_takes_every_pattern", "ncu-2022.3.0/usr/lib/nsight-compute/ncu") else {
        return;
    };
    let sandbox = Sandbox::new();
    let refused = |includes: &[String]| {
        let mut command = Command::new(&ncu);
        command.arg("--nvtx").current_dir(sandbox.path("")).stdin(Stdio::null());
        for include in includes {
            command.args(["--nvtx-include", include]);
        }
        let output = command.arg("true").output().unwrap();
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("==ERROR==") || said.contains("==WARNING=="), "{said}");
        said.contains("Invalid configuration").then_some(said)
    };
    let names: Vec<NamePattern> = ["Train step *", "*", "é*", r"a\*\\*"]
        .into_iter()
        .filter_map(NamePattern::parse)
        .chain((' '..='~').map(|c| NamePattern::parse(&format!("\\{c}*\\{c}")).unwrap()))
        .collect();
    let mut includes = Vec::new();
    for name in &names {
        let (domain, one) = (NamePattern::exactly("LLM"), std::slice::from_ref(name));
        for begins in [Begins::Anywhere, Begins::Outermost] {
            includes.push(ncu_pattern(&domain, one, Kind::PushPop, begins));
            includes.push(ncu_pattern(name, &[name.clone(), name.clone()], Kind::PushPop, begins));
        }
        includes.push(ncu_pattern(&NamePattern::any(), one, Kind::StartEnd, Begins::Anywhere));
    }
    assert_eq!(refused(&includes), None);
    assert!(refused(&["regex:(/".to_owned()]).is_some(), "it says so if it cannot read one");
}
