//! Paths that match a pattern.

use std::path::{Path, PathBuf};

/// Paths below `root` that match a pattern whose parts may be or end in `*`.
pub(crate) fn expand(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut paths = vec![root.to_owned()];
    for part in pattern.split('/') {
        let Some((start, end)) = part.split_once('*') else {
            paths = paths.into_iter().map(|path| path.join(part)).collect();
            continue;
        };
        paths = paths
            .into_iter()
            .flat_map(|path| std::fs::read_dir(path).into_iter().flatten().flatten())
            .filter(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                name.starts_with(start) && name.ends_with(end) && name.len() >= start.len() + end.len()
            })
            .map(|entry| entry.path())
            .collect();
    }
    paths.retain(|path| path.exists());
    paths
}
