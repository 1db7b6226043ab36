//! Creates a new run directory, and locks it while it is in use.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};

use super::files::WriteError;

const LOCK: &str = ".lock";

/// Makes `<root>/<YYYYMMDD-HHMMSS>-<name>`, with `-2`, `-3` … behind it when that
/// is taken. A root that is new or empty gets a `.gitignore` of its own.
pub fn create(root: &Path, name: &str) -> Result<PathBuf, WriteError> {
    // A folder with other things in it belongs to a project.
    let ours = std::fs::read_dir(root).map_or(true, |mut entries| entries.next().is_none());
    std::fs::create_dir_all(root).map_err(|error| match root.is_file() {
        true => WriteError::NotAFolder { path: root.to_owned() },
        false => WriteError::in_root(root, error),
    })?;
    if ours {
        ignore_in_git(root)?;
    }
    let stamp = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let mut path = root.join(format!("{stamp}-{name}"));
    for number in 2.. {
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => break,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                path = root.join(format!("{stamp}-{name}-{number}"));
            }
            Err(error) => return Err(WriteError::in_root(root, error)),
        }
    }
    std::path::absolute(&path).map_err(|error| WriteError::new(&path, error))
}

fn ignore_in_git(root: &Path) -> Result<(), WriteError> {
    let path = root.join(".gitignore");
    let made = OpenOptions::new().write(true).create_new(true).open(&path);
    match made {
        Ok(mut file) => {
            io::Write::write_all(&mut file, b"*\n").map_err(|error| WriteError::in_root(root, error))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(WriteError::in_root(root, error)),
    }
}

/// Held while a run is in use; the kernel releases it however we end.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    /// Closing is not enough: a forked child has a copy of the descriptor until it execs, and the copy
    /// holds the lock, too.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// None if another process is using this run.
pub fn lock(run: &Path) -> Result<Option<Lock>, WriteError> {
    let path = run.join(LOCK);
    // The run may come from elsewhere, with a link or a pipe for a lock.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .custom_flags(flags.bits().cast_signed())
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(|error| WriteError::new(&path, error))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Lock(file))),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(WriteError::new(&path, error.into())),
    }
}

/// The same, if another process is about to give it up: of one that died, a keeper still marks the run.
pub(crate) fn lock_soon(run: &Path) -> Result<Option<Lock>, WriteError> {
    const TRIES: usize = 200;
    for _ in 1..TRIES {
        if let Some(lock) = lock(run)? {
            return Ok(Some(lock));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    lock(run)
}

/// The name of a run: only letters, digits, `.`, `_` and `-`.
pub(crate) fn safe_name(name: &str) -> String {
    let safe: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
        .take(60)
        .collect();
    let safe = safe.trim_start_matches(['.', '-']);
    if safe.is_empty() { "run".to_owned() } else { safe.to_owned() }
}

/// Keeps what an earlier attempt left, under another name.
pub(crate) fn set_aside(folder: &Path) -> Result<(), WriteError> {
    if !folder.exists() {
        return Ok(());
    }
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let free = (1..).map(|attempt| folder.with_file_name(format!("{name}.attempt-{attempt}")));
    for path in free {
        if !path.exists() {
            std::fs::rename(folder, &path).map_err(|error| WriteError::new(&path, error))?;
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, safe) in
            [("python", "python"), ("../x", "_x"), ("a b/c", "a_b_c"), ("..", "run"), ("é", "_")]
        {
            assert_eq!(safe_name(name), safe);
        }
    }

    #[test]
    fn same_second_different_directories() {
        let root = tempfile::tempdir().unwrap();
        let made: std::collections::HashSet<_> = (0..20).map(|_| create(root.path(), "x").unwrap()).collect();
        assert_eq!(made.len(), 20);
        assert_eq!(std::fs::read_to_string(root.path().join(".gitignore")).unwrap(), "*\n");
    }

    #[test]
    fn one_holder_at_a_time() {
        let run = tempfile::tempdir().unwrap();
        let held = lock(run.path()).unwrap();
        assert!(held.is_some());
        assert!(lock(run.path()).unwrap().is_none());
        drop(held);
        assert!(lock(run.path()).unwrap().is_some());
    }

    #[test]
    fn let_go_while_a_child_is_being_started() {
        let run = tempfile::tempdir().unwrap();
        let held = lock(run.path()).unwrap().unwrap();
        let of_a_child = held.0.try_clone().unwrap();
        drop(held);
        assert!(lock(run.path()).unwrap().is_some());
        drop(of_a_child);
    }
}
