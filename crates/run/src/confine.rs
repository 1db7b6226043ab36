//! Gives up rights that reading files does not need.
//! Traces and reports come from anywhere and are read by a lot of parser code, ours and
//! others'. Whatever a file makes a parser do, from here on this thread and those it starts may read
//! files and write below the given folders, and nothing else: start no program, open no
//! connection, gain no privilege. Where the system cannot do this (Landlock, Linux 5.13 and later)
//! nothing is given up, silently: it is a second line of defense, not the first.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError,
};

/// The newest version we know; older kernels enforce what they support.
const NEWEST: ABI = ABI::V5;

/// Keeps the calling thread from everything but reading, and writing below `writable`.
pub fn confine(writable: &[&Path]) {
    let _ = restrict(writable);
}

fn restrict(writable: &[&Path]) -> Result<(), RulesetError> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let writing = AccessFs::from_all(NEWEST) & !BitFlags::from(AccessFs::Execute);
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .create()?;
    let below = |folder: &Path, access: BitFlags<AccessFs>| {
        PathFd::new(folder).ok().map(|folder| Ok::<_, RulesetError>(PathBeneath::new(folder, access)))
    };
    let everything = below(Path::new("/"), reading);
    let named = writable.iter().filter_map(|folder| below(folder, writing));
    rules.add_rules(everything.into_iter().chain(named))?.restrict_self()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Only the thread is confined that asks for it: a test can look at both sides.
    #[test]
    fn reads_everything_and_writes_only_where_it_may() {
        let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let outside = theirs.path().join("file");
        std::fs::write(&outside, "text").unwrap();
        let confined = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                confine(&[ours.path(), Path::new("/nowhere")]);
                let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
                if !status.contains("NoNewPrivs:\t1") {
                    return false;
                }
                assert_eq!(std::fs::read_to_string(&outside).unwrap(), "text");
                let inside = ours.path().join("folder");
                std::fs::create_dir(&inside).unwrap();
                std::fs::write(inside.join("a"), "1").unwrap();
                std::fs::rename(inside.join("a"), ours.path().join("b")).unwrap();
                std::fs::remove_file(ours.path().join("b")).unwrap();
                // A system without Landlock has set the other one all the same.
                let kept_out = std::fs::write(&outside, "changed").is_err();
                if kept_out {
                    assert!(std::fs::write(theirs.path().join("new"), "").is_err());
                    assert!(std::fs::remove_file(&outside).is_err());
                    assert!(Command::new("/bin/true").status().is_err(), "no program is started");
                    let inherited = scope.spawn(|| std::fs::write(&outside, "changed").is_err());
                    assert!(inherited.join().unwrap(), "threads are confined, too");
                }
                kept_out
            });
            thread.join().unwrap()
        });
        let text = std::fs::read_to_string(&outside).unwrap();
        assert_eq!(text == "text", confined);
        assert!(Command::new("/bin/true").status().unwrap().success(), "others are not");
    }
}
