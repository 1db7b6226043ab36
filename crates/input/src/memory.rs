//! How much memory this process may use: nobody asks us before an allocation fails, and then the process ends.

use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

/// Above this a limit of a control group means none.
const NO_LIMIT: u64 = 1 << 60;

/// The least of the limits of the process (`ulimit -v`, `ulimit -d`), those of its control groups, and what the machine
/// has left. None if the system tells nothing of these.
pub fn memory_limit() -> Option<u64> {
    let text = |path: &Path| std::fs::read_to_string(path).ok();
    let status = text(Path::new("/proc/self/status")).unwrap_or_default();
    let own = [(Resource::As, "VmSize:"), (Resource::Data, "VmData:")];
    let own =
        own.map(|(resource, taken)| Some(without_reserved(getrlimit(resource).current?, &status, taken)));
    let groups = text(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let of_groups = group_files(&groups).filter_map(|file| limit_in(&text(&file)?));
    let left = text(Path::new("/proc/meminfo")).and_then(|text| available(&text));
    own.into_iter().flatten().chain(of_groups).chain(left).min()
}

/// What the process holds now.
pub fn memory_held() -> u64 {
    held(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
}

fn held(status: &str) -> u64 {
    kibibytes(status, "VmRSS:").unwrap_or(0)
}

/// These limits also count what is only reserved: stacks, and the files that the program is loaded from.
fn without_reserved(limit: u64, status: &str, taken: &str) -> u64 {
    let reserved = kibibytes(status, taken).unwrap_or(0).saturating_sub(held(status));
    limit.saturating_sub(reserved)
}

/// Where the limits of the control groups are that a process is in, and of those around them. Version 2 has one tree of
/// groups, version 1 has one for memory.
fn group_files(groups: &str) -> impl Iterator<Item = PathBuf> {
    groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => ("", ""),
        };
        let group = PathBuf::from(path.trim_start_matches('/'));
        let around: Vec<PathBuf> =
            group.ancestors().map(|group| Path::new(root).join(group).join(file)).collect();
        around.into_iter().filter(move |_| !root.is_empty())
    })
}

fn limit_in(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|limit| *limit < NO_LIMIT)
}

fn available(meminfo: &str) -> Option<u64> {
    kibibytes(meminfo, "MemAvailable:")
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_groups_and_of_those_around_them() {
        let files = |text: &str| -> Vec<String> {
            group_files(text).map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            files("0::/user.slice/a\n"),
            ["user.slice/a/", "user.slice/", ""].map(|group| format!("/sys/fs/cgroup/{group}memory.max"))
        );
        assert_eq!(
            files("5:cpu,cpuacct:/a\n4:memory:/job\n"),
            ["job/", ""].map(|group| format!("/sys/fs/cgroup/memory/{group}memory.limit_in_bytes"))
        );
        assert_eq!(
            (limit_in("4096\n"), limit_in("max\n"), limit_in("9223372036854771712")),
            (Some(4096), None, None)
        );
        assert_eq!(available("MemTotal:  9 kB\nMemAvailable:    12 kB\n"), Some(12 << 10));
    }

    #[test]
    fn what_is_only_reserved_cannot_be_used() {
        let status = "VmSize:\t  300 kB\nVmRSS:\t  100 kB\nVmData:\t   50 kB\n";
        assert_eq!(without_reserved(1 << 20, status, "VmSize:"), (1 << 20) - (200 << 10));
        assert_eq!(without_reserved(1 << 20, status, "VmData:"), 1 << 20);
        assert_eq!(without_reserved(1 << 10, status, "VmSize:"), 0);
    }

    #[test]
    fn a_process_has_a_limit_and_holds_something() {
        assert!(memory_limit().is_some_and(|limit| limit > 1 << 20));
        assert!(memory_held() > 1 << 16);
    }
}
