//! Ranks of a distributed program: each with its verdict.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use support::Sandbox;

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
fn verdicts(sandbox: &Sandbox) -> Vec<(String, String)> {
    let table = std::fs::read_to_string(sandbox.only_run().join("csv/rank_verdicts.csv")).unwrap();
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

#[test]
fn every_rank_has_its_verdict() {
    let sandbox = Sandbox::new();
    sandbox.write("launch.py", LAUNCHER);
    sandbox.write("rank.py", RANK);
    let mut command =
        sandbox.rangefinder(&["run", "-p", "quick", "--", "python3", "launch.py", "4", "rank.py"]);
    let ran = support::Ran::from(command.env("LATE", "1").output().unwrap());
    assert_eq!(ran.code, 3, "{}\n{}", ran.stdout, ran.stderr);
    let found = verdicts(&sandbox);
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
    let ran = sandbox.output(&["run", "-p", "quick", "--", "python3", "launch.py", "4", "rank.py"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(verdicts(&sandbox), vec![("captured".to_owned(), "3 ranges".to_owned()); 4]);
    let summary = std::fs::read_to_string(sandbox.only_run().join("summary.txt")).unwrap();
    assert!(summary.contains("all 4 captured"), "{summary}");
}
