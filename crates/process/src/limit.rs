//! The limit of open files: ours is raised while a workload is looked at, and the workload gets the one that we got.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// No more are of use.
const ENOUGH: u64 = 1 << 16;

/// What our parent gave us, if we have raised it.
static GIVEN: OnceLock<u64> = OnceLock::new();

/// Lets this process have as many open files as the system permits. Programs that we start do not get to see it.
pub fn raise_open_files() {
    let Rlimit { current: Some(given), maximum } = getrlimit(Resource::Nofile) else { return };
    let wanted = maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if wanted > given && GIVEN.set(given).is_ok() {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

/// Before this process becomes the program.
pub fn restore_open_files() {
    if let Some(given) = open_files_given() {
        limit_open_files(given);
    }
}

/// What a program that we start should have instead of our own limit.
pub(crate) fn open_files_given() -> Option<u64> {
    GIVEN.get().copied()
}

/// Sets the limit of this process.
pub(crate) fn limit_open_files(to: u64) {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(to), ..limit });
}

/// A part of the files that this process may have open.
pub(crate) fn part_of_open_files(part: u64) -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| (limit / part) as usize)
}
