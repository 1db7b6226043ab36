//! All processes that descend from some roots. A process that was seen stays one of them, whoever its parent is later.

use std::collections::HashSet;

#[derive(Debug)]
pub(super) struct Descendants {
    roots: Vec<u32>,
    /// Of a child of a root.
    is_left_out: fn(u32) -> bool,
    /// Whether the roots themselves are of interest.
    watched: HashSet<u32>,
    /// Processes that are none of ours.
    others: HashSet<u32>,
}

impl Descendants {
    pub(super) fn of(roots: &[u32], is_left_out: fn(u32) -> bool) -> Self {
        Self {
            roots: roots.to_vec(),
            is_left_out,
            watched: roots.iter().copied().collect(),
            others: HashSet::from([std::process::id()]),
        }
    }

    /// All of them now, roots first; without this process.
    pub(super) fn look(&mut self) -> Vec<u32> {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            // There is no descriptor left: whoever was here may still be.
            return self.found(|_| true);
        };
        let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let here: HashSet<u32> = numbers.collect();
        self.watched.retain(|pid| here.contains(pid) || self.roots.contains(pid));
        self.others.retain(|pid| here.contains(pid));
        let known = |pid: &&u32| !self.watched.contains(*pid) && !self.others.contains(*pid);
        let mut fresh: Vec<(u32, u32)> =
            here.iter().filter(known).filter_map(|pid| Some((*pid, parent(*pid)?))).collect();
        // A child may come before its parent.
        loop {
            let before = fresh.len();
            fresh.retain(|(pid, parent)| {
                let is_left_out = self.roots.contains(parent) && (self.is_left_out)(*pid);
                let ours = self.watched.contains(parent) && !is_left_out;
                if ours {
                    self.watched.insert(*pid);
                }
                !ours
            });
            if fresh.len() == before {
                break;
            }
        }
        self.others.extend(fresh.into_iter().map(|(pid, _)| pid));
        self.found(|pid| here.contains(&pid))
    }

    fn found(&self, is_here: impl Fn(u32) -> bool) -> Vec<u32> {
        let itself = std::process::id();
        let mut found: Vec<u32> =
            self.watched.iter().copied().filter(|pid| *pid != itself && is_here(*pid)).collect();
        found.sort_by_key(|pid| (!self.roots.contains(pid), *pid));
        found
    }
}

pub(crate) fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // `PID (NAME) STATE PARENT`; the name may contain anything.
    let after = stat.iter().rposition(|byte| *byte == b')')?;
    std::str::from_utf8(stat.get(after + 1..)?).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_children_and_forgets_them() {
        let mut descendants = Descendants::of(&[std::process::id()], |_| false);
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 30 & wait"]).spawn().unwrap();
        let mut found = Vec::new();
        for _ in 0..100 {
            found = descendants.look();
            if found.len() > 1 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(found.contains(&child.id()) && !found.contains(&std::process::id()), "{found:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!descendants.look().contains(&child.id()));
    }
}
