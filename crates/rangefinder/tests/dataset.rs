//! Runs as open data: other engines work out again what `analyze` says, and nothing is lost or written twice.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::Value;

use crate::support::{Ran, Sandbox, tool};

const HERE: &str = env!("CARGO_MANIFEST_DIR");
/// Writes the columns of tables anew instead of comparing them.
const UPDATE: &str = "RANGEFINDER_UPDATE_DOCS";

/// Every trace of the test data, unpacked into the sandbox.
fn traces(sandbox: &Sandbox) -> Vec<PathBuf> {
    let folder = sandbox.path("traces");
    std::fs::create_dir(&folder).unwrap();
    let data = Path::new(HERE).join("../analysis/tests/data");
    let mut found = Vec::new();
    for source in [data.clone(), data.join("planted")] {
        for file in std::fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            let bytes = std::fs::read(&file).unwrap_or_default();
            let to = folder.join(name.trim_end_matches(".gz"));
            match () {
                () if name.ends_with(".rft.gz") || name == "torch.kineto.json.gz" => {
                    let mut unpacked = Vec::new();
                    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut unpacked).unwrap();
                    std::fs::write(&to, unpacked).unwrap();
                }
                () if name.ends_with(".rft") || name.ends_with(".sqlite") => {
                    std::fs::write(&to, bytes).unwrap();
                }
                () => continue,
            }
            found.push(to);
        }
    }
    found.sort();
    found
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}\n{}", ran.stdout, ran.stderr))
}

fn export(sandbox: &Sandbox, files: &[&str]) -> Value {
    let ran = sandbox.output(&[&["export", "--json", "--parquet", "dataset"], files].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    json(&ran)
}

fn python(engine: &str, packages: &Path, python: &Path) -> Command {
    let mut command = Command::new(python);
    command.env("PYTHONPATH", packages).env("POLARS_MAX_THREADS", "2").env("ENGINE", engine);
    command
}

/// All tables of `analyze --json` of every trace, from the rows of the dataset.
#[test]
fn other_engines_recount() {
    const TEST: &str = "other_engines_recount";
    let (Some(interpreter), Some(duckdb), Some(polars)) =
        (tool(TEST, "bin/python3"), tool(TEST, "python/duckdb-2.0.0"), tool(TEST, "python/polars-2.1.0"))
    else {
        return;
    };
    let sandbox = Sandbox::new();
    let traces = traces(&sandbox);
    assert!(traces.len() > 60, "{}", traces.len());
    let mut pairs = Vec::new();
    for (number, trace) in traces.iter().enumerate() {
        let ran = sandbox.output(&["analyze", "--json", trace.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}: {}", trace.display(), ran.stderr);
        let document = sandbox.path(&format!("{number}.json"));
        std::fs::write(&document, &ran.stdout).unwrap();
        let run = export(&sandbox, &[trace.to_str().unwrap()])[0]["run"].as_str().unwrap().to_owned();
        pairs.extend([run, document.to_str().unwrap().to_owned()]);
    }
    let script = Path::new(HERE).join("tests/dataset");
    for (engine, packages) in [("duckdb", &duckdb), ("polars", &polars)] {
        let mut recount = python(engine, packages, &interpreter);
        recount.arg(script.join("recount.py")).arg(engine).arg(sandbox.path("dataset"));
        let ran = Ran::from(recount.arg(script.join("recount.sql")).args(&pairs).output().unwrap());
        assert_eq!(ran.code, 0, "{engine}\n{}\n{}", ran.stdout, ran.stderr);
        let counts: BTreeMap<&str, u64> = ran
            .stdout
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
            .map(|(table, count)| (table, count.parse().unwrap()))
            .collect();
        for (table, least) in
            [("kernels", 1000), ("memcpy", 200), ("api", 1000), ("regions", 1000), ("loops", 200)]
        {
            assert!(counts[table] > least, "{engine}: {counts:?}");
        }
    }
    questions(&sandbox, &[("duckdb", &duckdb), ("polars", &polars)], &interpreter);
}

/// The questions in the documentation: each engine gives the same answer to each.
fn questions(sandbox: &Sandbox, engines: &[(&str, &PathBuf)], interpreter: &Path) {
    let text = std::fs::read_to_string(Path::new(HERE).join("../../docs/dataset.md")).unwrap();
    let blocks = |language: &str| -> Vec<String> {
        let begin = format!("```{language}\n");
        let parts = text.split(begin.as_str()).skip(1);
        parts.map(|part| part.split("```").next().unwrap().to_owned()).collect()
    };
    let (sql, expressions) = (blocks("sql"), blocks("python"));
    assert_eq!((sql.len(), expressions.len()), (5, 5));
    let mut answered = 0;
    for (question, expression) in sql.iter().zip(&expressions) {
        let mut answers = Vec::new();
        for (engine, packages) in engines {
            let program = match *engine {
                "duckdb" => format!(
                    "import duckdb\nanswer = duckdb.sql({question:?})\nrows = [dict(zip(answer.columns, row)) for row in answer.fetchall()]"
                ),
                _ => format!("import polars as pl\n{expression}\nrows = answer.collect().to_dicts()"),
            };
            let program = format!("{program}\nimport json\nprint(json.dumps(rows, default=str))\n");
            let mut asked = python(engine, packages, interpreter);
            let ran = Ran::from(
                asked.args(["-c", &program]).current_dir(sandbox.path("dataset")).output().unwrap(),
            );
            assert_eq!(ran.code, 0, "{question}\n{}", ran.stderr);
            answers.push(json(&ran));
        }
        let (one, other) = (answers[0].as_array().unwrap(), answers[1].as_array().unwrap());
        assert_eq!(one.len(), other.len(), "{question}");
        for (one, other) in one.iter().zip(other) {
            for (name, value) in one.as_object().unwrap() {
                let is_same = match (value.as_f64(), other[name].as_f64()) {
                    (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(1e-9),
                    _ => *value == other[name],
                };
                assert!(is_same, "{question}\n{name}: {value} and {}", other[name]);
            }
        }
        answered += usize::from(!one.is_empty());
    }
    assert!(answered >= 4, "only {answered} questions have an answer");
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path())),
            false => {
                found.insert(entry.path(), std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

#[test]
fn exported_twice_and_moved() {
    let sandbox = Sandbox::new();
    let trace = Path::new(HERE).join("../analysis/tests/data/demo-2025.3.1.sqlite");
    let trace = trace.to_str().unwrap();
    let first = export(&sandbox, &[trace]);
    let before = files(&sandbox.path("dataset"));
    assert!(before.keys().any(|file| file.ends_with("rangefinder-dataset")));
    // The same bytes, also from elsewhere.
    std::fs::create_dir(sandbox.path("copy")).unwrap();
    std::fs::copy(trace, sandbox.path("copy/demo-2025.3.1.sqlite")).unwrap();
    assert_eq!(export(&sandbox, &["copy/demo-2025.3.1.sqlite"]), first);
    assert_eq!(files(&sandbox.path("dataset")), before);
    // A run beside it, which adds files and changes none.
    assert_eq!(sandbox.output(&["demo", "-q"]).code, 0);
    let run = sandbox.only_run();
    let second = export(&sandbox, &["runs"]);
    let id = second[0]["run"].as_str().unwrap();
    assert!(id.starts_with(run.file_name().unwrap().to_str().unwrap()), "{id}");
    let after = files(&sandbox.path("dataset"));
    assert!(after.len() > before.len() && before.iter().all(|(file, bytes)| after[file] == *bytes));
    // A run that is moved stays the same.
    std::fs::rename(&run, sandbox.path("moved")).unwrap();
    assert_eq!(export(&sandbox, &["moved"]), second);
    assert_eq!(files(&sandbox.path("dataset")), after);
}

/// Nobody leads: the first to come makes the dataset, and whoever comes at the same moment finds it.
#[test]
fn several_at_once() {
    let sandbox = Sandbox::new();
    let data = Path::new(HERE).join("../analysis/tests/data");
    let names = ["demo-2025.3.1", "toy-2025.3.1", "toy-2023.4.4", "graphs-2025.3.1"];
    let files = names.map(|name| data.join(format!("{name}.sqlite")).to_str().unwrap().to_owned());
    let start = |file: &String| {
        let arguments = ["export", "--parquet", "dataset", file];
        sandbox.rangefinder(&arguments).stderr(Stdio::piped()).spawn().unwrap()
    };
    let started: Vec<_> = files.iter().chain(&files).map(start).collect();
    for child in started {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let together = self::files(&sandbox.path("dataset"));
    let alone = Sandbox::new();
    export(&alone, &files.each_ref().map(String::as_str));
    let relative = |sandbox: &Sandbox, files: &BTreeMap<PathBuf, Vec<u8>>| -> Vec<(PathBuf, Vec<u8>)> {
        let folder = sandbox.path("dataset");
        files
            .iter()
            .map(|(file, bytes)| (file.strip_prefix(&folder).unwrap().to_owned(), bytes.clone()))
            .collect()
    };
    assert!(relative(&sandbox, &together) == relative(&alone, &self::files(&alone.path("dataset"))));
}

/// A run adds itself, once: what is exported again by hand is the same.
#[test]
fn a_run_adds_itself() {
    let sandbox = Sandbox::new();
    let ran = sandbox.output(&["run", "--quick", "run.parquet=true", "--", "true"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("runs/dataset: "), "{}", ran.stderr);
    let added = files(&sandbox.path("runs/dataset"));
    let rows = |files: &BTreeMap<PathBuf, Vec<u8>>| {
        let is_row = |file: &&PathBuf| file.to_string_lossy().contains("/runs/date=2");
        files.keys().filter(is_row).count()
    };
    assert_eq!(rows(&added), 1, "{:?}", added.keys());
    let run = sandbox.runs().into_iter().find(|run| !run.ends_with("dataset")).unwrap();
    let ran = sandbox.output(&["export", "--parquet", "runs/dataset", run.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(files(&sandbox.path("runs/dataset")) == added);
    // A folder that is none does not end the run, and is told.
    std::fs::write(sandbox.path("runs/dataset/rangefinder-dataset"), "else").unwrap();
    let ran = sandbox.output(&["run", "--quick", "run.parquet=true", "--", "true"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("error: the run is not in the dataset: "), "{}", ran.stderr);
    assert!(rows(&files(&sandbox.path("runs/dataset"))) == 1);
}

/// A run that has nothing but samples of stacks has findings all the same; and every run has its command.
#[test]
fn a_program_without_ranges() {
    let sandbox = Sandbox::new();
    sandbox.write("spins.py", "import time\ndef work():\n    while time.process_time() < 2: pass\nwork()\n");
    let ran = sandbox.output(&["run", "--quick", "--", "python3", "spins.py"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    if ran.stderr.contains("stacks could not be sampled") {
        return;
    }
    let run = sandbox.only_run();
    let written = export(&sandbox, &[run.to_str().unwrap()]);
    assert_eq!(written[0]["rows"]["findings"], 1, "{written}");
    let files = files(&sandbox.path("dataset"));
    let row = files.iter().find(|(file, _)| file.to_string_lossy().contains("/runs/date=2")).unwrap().1;
    let command = b"python3 spins.py";
    assert!(row.windows(command.len()).any(|bytes| bytes == command), "the command is in its row");
    let ran = sandbox.output(&["export", "--parquet", "again", run.to_str().unwrap()]);
    assert!(ran.stderr.contains(": 1 finding, 0 launches, "), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_exported_is_told() {
    let sandbox = Sandbox::new();
    let trace = Path::new(HERE).join("../analysis/tests/data/demo-2025.3.1.sqlite");
    let trace = trace.to_str().unwrap();
    let refused = |folder: &str, files: &[&str], said: &str| {
        let ran = sandbox.output(&[&["export", "--parquet", folder], files].concat());
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    };
    // Nothing is put beside the files of others.
    std::fs::create_dir(sandbox.path("project")).unwrap();
    std::fs::write(sandbox.path("project/main.py"), "").unwrap();
    refused("project", &[trace], "`project` is no dataset, and has other files in it");
    assert_eq!(files(&sandbox.path("project")).len(), 1);
    for (marker, said) in [
        (
            "Rangefinder dataset, schema 2\n",
            "it was written by a newer Rangefinder (schema 2; this one knows 1)",
        ),
        (
            "Rangefinder dataset, schema 0\n",
            "it was written by an older Rangefinder (schema 0; this one knows 1)",
        ),
        ("", "its file `rangefinder-dataset` is damaged"),
    ] {
        let _ = std::fs::remove_dir_all(sandbox.path("other"));
        std::fs::create_dir(sandbox.path("other")).unwrap();
        std::fs::write(sandbox.path("other/rangefinder-dataset"), marker).unwrap();
        refused("other", &[trace], said);
        assert_eq!(files(&sandbox.path("other")).len(), 1);
    }
    refused("new", &["nowhere"], "`nowhere` does not exist");
    refused("project/main.py", &[trace], "is not a folder");
    // One that is damaged does not keep the others out.
    std::fs::write(sandbox.path("damaged.sqlite"), &std::fs::read(trace).unwrap()[..5000]).unwrap();
    std::fs::write(sandbox.path("text.json"), "{}").unwrap();
    let ran = sandbox.output(&["export", "--json", "--parquet", "new", "damaged.sqlite", trace, "text.json"]);
    assert_eq!((ran.code, json(&ran).as_array().unwrap().len()), (1, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("error: 1 of 3: `damaged.sqlite`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("error: 3 of 3: `text.json`"), "{}", ran.stderr);
}

/// Columns are declared once; the documentation lists them.
#[test]
fn every_column_is_documented() {
    let file = Path::new(HERE).join("../../docs/dataset.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let heading = "\n## Tables\n";
    let (head, tables) = text.split_once(heading).unwrap();
    let introduction = tables.split("\n### ").next().unwrap().trim_end();
    let mut expected = format!("{introduction}\n");
    let found: Mutex<BTreeMap<&str, String>> = Mutex::default();
    dataset::each_empty_table(&|table| {
        assert_eq!(table.rows(), 0);
        let mut text = format!("\n### `{}`\n\n| column | type | what it is |\n|---|---|---|\n", table.name());
        for (name, kind, required, about) in table.columns() {
            let null = if required { "" } else { ", or null" };
            text.push_str(&format!("| `{name}` | {}{null} | {about} |\n", kind.as_str()));
        }
        found.lock().unwrap().insert(table.name(), text);
        Ok(())
    })
    .unwrap();
    let mut found = found.into_inner().unwrap();
    dataset::NAMES.iter().for_each(|name| expected.push_str(&found.remove(name).unwrap()));
    assert!(found.is_empty(), "{found:?}");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, format!("{head}{heading}{expected}")).unwrap();
        return;
    }
    assert_eq!(tables, expected, "docs/dataset.md is not what the code declares; set {UPDATE}=1 to write it");
}

/// What `python -m rangefinder.fleet` knows of the schema.
#[test]
fn the_python_package_knows_every_column() {
    let file = Path::new(HERE).join("../../python/rangefinder/fleet/tables.json");
    let found: Mutex<BTreeMap<&str, Value>> = Mutex::default();
    dataset::each_empty_table(&|table| {
        let columns =
            table.columns().into_iter().map(|(name, kind, ..)| (name.to_owned(), kind.as_str().into()));
        found.lock().unwrap().insert(table.name(), Value::Object(columns.collect()));
        Ok(())
    })
    .unwrap();
    let found = found.into_inner().unwrap();
    let tables: serde_json::Map<String, Value> =
        dataset::NAMES.iter().map(|name| ((*name).to_owned(), found[name].clone())).collect();
    let (marker, compacted) = (dataset::marker(), dataset::compacted_marker());
    let declared = serde_json::json!({
        "schema": dataset::SCHEMA,
        "schema_key": dataset::SCHEMA_KEY,
        "table_key": dataset::TABLE_KEY,
        "marker": dataset::MARKER,
        "first_line": marker.trim_end().trim_end_matches(|digit: char| digit.is_ascii_digit()),
        "compacted": compacted.strip_prefix(&marker).unwrap().trim_end(),
        "tables": tables,
    });
    let text = format!("{declared:#}\n");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&file, text).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written, text, "tables.json is not what the code declares; set {UPDATE}=1 to write it");
}
