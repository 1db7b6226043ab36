//! The contents of a folder.

use std::path::{Path, PathBuf};

/// Deeper than traces are ever stored.
const DEEPEST: usize = 6;
/// A folder with more files is not a folder of traces.
const MOST: usize = 100_000;

/// The plain files of a folder.
#[derive(Debug, Default)]
pub struct Found {
    /// Sorted by name.
    pub files: Vec<PathBuf>,
    /// Pipes, sockets, devices and broken links.
    pub others: u64,
    /// Not everything was searched.
    pub cut_short: bool,
}

/// All files in a folder and its subfolders, except hidden ones and those that `enter` rejects. Links to
/// files are followed, links to folders are not: they may form loops.
pub fn files_in(folder: &Path, enter: impl Fn(&Path) -> bool) -> Found {
    let mut found = Found::default();
    walk(folder, 0, &enter, &mut found);
    found.files.sort();
    found
}

fn walk(folder: &Path, depth: usize, enter: &impl Fn(&Path) -> bool, found: &mut Found) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            match () {
                () if depth == DEEPEST => found.cut_short = true,
                () if enter(&path) => walk(&path, depth + 1, enter, found),
                () => {}
            }
            continue;
        }
        let file = kind.is_file() || (kind.is_symlink() && path.is_file());
        let folder = kind.is_symlink() && path.is_dir();
        match () {
            () if found.files.len() == MOST => {
                found.cut_short = true;
                return;
            }
            () if file => found.files.push(path),
            () => found.others += u64::from(!folder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["b/c", ".git", "not/here"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["z", "a", "b/c/d", ".git/x", "not/here/y"] {
            std::fs::write(at(name), "").unwrap();
        }
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        std::os::unix::fs::symlink(folder.path(), at("b/circle")).unwrap();
        std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("gone"), at("dangling")).unwrap();
        let found = files_in(folder.path(), |path| !path.ends_with("not"));
        assert_eq!(found.files, ["a", "b/c/d", "link", "z"].map(at));
        assert_eq!((found.others, found.cut_short), (2, false));
    }
}
