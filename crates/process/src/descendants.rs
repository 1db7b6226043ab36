//! Everything that descends from this process, as `/proc` shows it now.

use std::collections::{HashMap, HashSet};
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::beside::is_beside;
use super::stat::Stat;

#[derive(Debug, Clone)]
pub(super) struct Descendant {
    pub(super) pid: i32,
    /// Its process group.
    pub(super) group: i32,
    pub(super) name: String,
}

/// All living descendants of this process, without zombies: those wait for their parent, not for a signal.
pub(super) fn descendants() -> Vec<Descendant> {
    let mut children: HashMap<i32, Vec<Descendant>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(stat) = fs::read(entry.path().join("stat")) else { continue };
        if let Some((parent, descendant)) = parse_stat(pid, &stat) {
            children.entry(parent).or_default().push(descendant);
        }
    }
    let mut found = Vec::new();
    let mut queue = vec![std::process::id() as i32];
    while let Some(parent) = queue.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            queue.push(child.pid);
            found.push(child);
        }
    }
    found
}

/// Everything that descends from this process, zombies too, each with its parent; without what is beside the workload.
/// Cheap enough to call often: only descendants are looked at.
pub fn descendants_with_parents() -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let (mut queue, mut seen) = (vec![std::process::id()], HashSet::new());
    while let Some(parent) = queue.pop() {
        for child in children(parent) {
            if is_beside(child) || !seen.insert(child) {
                continue;
            }
            queue.push(child);
            found.push((child, parent));
        }
    }
    found
}

/// Those of these processes whose root directory or mounts differ from ours, with their names.
pub fn with_own_root(processes: &[(u32, u32)]) -> Vec<(u32, String)> {
    let world = |pid: u32| {
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).ok();
        Some((link("root")?, link("ns/mnt")?))
    };
    let Some(ours) = world(std::process::id()) else { return Vec::new() };
    let others = processes.iter().filter(|(pid, _)| world(*pid).is_some_and(|theirs| theirs != ours));
    let named = |(pid, _): &(u32, u32)| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        (*pid, name.trim_end().to_owned())
    };
    others.map(named).collect()
}

/// The processes that the threads of a process have started.
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

fn numbers(list: &str) -> Vec<u32> {
    list.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

pub(super) fn signal_all(found: &[Descendant], signal: Signal) {
    for descendant in found {
        if let Some(pid) = Pid::from_raw(descendant.pid) {
            // It may have ended already, which is what we want.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Its parent and what is known of it; None if it is over.
fn parse_stat(pid: i32, stat: &[u8]) -> Option<(i32, Descendant)> {
    let Stat { name, is_over, parent, group, .. } = Stat::parse(stat)?;
    (!is_over).then_some((parent, Descendant { pid, group, name }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines_with_odd_names() {
        let (parent, found) = parse_stat(7, b"7 (a) b (c) S 3 7 7 0 -1").unwrap();
        assert_eq!((parent, found.pid, found.name.as_str()), (3, 7, "a) b (c"));
        assert!(parse_stat(7, b"7 (gone) Z 3 7 7").is_none());
        for broken in [&b""[..], b"7", b"7 (x", b"7 ) ( S 1", b"7 (x) S", b"7 (x) S y", b"7 (x) S 1"] {
            assert!(parse_stat(7, broken).is_none(), "{broken:?}");
        }
    }

    #[test]
    fn sees_its_own_child() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let found = descendants();
        assert!(found.iter().any(|found| found.pid == child.id() as i32));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
