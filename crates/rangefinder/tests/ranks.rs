//! Ranks of a distributed program: each with its verdict.

use std::path::Path;

use crate::support::{self, Ran, Sandbox};

const LAUNCHER: &str = include_str!("programs/launch.py");

/// Rank 2 is killed, rank 3 opens no range, rank 0 cannot write, rank 1 is started late.
const RANK: &str = r#"
import os, signal, time
rank = int(os.environ["RANK"])
if rank == 0:
    import resource
    # Whatever it writes is too large.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
if rank != 3:
    from rangefinder import stage
    for _ in range(5):
        with stage("step"):
            time.sleep(0.02)
if rank == 2:
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(2.5)
"#;

/// What the table says, by rank: verdict and text.
fn verdicts(documents: &Path) -> Vec<(String, String)> {
    let table = std::fs::read_to_string(documents.join("csv/rank_verdicts.csv")).unwrap();
    let rows = table.lines().skip(1).map(|line| {
        let (before, quoted, after) = match line.split_once('"') {
            Some((before, rest)) => {
                let (quoted, after) = rest.split_once('"').unwrap();
                (before, Some(quoted), after)
            }
            None => (line, None, ""),
        };
        let mut cells = before.split(',').skip(2);
        let verdict = cells.next().unwrap().to_owned();
        let text = quoted.map_or_else(|| cells.next().unwrap().to_owned(), str::to_owned);
        let _ = after;
        (verdict, text)
    });
    rows.collect()
}

/// On a busy machine one may start a second after the others, which is told.
fn all_captured(documents: &Path, recorded: &str) {
    let found = verdicts(documents);
    let fine = |(verdict, text): &(String, String)| verdict == "captured" && text.starts_with(recorded);
    assert!(found.len() == 4 && found.iter().all(fine), "{found:?}");
}

#[test]
fn every_rank_has_its_verdict() {
    let sandbox = Sandbox::new();
    sandbox.write("launch.py", LAUNCHER);
    sandbox.write("rank.py", RANK);
    let mut command =
        sandbox.rangefinder(&["run", "-p", "quick", "--", "python3", "launch.py", "4", "python3", "rank.py"]);
    let ran = Ran::from(command.env("LATE", "1").output().unwrap());
    assert_eq!(ran.code, 3, "{}\n{}", ran.stdout, ran.stderr);
    let found = verdicts(&sandbox.only_run());
    let word = |rank: usize| (found[rank].0.as_str(), found[rank].1.as_str());
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(word(0).0, "missed", "{found:?}");
    assert!(word(0).1.starts_with("not recorded: "), "{found:?}");
    assert_eq!(word(1).0, "captured", "{found:?}");
    assert!(word(1).1.starts_with("5 ranges; it was started 1."), "{found:?}");
    // The system tells how a process ended since Linux 6.15, unless it waits for its parent.
    assert!(matches!(word(2).0, "partial" | "captured"), "{found:?}");
    if word(2).0 == "partial" {
        assert!(word(2).1.starts_with("ended with signal 9 (SIGKILL) after "), "{found:?}");
        assert!(word(2).1.ends_with("until then 5 ranges"), "{found:?}");
    }
    assert_eq!(word(3), ("missed", "it opened no range and launched no GPU work"), "{found:?}");
    let summary = std::fs::read_to_string(sandbox.only_run().join("summary.txt")).unwrap();
    assert!(summary.contains("rank 3: it opened no range and launched no GPU work"), "{summary}");
}

#[test]
fn ranks_that_all_do_the_same() {
    let sandbox = Sandbox::new();
    sandbox.write("launch.py", LAUNCHER);
    sandbox.write(
        "rank.py",
        "from rangefinder import stage\nfor _ in range(3):\n    with stage('step'):\n        pass\n",
    );
    let ran =
        sandbox.output(&["run", "-p", "quick", "--", "python3", "launch.py", "4", "python3", "rank.py"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    all_captured(&sandbox.only_run(), "3 ranges");
    let summary = std::fs::read_to_string(sandbox.only_run().join("summary.txt")).unwrap();
    assert!(summary.contains("all 4 captured"), "{summary}");
}

/// Opens ranges and prints its rank.
const STEPS: &str = r#"
import os, sys, time
from rangefinder import stage
for _ in range(5):
    with stage("step"):
        time.sleep(0.02)
# In one piece, also where Python does not buffer.
sys.stdout.write(f"rank {os.environ.get('RANK')}\n")
"#;

/// What is in the directory of a job.
fn inside(job: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(job).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The program under test as a word of another one's command line.
const RANGEFINDER: &str = env!("CARGO_BIN_EXE_rangefinder");

/// The tests themselves may run under a launcher.
fn without_ranks(command: &mut std::process::Command) {
    for name in ["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"] {
        command.env_remove(name);
    }
}

/// `launch.py RANKS rangefinder rank ...`
fn launched(sandbox: &Sandbox, ranks: &str, words: &[&str], variables: &[(&str, &str)]) -> Ran {
    sandbox.write("launch.py", LAUNCHER);
    let mut command = std::process::Command::new("python3");
    command.args(["launch.py", ranks]).args(words).current_dir(sandbox.path(""));
    without_ranks(&mut command);
    command.env("XDG_CONFIG_HOME", sandbox.path("no-config")).env("XDG_CACHE_HOME", sandbox.path("cache"));
    Ran::from(command.envs(variables.iter().copied()).output().unwrap())
}

#[test]
fn each_rank_records_itself() {
    let sandbox = Sandbox::new();
    sandbox.write("steps.py", STEPS);
    let words = [RANGEFINDER, "rank", "--", "python3", "steps.py"];
    let ran = launched(&sandbox, "4", &words, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // Nothing of ours among what the program prints.
    let mut printed: Vec<&str> = ran.stdout.lines().collect();
    printed.sort_unstable();
    assert_eq!(printed, ["rank 0", "rank 1", "rank 2", "rank 3"]);
    assert!(ran.stderr.contains("all 4 captured"), "{}", ran.stderr);
    let job = sandbox.only_run();
    assert_eq!(
        inside(&job),
        ["job.json", "rank-0000", "rank-0001", "rank-0002", "rank-0003", "together"].map(str::to_owned)
    );
    all_captured(&job.join("together"), "5 ranges");
    // Again, by hand.
    let shown = sandbox.output(&["analyze", "--json", job.to_str().unwrap()]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let document: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(document["rank_verdicts"].as_array().unwrap().len(), 4);
    assert_eq!(document["recordings"].as_array().unwrap().len(), 4);
    let report = sandbox.output(&["report", job.to_str().unwrap()]);
    assert!(report.stdout.contains("all 4 captured"), "{}{}", report.stdout, report.stderr);
    // The same launcher once more: another job.
    let again = launched(&sandbox, "2", &words, &[]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let second = job.with_file_name(format!("{}-2", job.file_name().unwrap().to_str().unwrap()));
    assert_eq!(inside(&second), ["job.json", "rank-0000", "rank-0001", "together"].map(str::to_owned));
}

/// nsys records the ranks that are selected, the tracer the others; what is typed wrong, and nsys that is not there, are told.
#[test]
fn nsys_records_selected_ranks() {
    let Some(nsys) = support::tool("nsys_records_selected_ranks", "nsys-2023.4.4/usr/bin/nsys") else {
        return;
    };
    let libraries =
        support::tool("nsys_records_selected_ranks", "nsys-libraries/usr/lib/x86_64-linux-gnu").unwrap();
    let sandbox = Sandbox::new();
    sandbox.write("steps.py", STEPS);
    let path = format!("nsys.path={}", nsys.display());
    let words = [RANGEFINDER, "rank", "ranks.select=[1]", &path, "--", "python3", "steps.py"];
    let ran = launched(&sandbox, "3", &words, &[("RANGEFINDER_LIBRARY_PATH", libraries.to_str().unwrap())]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut printed: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("rank ")).collect();
    printed.sort_unstable();
    assert_eq!(printed, ["rank 0", "rank 1", "rank 2"], "each ran once: {}", ran.stderr);
    let job = sandbox.only_run();
    for (rank, by_nsys) in [(0, false), (1, true), (2, false)] {
        let run = job.join(format!("rank-000{rank}"));
        assert_eq!(
            (run.join("nsys").is_dir(), run.join("rehearsal").is_dir()),
            (by_nsys, !by_nsys),
            "{rank}"
        );
    }
    let found = verdicts(&job.join("together"));
    let fine = |(verdict, text): &(String, String)| verdict == "captured" && text.starts_with("5 ranges");
    assert!(found.len() == 3 && found.iter().all(fine), "{found:?}\n{}", ran.stderr);
    let shown = sandbox.output(&["analyze", "--json", job.to_str().unwrap()]);
    let document: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let ranks: Vec<&serde_json::Value> =
        document["recordings"].as_array().unwrap().iter().map(|row| &row["rank"]).collect();
    assert_eq!(ranks.len(), 3, "{ranks:?}");
    assert!((0..3).all(|rank| ranks.iter().any(|known| **known == rank)), "{ranks:?}");

    // An nsys that refuses to start the program: it runs all the same, once.
    let refused = Sandbox::new();
    refused.write("steps.py", STEPS);
    let words = [
        RANGEFINDER,
        "rank",
        "ranks.select=all",
        &path,
        "nsys.extra_args=[--no-such-option]",
        "--",
        "python3",
        "steps.py",
    ];
    let ran = launched(&refused, "2", &words, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let printed = ran.stdout.lines().filter(|line| line.starts_with("rank ")).count();
    assert_eq!(printed, 2, "{}\n{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("runs without being recorded: nsys did not start its program"),
        "{}",
        ran.stderr
    );
    let job = refused.only_run();
    let shown = refused.output(&["analyze", "--json", job.to_str().unwrap()]);
    let told: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let texts: Vec<&str> =
        told["rank_verdicts"].as_array().unwrap().iter().map(|row| row["text"].as_str().unwrap()).collect();
    assert!(texts.iter().all(|text| !text.contains("opened no range")), "{texts:?}");

    let wrong = launched(&sandbox, "1", &[RANGEFINDER, "rank", "ranks.select=first", "--", "true"], &[]);
    assert!(
        wrong.stderr.contains("must be `all`, `node`, or ranks such as `0` or `[0, 8]`"),
        "{}",
        wrong.stderr
    );
    let gated = [RANGEFINDER, "rank", "ranks.select=all", &path, "nsys.nvtx_capture=step", "--", "true"];
    let gated = launched(&sandbox, "1", &gated, &[]);
    assert!(gated.stderr.contains("a launcher starts each rank once"), "{}", gated.stderr);
    let words = [RANGEFINDER, "rank", "ranks.select=0", "nsys.path=nowhere", "--", "python3", "steps.py"];
    let without = launched(&sandbox, "2", &words, &[]);
    assert_eq!(without.code, 0, "{}", without.stderr);
    assert!(
        without.stderr.contains("warning: rank 0 is recorded by the tracer, not by nsys (`ranks.select`): "),
        "{}",
        without.stderr
    );
    assert!(without.stderr.contains("all 2 captured"), "{}", without.stderr);
}

/// Rank 0 cannot write where the others do, rank 1 is started late, rank 2 is killed, rank 3 opens no range.
#[test]
fn what_becomes_of_a_rank_is_told() {
    let sandbox = Sandbox::new();
    sandbox.write("rank.py", &RANK.replace("if rank == 0:", "if False:"));
    sandbox.write("file", "");
    let script = format!(
        "[ $RANK = 0 ] && folder=file || folder=runs; exec {RANGEFINDER} rank run.dir=$folder -- python3 rank.py"
    );
    let ran = launched(&sandbox, "4", &["sh", "-c", &script], &[("LATE", "1")]);
    assert_eq!(ran.code, 137, "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: rank 0 runs without being recorded: "), "{}", ran.stderr);
    let job = sandbox.only_run();
    let found = verdicts(&job.join("together"));
    let word = |rank: usize| (found[rank].0.as_str(), found[rank].1.as_str());
    assert_eq!(found.len(), 4, "{found:?}");
    let nothing = "nothing of it is here: it was never started, or cannot write to this directory";
    assert_eq!(word(0), ("missed", nothing), "{found:?}");
    assert_eq!(word(1).0, "captured", "{found:?}");
    let later = word(1).1.strip_prefix("5 ranges; it was started ").and_then(|rest| rest.split(' ').next());
    assert!(later.is_some_and(|later| later.parse::<f64>().unwrap() >= 1.0), "{found:?}");
    assert_eq!(word(2).0, "partial", "{found:?}");
    assert!(word(2).1.starts_with("ended with signal 9 (SIGKILL) after "), "{found:?}");
    assert_eq!(word(3), ("missed", "it opened no range and launched no GPU work"), "{found:?}");
    assert!(ran.stderr.contains("1 of 4 captured"), "{}", ran.stderr);
}

/// What watches a rank is killed: the program ends with it, the others go on.
#[test]
fn a_rank_whose_recorder_is_killed() {
    let sandbox = Sandbox::new();
    // The others go on for as long as it takes until rank 1 has opened some ranges, and a while longer.
    let steps = STEPS.replace("range(5)", "range(150)");
    let steps = format!(
        "{steps}if os.environ[\"RANK\"] == \"1\":\n    open(\"ready\", \"w\").close()\n    time.sleep(60)\n"
    );
    sandbox.write("steps.py", &steps);
    let words = [RANGEFINDER, "rank", "--", "python3", "steps.py"];
    let ran = launched(&sandbox, "3", &words, &[("KILL", "ready")]);
    assert_eq!(ran.code, 9, "{}", ran.stderr);
    let found = verdicts(&sandbox.only_run().join("together"));
    assert!(found[0].0 == "captured" && found[0].1.starts_with("150 ranges"), "{found:?}");
    assert_eq!(found[1].0, "partial", "{found:?}");
    assert!(found[1].1.starts_with("Rangefinder's own process of this rank ended before"), "{found:?}");
    assert!(found[1].1.ends_with(" ranges"), "{found:?}");
    assert_eq!(found[2].0, "captured", "{found:?}");
}

/// A scheduler asks for a checkpoint by a signal, which is the program's alone. Temporary files are where they always are.
#[test]
fn signals_and_folders_are_the_program_s() {
    let sandbox = Sandbox::new();
    let program = r#"
import os, signal, tempfile, time
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
os.kill(int(open(os.environ["RECORDER"]).read().split('"pid": ')[1].split(",")[0]), signal.SIGUSR1)
while not asked:
    time.sleep(0.01)
print("checkpoint", tempfile.gettempdir())
"#;
    sandbox.write("asked.py", program);
    let mut command = sandbox.rangefinder(&["rank", "run.name=../a b", "--", "python3", "asked.py"]);
    command.env("RANK", "0").env("WORLD_SIZE", "1").env("TMPDIR", sandbox.path(""));
    for name in ["TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"] {
        command.env(name, "x");
    }
    let job = sandbox.path("runs");
    command.env("RECORDER", job.join("recorder"));
    // The name of the directory is not known before.
    let watch = std::thread::spawn(move || {
        for _ in 0..2000 {
            let folders = std::fs::read_dir(&job).into_iter().flatten().flatten();
            let place =
                folders.map(|entry| entry.path().join("rank-0000/rank.json")).find(|file| file.exists());
            if let Some(place) = place {
                std::os::unix::fs::symlink(place, job.join("recorder")).unwrap();
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    let ran = Ran::from(command.output().unwrap());
    watch.join().unwrap();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.stdout, format!("checkpoint {}\n", sandbox.path("").display()).replace("/\n", "\n"));
    assert!(sandbox.runs()[0].file_name().unwrap().to_str().unwrap().starts_with("_a_b-torchrun-"));
}

/// Ranks that leave nothing have verdicts, too.
#[test]
fn ranks_without_ranges() {
    let sandbox = Sandbox::new();
    let ran = launched(&sandbox, "2", &[RANGEFINDER, "rank", "--", "true"], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("0 of 2 captured"), "{}", ran.stderr);
    let told = ("missed".to_owned(), "it opened no range and launched no GPU work".to_owned());
    assert_eq!(verdicts(&sandbox.only_run().join("together")), vec![told; 2]);
}

/// Whatever becomes of the directory of a job, a rank ends as its program does.
#[test]
fn the_program_s_code_whatever_becomes_of_the_job() {
    for (harm, code) in
        [("rm -rf runs", 0), ("rm -rf runs", 7), ("mv runs elsewhere", 0), ("rm -rf runs/*/rank-*", 5)]
    {
        let sandbox = Sandbox::new();
        let program = format!("{harm} 2>/dev/null; exit {code}");
        let mut command = sandbox.rangefinder(&["rank", "--", "sh", "-c", &program]);
        command.env("RANK", "0").env("WORLD_SIZE", "1");
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, code, "{harm}: {}", ran.stderr);
        assert!(ran.stderr.contains("warning: rank 0: "), "{harm}: {}", ran.stderr);
    }
}

/// A folder that nobody may write to any more; for root there is none.
#[test]
fn the_program_s_code_where_rights_are_lost() {
    if nix::unistd::geteuid().is_root() {
        return support::skip("the_program_s_code_where_rights_are_lost", "root may write anywhere");
    }
    let sandbox = Sandbox::new();
    let program = "chmod 500 runs/*/rank-0000; exit 3";
    let mut command = sandbox.rangefinder(&["rank", "--", "sh", "-c", program]);
    let ran = Ran::from(command.env("RANK", "0").env("WORLD_SIZE", "1").output().unwrap());
    let rank = sandbox.only_run().join("rank-0000");
    std::fs::set_permissions(&rank, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(ran.code, 3, "{}", ran.stderr);
}

/// Of four ranks, the recording of the second is removed, that of the third cut, that of the fourth changed.
#[test]
fn a_recording_is_held_against_what_its_rank_has_written() {
    let sandbox = Sandbox::new();
    sandbox.write("steps.py", STEPS);
    let ran = launched(&sandbox, "4", &[RANGEFINDER, "rank", "--", "python3", "steps.py"], &[]);
    assert!(ran.stderr.contains("all 4 captured"), "{}", ran.stderr);
    let job = sandbox.only_run();
    let recording = |rank: u32| {
        let files = std::fs::read_dir(job.join(format!("rank-000{rank}/rehearsal"))).unwrap().flatten();
        files
            .map(|entry| entry.path())
            .find(|path| path.extension().is_some_and(|kind| kind == "rft"))
            .unwrap()
    };
    let judged = || {
        let out = sandbox.path("out");
        let shown = sandbox.output(&["analyze", "--out", out.to_str().unwrap(), job.to_str().unwrap()]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        verdicts(&out)
    };
    assert!(judged().iter().all(|(verdict, _)| verdict == "captured"));
    std::fs::remove_file(recording(1)).unwrap();
    let open = |rank: u32| std::fs::OpenOptions::new().write(true).open(recording(rank)).unwrap();
    open(2).set_len(5_000).unwrap();
    // Of a name, and nothing else.
    let bytes = std::fs::read(recording(3)).unwrap();
    let name = bytes.windows(5).position(|bytes| bytes == b"step\0").unwrap();
    std::os::unix::fs::FileExt::write_all_at(&open(3), b"stop", name as u64).unwrap();
    let found = judged();
    let word = |rank: usize| (found[rank].0.as_str(), found[rank].1.as_str());
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(word(0).0 == "captured" && word(0).1.starts_with("5 ranges"), "{found:?}");
    assert_eq!(word(1).0, "missed", "{found:?}");
    assert!(word(1).1.contains("has been removed since it was written"), "{found:?}");
    assert_ne!(word(2).0, "captured", "{found:?}");
    assert!(word(2).1.contains("has been cut since it was written: 5000 of "), "{found:?}");
    assert_eq!(word(3).0, "partial", "{found:?}");
    assert!(
        word(3).1.contains("has been changed since it was written; what is left has 5 ranges"),
        "{found:?}"
    );
}

/// A rank runs where its path is no text, and is not recorded.
#[test]
fn a_path_that_is_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    let folder = sandbox.path("").join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&folder).unwrap();
    let mut command = sandbox.rangefinder(&["rank", "--", "sh", "-c", "pwd > here; exit 4"]);
    command.current_dir(&folder).env("RANK", "0").env("WORLD_SIZE", "1");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("warning: rank 0 runs without being recorded: the path of "),
        "{}",
        ran.stderr
    );
    assert!(folder.join("here").exists() && !folder.join("runs").exists());
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let sandbox = Sandbox::new();
    let mut alone = sandbox.rangefinder(&["rank", "--", "true"]);
    without_ranks(&mut alone);
    let alone = Ran::from(alone.output().unwrap());
    assert_eq!(alone.code, 2, "{}", alone.stderr);
    assert!(alone.stderr.contains("no launcher says which rank this process is"), "{}", alone.stderr);
    let twice = ["rank", "ncu.enable=true", "--", "true"];
    let twice =
        Ran::from(sandbox.rangefinder(&twice).env("RANK", "0").env("WORLD_SIZE", "2").output().unwrap());
    assert_eq!(twice.code, 2, "{}", twice.stderr);
    assert!(twice.stderr.contains("a launcher starts each rank once"), "{}", twice.stderr);
    assert!(sandbox.runs().is_empty());
}

/// The real ones, fetched by `cargo xtask tools`, each with what makes it start four ranks of a program.
const LAUNCHERS: [(&str, &[&str]); 3] = [
    ("openmpi/mpirun", &["-n", "4"]),
    ("slurm/srun", &["-n", "4"]),
    ("torch/torchrun", &["--nproc_per_node", "4", "--no_python"]),
];

/// What ranks do together, once torch is there.
const TOGETHER: &str = r#"
import datetime, os, signal, sys
import torch, torch.distributed as ranks
from rangefinder import stage
ranks.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
sum = torch.zeros(1000)
for step in range(10):
    if step == 5 and sys.argv[1:] == [str(ranks.get_rank())]:
        os.kill(os.getpid(), signal.SIGKILL)
    with stage("step"):
        ranks.all_reduce(sum)
"#;

/// A command in the sandbox, whose temporary files stay there, too.
fn ran_there(sandbox: &Sandbox, program: &Path, words: &[&str]) -> Ran {
    let mut command = std::process::Command::new(program);
    command.args(words).current_dir(sandbox.path("")).env("TMPDIR", sandbox.path(""));
    command.env("XDG_CONFIG_HOME", sandbox.path("no-config")).env("XDG_CACHE_HOME", sandbox.path("cache"));
    command.env("RANGEFINDER_NSYS", "none").env("RANGEFINDER_NCU", "none");
    Ran::from(command.stdin(std::process::Stdio::null()).output().unwrap())
}

/// Debian's PyTorch is for its own Python.
fn has_python_3_11(test: &str) -> bool {
    let version = std::process::Command::new("python3").arg("--version").output().unwrap().stdout;
    let fits = String::from_utf8_lossy(&version).starts_with("Python 3.11.");
    if !fits {
        support::skip(test, "python3 is not Python 3.11");
    }
    fits
}

#[test]
fn under_real_launchers_and_around_them() {
    let test = "under_real_launchers_and_around_them";
    for (launcher, words) in LAUNCHERS {
        let Some(launcher) = support::tool(test, launcher) else { return };
        if launcher.ends_with("torchrun") && !has_python_3_11(test) {
            return;
        }
        let sandbox = Sandbox::new();
        sandbox.write("steps.py", STEPS);
        let under = [words, &[RANGEFINDER, "rank", "--", "python3", "steps.py"]].concat();
        let ran = ran_there(&sandbox, &launcher, &under);
        assert_eq!(ran.code, 0, "{}: {}", launcher.display(), ran.stderr);
        all_captured(&sandbox.only_run().join("together"), "5 ranges");
        // The same launcher once more is another job.
        let again = ran_there(&sandbox, &launcher, &under);
        assert_eq!(again.code, 0, "{}: {}", launcher.display(), again.stderr);
        let jobs = sandbox.runs();
        assert_eq!(jobs.len(), 2, "{jobs:?}");
        assert!(jobs.iter().all(|job| inside(job).len() == 6), "{jobs:?}");
        let launcher = launcher.to_str().unwrap();
        let around =
            [&["run", "--quick", "run.dir=around", "--", launcher], words, &["python3", "steps.py"]].concat();
        let ran = ran_there(&sandbox, Path::new(RANGEFINDER), &around);
        assert_eq!(ran.code, 0, "{launcher}: {}", ran.stderr);
        let run = std::fs::read_dir(sandbox.path("around")).unwrap().flatten().map(|entry| entry.path());
        let run = run.filter(|path| path.is_dir()).max().unwrap();
        all_captured(&run, "5 ranges");
    }
}

/// Ranks that wait for each other, and one of them is killed in the middle.
#[test]
fn torch_distributed_with_gloo() {
    let test = "torch_distributed_with_gloo";
    let Some(torchrun) = support::tool(test, "torch/torchrun") else { return };
    if !has_python_3_11(test) {
        return;
    }
    for killed in [None, Some("2")] {
        let sandbox = Sandbox::new();
        sandbox.write("together.py", TOGETHER);
        let mut words =
            vec!["--nproc_per_node", "4", "--no_python", RANGEFINDER, "rank", "--", "python3", "together.py"];
        words.extend(killed);
        let ran = ran_there(&sandbox, &torchrun, &words);
        assert_eq!(ran.code == 0, killed.is_none(), "{}", ran.stderr);
        let job = sandbox.only_run();
        let Some(killed) = killed else {
            all_captured(&job.join("together"), "10 ranges");
            continue;
        };
        // The launcher ends the others when one has failed, and does not wait until they have put anything together.
        let shown = sandbox.output(&[
            "analyze",
            "--out",
            sandbox.path("out").to_str().unwrap(),
            job.to_str().unwrap(),
        ]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let found = verdicts(&sandbox.path("out"));
        let killed: usize = killed.parse().unwrap();
        assert_eq!(found[killed].0, "partial", "{found:?}");
        assert!(found[killed].1.starts_with("ended with signal 9 (SIGKILL) after "), "{found:?}");
        assert!(
            found.iter().all(|(verdict, text)| verdict == "partial" && text.contains(" ranges")),
            "{found:?}"
        );
    }
}
