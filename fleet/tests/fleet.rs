//! Answers about fleets whose truth is known: on this machine and on a cluster, of good datasets and of bad ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod ports;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use made::{HOT_MACHINE, HOT_SAMPLES, PROGRAMS, Plan, SLOW_MACHINE, SLOWER, Truth};
use serde_json::Value;

const QUESTIONS: [&str; 6] = [
    "top-kernels",
    "kernel-times",
    "regressions-over-time",
    "stragglers-by-node",
    "gpu-hours-by-cause",
    "throttling",
];

fn fleet(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rangefinder-fleet")).args(words).stdin(Stdio::null()).output().unwrap()
}

fn json(words: &[&str]) -> Vec<Value> {
    let output = fleet(&[words, &["--json"]].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What is said of a query that cannot be answered; and that nothing is answered.
fn refused(words: &[&str]) -> String {
    let output = fleet(words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && output.stdout.is_empty(), "{words:?}: {output:?}");
    said
}

/// One made-up fleet for all tests, which they only read.
fn made_up() -> &'static (PathBuf, Truth) {
    static MADE: OnceLock<(PathBuf, Truth)> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fleet");
        let _ = std::fs::remove_dir_all(&folder);
        let truth = Plan { runs: 60, ranks: 4, kernels: 1_000 }.write(&folder, |_| ()).unwrap();
        (folder, truth)
    })
}

/// A copy that a test may damage.
fn copied() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new("cp").arg("-r").arg(made_up().0.join(".")).arg(folder.path()).status().unwrap();
    assert!(status.success());
    folder
}

fn number(row: &Value, column: &str) -> f64 {
    row[column].as_f64().unwrap_or_else(|| panic!("{column} of {row}"))
}

#[test]
fn kernels_are_those_that_ran() {
    let (folder, truth) = made_up();
    let folder = folder.to_str().unwrap();
    for (question, named) in [("top-kernels", true), ("kernel-times", false)] {
        let rows = json(&["ask", folder, question]);
        let mut expected: Vec<(u64, i64)> = truth.kernels.values().copied().collect();
        expected.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
        let found: Vec<(u64, f64)> =
            rows.iter().map(|row| (row["calls"].as_u64().unwrap(), number(row, "seconds"))).collect();
        let expected: Vec<(u64, f64)> =
            expected.iter().map(|(calls, total)| (*calls, (*total as f64 / 1e6).round() / 1e3)).collect();
        assert_eq!(found, expected, "{question}");
        if named {
            let calls: BTreeMap<&str, u64> = rows
                .iter()
                .map(|row| (row["kernel"].as_str().unwrap(), row["calls"].as_u64().unwrap()))
                .collect();
            assert!(truth.kernels.iter().all(|(name, (count, _))| calls[name] == *count));
        }
    }
}

#[test]
fn a_change_has_its_day_and_its_size() {
    let (folder, truth) = made_up();
    let rows = json(&["ask", folder.to_str().unwrap(), "regressions-over-time"]);
    assert!(rows.iter().all(|row| row["program"] == PROGRAMS[1] && row["verdict"] == "slower"), "{rows:#?}");
    let metrics: Vec<&str> = rows.iter().map(|row| row["metric"].as_str().unwrap()).collect();
    assert_eq!(metrics, ["a launch of attention_kernel", "an iteration of :step"], "{rows:#?}");
    let row = &rows[0];
    assert!((number(row, "ratio") - SLOWER).abs() < 0.01 && number(row, "low") <= SLOWER, "{row:#}");
    assert_eq!(number(row, "runs_before") as usize, truth.slower_from, "{row:#}");
    let means = &truth.attention_ns[PROGRAMS[1]];
    let (before, after) = means.split_at(truth.slower_from);
    for (column, part) in [("before_us", before), ("after_us", after)] {
        let mean = (part.iter().map(|value| value.ln()).sum::<f64>() / part.len() as f64).exp() / 1e3;
        assert!((number(row, column) - mean).abs() < 0.01, "{column}: {mean}, {row:#}");
    }
}

#[test]
fn whom_others_wait_for() {
    let (folder, truth) = made_up();
    let rows = json(&["ask", folder.to_str().unwrap(), "stragglers-by-node"]);
    assert_eq!(rows[0]["node"], format!("node-{SLOW_MACHINE:02}"), "{rows:#?}");
    for row in &rows {
        let machine: u32 = row["node"].as_str().unwrap().trim_start_matches("node-").parse().unwrap();
        let (of, last, waited) = truth.collectives[&machine];
        assert_eq!(row["collectives"].as_u64().unwrap(), of, "{row:#}");
        assert!((number(row, "last_percent") - 100.0 * last as f64 / of as f64).abs() <= 0.051, "{row:#}");
        assert!((number(row, "others_waited_s") - waited as f64 / 1e9).abs() <= 0.00051, "{row:#} {waited}");
        assert!((number(row, "by_chance_percent") - 25.0).abs() < 0.1, "{row:#}");
    }
    assert_eq!(rows.len(), truth.collectives.len());
}

#[test]
fn who_is_too_hot() {
    let rows = json(&["ask", made_up().0.to_str().unwrap(), "throttling"]);
    for row in rows {
        let is_hot = row["node"] == format!("node-{HOT_MACHINE:02}");
        let expected = if is_hot { f64::from(HOT_SAMPLES) } else { 0.0 };
        assert_eq!(number(&row, "throttled_percent"), expected, "{row:#}");
        assert_eq!(number(&row, "hot_percent"), expected, "{row:#}");
        assert_eq!(number(&row, "power_percent"), 0.0, "{row:#}");
    }
}

#[test]
fn hours_of_gpus_add_up() {
    let folder = made_up().0.to_str().unwrap();
    let rows = json(&["ask", folder, "gpu-hours-by-cause"]);
    let percent: f64 = rows.iter().map(|row| number(row, "percent")).sum();
    assert!((percent - 100.0).abs() < 0.1, "{rows:#?}");
    assert_eq!(rows[0]["cause"], "busy");
    // Busy is what kernels took: none of one rank overlap.
    let busy =
        json(&["query", folder, "SELECT sum(ns) AS ns FROM idle WHERE region IS NULL AND cause = 'busy'"]);
    let kernels: i64 = made_up().1.kernels.values().map(|(_, total)| total).sum();
    assert_eq!(busy[0]["ns"].as_i64().unwrap(), kernels);
}

/// Ended when a test ends, however it does. Nobody reads on what it says: that is no reason for it to end.
struct Up(Child);

impl Drop for Up {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg("-INT").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

impl Up {
    /// With its scheduler's address.
    fn start() -> (Self, String) {
        let port = ports::free_ports(7);
        let child = Command::new(env!("CARGO_BIN_EXE_rangefinder-fleet"))
            .args(["up", "--executors", "3", "--memory", "512MiB", "--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut up = Self(child);
        let mut line = String::new();
        BufReader::new(up.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("run; ask them"), "{line}");
        (up, format!("127.0.0.1:{port}"))
    }

    fn executors(&self) -> Vec<String> {
        let listed =
            Command::new("ps").args(["-o", "pid=,args=", "--ppid", &self.0.id().to_string()]).output();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        let executors = listed.lines().filter(|line| line.contains(" executor "));
        executors.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
    }
}

/// Percentiles that are put together from parts differ a little.
fn without_percentiles(mut rows: Vec<Value>) -> Vec<Value> {
    for row in &mut rows {
        let row = row.as_object_mut().unwrap();
        row.remove("p50_us");
        row.remove("p99_us");
    }
    rows
}

#[test]
fn a_cluster_answers_the_same_though_executors_are_killed() {
    let folder = made_up().0.to_str().unwrap();
    let here: Vec<_> =
        QUESTIONS.iter().map(|question| without_percentiles(json(&["ask", folder, question]))).collect();
    let (up, address) = Up::start();
    let ask = |question: &str| fleet(&["ask", folder, question, "--json", "--cluster", &address]);
    let rows = |output: &Output| {
        assert!(output.status.success(), "{output:?}");
        without_percentiles(serde_json::from_slice(&output.stdout).unwrap())
    };
    let there = |question: &str| rows(&ask(question));
    for (question, here) in QUESTIONS.iter().zip(&here) {
        assert_eq!(there(question), *here, "{question}");
    }
    let executors = up.executors();
    assert_eq!(executors.len(), 3);
    // In the middle, when some of what is read is lost, and near the end, when most of what was worked out is.
    for (executor, part) in executors.iter().zip([0.5, 0.9]) {
        let timed = || {
            let began = Instant::now();
            there(QUESTIONS[1]);
            began.elapsed()
        };
        let killed_meanwhile = || {
            // Other tests may have held one of them up.
            let usual = timed().min(timed());
            std::thread::scope(|scope| {
                let query = scope.spawn(|| ask(QUESTIONS[1]));
                std::thread::sleep(usual.mul_f64(part));
                // Other tests that ended let it end sooner.
                if query.is_finished() {
                    return None;
                }
                assert!(Command::new("kill").args(["-9", executor]).status().unwrap().success());
                Some(query.join().unwrap())
            })
        };
        let output = (0..10).find_map(|_| killed_meanwhile()).expect("a query that takes as long as before");
        assert_eq!(rows(&output), here[1]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(part > 0.5 || said.contains("asking again"), "{said}");
    }
    // What is wrong with a query itself is not asked again.
    let wrong =
        refused(&["query", folder, "SELECT 1 / (count(*) - count(*)) FROM launches", "--cluster", &address]);
    assert!(wrong.contains("DivideByZero") && !wrong.contains("again"), "{wrong}");
    // The one that is left does all of it.
    assert_eq!(there(QUESTIONS[0]), here[0]);
    let left = up.executors();
    drop(up);
    let is_there = |pid: &String| Path::new("/proc").join(pid).exists();
    let began = Instant::now();
    while left.iter().any(is_there) && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(!left.iter().any(is_there), "executors outlive `up`");
}

#[test]
fn without_a_scheduler() {
    let said = refused(&["ask", made_up().0.to_str().unwrap(), "top-kernels", "--cluster", "127.0.0.1:9"]);
    assert!(
        said.contains("no scheduler answers at `127.0.0.1:9`") && said.contains("rangefinder-fleet up"),
        "{said}"
    );
}

/// The first file of a table, by its path.
fn first_file(folder: &Path, table: &str) -> PathBuf {
    let mut days: Vec<PathBuf> =
        std::fs::read_dir(folder.join(table)).unwrap().map(|day| day.unwrap().path()).collect();
    days.sort();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&days[1]).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.swap_remove(0)
}

/// Another number in a file's metadata.
fn of_schema(file: &Path, number: u8) {
    let mut bytes = std::fs::read(file).unwrap();
    let key = b"rangefinder.schema";
    let at = bytes.windows(key.len()).rposition(|part| part == key).unwrap() + key.len();
    let value = at + bytes[at..].iter().position(|byte| *byte == b'1').unwrap();
    assert!(value < at + 4);
    bytes[value] = number;
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn what_cannot_be_trusted_is_not_answered() {
    let folder = copied();
    let place = folder.path().to_str().unwrap();
    let file = first_file(folder.path(), "kernels");
    let good = std::fs::read(&file).unwrap();
    let count = "SELECT count(*) AS rows FROM kernels";
    let rows = json(&["query", place, count]);
    let check = |what: &str| {
        for words in [vec!["query", place, count], vec!["ask", place, "top-kernels"]] {
            let said = refused(&words);
            assert!(
                said.contains(what) && said.contains(file.file_name().unwrap().to_str().unwrap()),
                "{said}"
            );
        }
        // Other tables are not concerned.
        assert!(!json(&["query", place, "SELECT count(*) FROM runs"]).is_empty());
    };
    for cut in [0, 3, good.len() / 2, good.len() - 1] {
        std::fs::write(&file, &good[..cut]).unwrap();
        check("is damaged, or not a Parquet file");
    }
    std::fs::write(&file, "not Parquet, but as long as a file would be").unwrap();
    check("is damaged, or not a Parquet file");
    for (number, what) in [
        (b'2', "was written by a newer Rangefinder (schema 2; this one reads 1)"),
        (b'0', "was written by an older Rangefinder (schema 0; this one reads 1)"),
    ] {
        std::fs::write(&file, &good).unwrap();
        of_schema(&file, number);
        check(what);
    }
    // Somebody else's file.
    let out = folder.path().join("foreign.parquet");
    let done = fleet(&[
        "query",
        place,
        "SELECT run FROM runs",
        "--format",
        "parquet",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(done.status.success(), "{done:?}");
    std::fs::rename(&out, &file).unwrap();
    check("was not written by Rangefinder");
    std::fs::copy(first_file(folder.path(), "calls"), &file).unwrap();
    check("is of the table `calls`, and lies among those of `kernels`");
    // What is being written does not count.
    std::fs::write(&file, &good).unwrap();
    std::fs::write(file.with_file_name(".writing-abc"), "PAR1").unwrap();
    assert_eq!(json(&["query", place, count]), rows);
    // What only looks hidden does: the engine reads it.
    std::fs::write(file.with_file_name("_x.parquet"), "PAR1").unwrap();
    assert!(refused(&["query", place, count]).contains("is damaged, or not a Parquet file"));
    std::fs::remove_file(file.with_file_name("_x.parquet")).unwrap();
    std::fs::copy(&file, folder.path().join("kernels/beside.parquet")).unwrap();
    assert!(refused(&["query", place, count]).contains("is not in a folder of a day"));
    // Nor is a table passed over that a part of the query has the name of.
    std::fs::remove_file(folder.path().join("kernels/beside.parquet")).unwrap();
    std::fs::write(&file, &good[..9]).unwrap();
    check("is damaged, or not a Parquet file");
    let hidden = "WITH RECURSIVE kernels AS (SELECT run FROM kernels) SELECT count(*) FROM kernels";
    assert!(!fleet(&["query", place, hidden]).status.success());
}

#[test]
fn other_folders_and_versions() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let ask = || refused(&["query", place, "SELECT 1"]);
    assert!(ask().contains("is no dataset: it has no file `rangefinder-dataset`"), "{}", ask());
    for (marker, what) in [
        ("Rangefinder dataset, schema 2\n", "a newer Rangefinder (schema 2; this one knows 1)"),
        ("Rangefinder dataset, schema 0\n", "an older Rangefinder (schema 0; this one knows 1)"),
        ("something", "its file `rangefinder-dataset` is damaged"),
    ] {
        std::fs::write(folder.path().join("rangefinder-dataset"), marker).unwrap();
        assert!(ask().contains(what), "{}", ask());
    }
    std::fs::write(folder.path().join("rangefinder-dataset"), "Rangefinder dataset, schema 1\n").unwrap();
    let said = refused(&["query", place, "SELECT count(*) FROM kernels"]);
    assert!(said.contains("is incomplete: it has no file of the table `kernels`"), "{said}");
    let said = refused(&["query", "/nowhere", "SELECT 1"]);
    assert!(said.contains("`/nowhere` does not exist") && said.contains("rangefinder export"), "{said}");
    assert!(refused(&["query", "ftp://x/y", "SELECT 1"]).contains("only folders and `s3://` addresses"));
}

/// A dataset is only read, and only the dataset.
#[test]
fn nothing_else_can_be_done() {
    let folder = copied();
    let place = folder.path().to_str().unwrap();
    let outside = folder.path().join("stolen.csv");
    for sql in [
        "CREATE TABLE x AS SELECT 1".to_owned(),
        format!("COPY (SELECT * FROM runs) TO '{}'", outside.display()),
        format!("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '{}'", outside.display()),
        "DROP TABLE runs".to_owned(),
        "INSERT INTO runs VALUES (1)".to_owned(),
        "SET datafusion.execution.batch_size = 1".to_owned(),
        "SELECT * FROM '/etc/passwd'".to_owned(),
    ] {
        let said = refused(&["query", place, &sql]);
        assert!(said.starts_with("error: ") && !said.contains("panicked"), "{sql}: {said}");
        assert!(!outside.exists());
    }
    let said = refused(&["query", place, "SELECT * FROM kernel"]);
    assert!(said.contains("hint: the tables are calls, collectives, copies"), "{said}");
    let said = refused(&["query", place, "SELEC 1"]);
    assert!(said.starts_with("error: ") && said.contains("SELEC"), "{said}");
    assert!(
        refused(&["ask", place, "top"]).contains("there is no question `top`; there are:\n  top-kernels")
    );
    let listed = String::from_utf8(fleet(&["ask", place]).stdout).unwrap();
    assert!(QUESTIONS.iter().all(|question| listed.contains(question)), "{listed}");
    for question in QUESTIONS {
        let sql = String::from_utf8(fleet(&["ask", "--sql", question]).stdout).unwrap();
        assert!(sql.starts_with("-- ") && sql.contains("SELECT"), "{sql}");
    }
}

#[test]
fn answers_in_every_format() {
    let place = made_up().0.to_str().unwrap();
    let sql = "SELECT run, rank, begun, kernels, node FROM runs ORDER BY run, rank LIMIT 3";
    let text = |format: &str| {
        let output = fleet(&["query", place, sql, "--format", format]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let csv = text("csv");
    assert!(csv.starts_with("run,rank,begun,kernels,node\nmade-000000,0,2026-01-01T00:00:00"), "{csv}");
    assert_eq!(csv.lines().count(), 4);
    assert!(
        text("table").contains("| made-000000 | 1    | 2026-01-01T00:00:00Z | 1000    | node-01 |"),
        "{}",
        text("table")
    );
    assert!(refused(&["query", place, sql, "--format", "parquet"]).contains("--out FILE.parquet"));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("answer.csv");
    assert!(
        fleet(&["query", place, sql, "--format", "csv", "--out", out.to_str().unwrap()]).status.success()
    );
    assert_eq!(std::fs::read_to_string(&out).unwrap(), csv);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    // A link to a file that is shared stays one.
    let (link, shared) = (folder.path().join("link.csv"), folder.path().join("shared.csv"));
    std::os::unix::fs::symlink("shared.csv", &link).unwrap();
    assert!(
        fleet(&["query", place, sql, "--format", "csv", "--out", link.to_str().unwrap()]).status.success()
    );
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_to_string(&shared).unwrap(), csv);
    let lists = fleet(&["query", place, "SELECT * FROM launches LIMIT 2", "--format", "csv"]);
    assert!(
        lists.status.success() && String::from_utf8_lossy(&lists.stdout).lines().count() == 3,
        "{lists:?}"
    );
    let odd = fleet(&["query", place, "SELECT 'a' || chr(27) || '[2J' AS x"]);
    assert!(odd.status.success() && !odd.stdout.contains(&27), "{odd:?}");
    let long = "SELECT duration_ns FROM launches";
    let table = String::from_utf8(fleet(&["query", place, long]).stdout).unwrap();
    assert!(
        table.ends_with("and more rows: `--format csv` has all of them\n") && table.lines().count() < 1_010
    );
    let none = json(&["query", place, "SELECT * FROM counters"]);
    assert!(none.is_empty());
}

/// A query that needs more memory than it may take uses the disk, and if that does not help, says so.
#[test]
fn memory_is_bounded() {
    let place = made_up().0.to_str().unwrap();
    let sql = "SELECT run, rank, begin_ns, count(*) AS many FROM launches GROUP BY run, rank, begin_ns ORDER BY many DESC, run, rank, begin_ns LIMIT 1";
    let few = json(&["query", place, sql, "--memory", "64MB"]);
    assert_eq!(few, json(&["query", place, sql]));
    assert!(!fleet(&["query", place, sql, "--memory", "5"]).status.success());
}

#[test]
fn few_files_answer_as_many_do() {
    let place = made_up().0.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("compacted");
    let into = into.to_str().unwrap();
    let done = fleet(&["compact", place, into]);
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success() && said.contains(" in place of "), "{said}");
    for question in QUESTIONS {
        let (many, few) = (json(&["ask", place, question]), json(&["ask", into, question]));
        assert_eq!(without_percentiles(many), without_percentiles(few), "{question}");
    }
    assert!(refused(&["compact", place, into]).contains("is there already"));
    assert!(
        dataset::understood(&std::fs::read_to_string(Path::new(into).join("rangefinder-dataset")).unwrap())
            .is_err()
    );
}
