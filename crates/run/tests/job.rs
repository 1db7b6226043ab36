//! Ranks that come to the directory of their job, also at the same moment. In a process of its own: another test removes all files that
//! its process is writing.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use record::{Launcher, PLACE, Rank};
use run::job::{Identity, Joined, join, take_result, was_taken_before};

fn identity(rank: u32, launched: SystemTime) -> Identity {
    let rank = Rank { rank, world: Some(2), by: Launcher::Torchrun };
    Identity { rank, on_node: None, job: "torchrun-x".to_owned(), launched: Some(launched) }
}

/// Two ranks, and one of them once more, at the same moment: no place is lost, none is taken twice.
#[test]
fn a_thousand_times_at_once() {
    let root = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    for round in 0..1000 {
        let folder = root.path().join(round.to_string());
        let together = std::sync::Barrier::new(3);
        let joined: Vec<Joined> = std::thread::scope(|scope| {
            let one = |rank| {
                let (folder, together) = (&folder, &together);
                scope.spawn(move || {
                    together.wait();
                    join(folder, "a", &identity(rank, now)).unwrap()
                })
            };
            let ranks = [one(0), one(1), one(1)];
            ranks.map(|rank| rank.join().unwrap()).into()
        });
        let at = |path: &str| folder.join(path);
        let mut parts: Vec<PathBuf> = joined.into_iter().map(|joined| joined.part).collect();
        parts.sort();
        let expected = ["a-torchrun-x/rank-0000", "a-torchrun-x/rank-0001", "a-torchrun-x-2/rank-0001"];
        assert_eq!(parts, expected.map(at), "{round}");
        assert!(parts.iter().all(|part| part.join(PLACE).is_file()));
        let left = [&folder, &at("a-torchrun-x"), &at("a-torchrun-x-2")].map(|folder| {
            std::fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.file_name() < *"0").count()
        });
        assert_eq!(left, [0; 3], "{round}");
    }
}

#[test]
fn a_later_launch_has_a_directory_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let first = SystemTime::now();
    let joined = |rank, launched| join(root.path(), "a", &identity(rank, launched)).unwrap();
    let zero = joined(0, first);
    assert_eq!(zero.part, root.path().join("a-torchrun-x/rank-0000"));
    // Longer than two clocks of one machine may differ.
    std::thread::sleep(Duration::from_millis(100));
    let second = SystemTime::now();
    // Its rank 1 finds the place free, and is of another launch all the same.
    let one = joined(1, second);
    assert_eq!(one.job, root.path().join("a-torchrun-x-2"));
    assert_eq!(joined(0, second).job, one.job);
    // A rank that comes late is one of the first launch.
    assert_eq!(joined(1, first).job, zero.job);
    // Started once more by the same launcher.
    assert_eq!(joined(0, first).job, one.job.with_file_name("a-torchrun-x-3"));
    let left = std::fs::read_dir(root.path()).unwrap().flatten();
    assert_eq!(left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".new")).count(), 0);
}

#[test]
fn one_of_them_merges() {
    let root = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    let one = join(root.path(), "a", &identity(0, now)).unwrap();
    assert_eq!(take_result(&one.job, &identity(0, now)).unwrap(), Some(one.job.join("together")));
    assert_eq!(take_result(&one.job, &identity(1, now)).unwrap(), None);
    assert!(!was_taken_before(&one.job, now) && was_taken_before(&one.job, SystemTime::now()));
}

#[test]
fn what_cannot_be_written_is_told() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = join(&file, "a", &identity(0, SystemTime::now())).unwrap_err();
    assert!(error.to_string().contains("file"), "{error}");
}
