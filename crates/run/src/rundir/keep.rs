//! `run.keep=N`: removes older finished runs of the same name.
//!
//! Only what a run's own manifest lists is removed, and a folder only once it is
//! empty: a file that someone put there survives, and so does its folder.

use std::path::{Path, PathBuf};

use record::{Artifact, MANIFEST, Manifest, RunStatus};

use super::artifacts::OWN_FOLDERS;
use super::create::lock;
use super::manifest::read_manifest;

/// What became of an older run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub run: PathBuf,
    /// It still has files that are not in its manifest.
    pub not_ours: bool,
}

/// Removes all but the newest `keep` finished runs called `name` below `root`.
pub fn remove_older(root: &Path, name: &str, keep: u32) -> Vec<Kept> {
    let mut runs: Vec<(String, PathBuf, Manifest)> = Vec::new();
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let Ok(manifest) = read_manifest(&path) else { continue };
        let same_folder = path.file_name().and_then(|name| name.to_str()) == Some(manifest.id.as_str());
        if is_folder && same_folder && manifest.name == name && manifest.status == RunStatus::Finished {
            runs.push((manifest.created.clone(), path, manifest));
        }
    }
    runs.sort_by(|a, b| (&b.0, &b.1).cmp(&(&a.0, &a.1)));
    let old = runs.into_iter().skip(keep as usize);
    old.filter_map(|(_, run, manifest)| {
        // It may be in use by `resume` right now.
        let _held = lock(&run).ok().flatten()?;
        Some(remove(run, &manifest.artifacts))
    })
    .collect()
}

fn remove(run: PathBuf, artifacts: &[Artifact]) -> Kept {
    for artifact in artifacts {
        let relative = Path::new(&artifact.path);
        let inside = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if inside && !through_a_link(&run, relative) {
            let _ = std::fs::remove_file(run.join(relative));
        }
    }
    // Never listed.
    for own in OWN_FOLDERS.map(|name| run.join(name)) {
        if !own.is_symlink() {
            let _ = std::fs::remove_dir_all(own);
        }
    }
    remove_empty_folders(&run);
    let foreign = std::fs::read_dir(&run).into_iter().flatten().flatten();
    let foreign = foreign.filter(|entry| !is_own(&entry.file_name().to_string_lossy())).count();
    if foreign == 0 {
        for own in [MANIFEST, ".lock", ".reserve"] {
            let _ = std::fs::remove_file(run.join(own));
        }
        let _ = std::fs::remove_dir(&run);
    }
    Kept { not_ours: run.exists(), run }
}

fn is_own(name: &str) -> bool {
    [MANIFEST, ".lock", ".reserve"].contains(&name)
}

/// Whether a folder on the way is a link that could lead out of the run.
fn through_a_link(run: &Path, relative: &Path) -> bool {
    let folders = relative.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty());
    folders.into_iter().any(|folder| run.join(folder).is_symlink())
}

fn remove_empty_folders(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty_folders(&entry.path());
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}
