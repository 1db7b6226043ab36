//! Ranks that come to the directory of their job at the same moment. In a process of its own: another test removes all files that
//! its process is writing.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;
use std::time::SystemTime;

use record::{Launcher, PLACE, Rank};
use run::job::{Identity, Joined, join};

fn identity(rank: u32, launched: SystemTime) -> Identity {
    let rank = Rank { rank, world: Some(2), by: Launcher::Torchrun };
    Identity { rank, job: "torchrun-x".to_owned(), launched: Some(launched) }
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
