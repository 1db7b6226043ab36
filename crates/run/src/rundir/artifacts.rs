//! The files of a run, with sizes and hashes.

use std::collections::HashMap;
use std::path::Path;

use input::Input;
use process::KnownHash;
use record::{Artifact, MANIFEST};

/// The workload's `TMPDIR`, and the Python helper, to which Python adds its caches. Neither says anything
/// about the run.
pub(super) const OWN_FOLDERS: [&str; 2] = ["tmp", crate::helper::FOLDER];

const RAW_REPORTS: [&str; 5] = [".nsys-rep", ".qdrep", ".qdstrm", ".ncu-rep", ".sqlite.partial"];

/// By path relative to the run.
pub type KnownHashes = HashMap<String, KnownHash>;

/// All files of a run but the manifest itself and our own dot files.
pub fn list_artifacts(run: &Path, known: &KnownHashes) -> Vec<Artifact> {
    let mut found = Vec::new();
    walk(run, run, known, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn walk(run: &Path, folder: &Path, known: &KnownHashes, found: &mut Vec<Artifact>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(relative) = path.strip_prefix(run) else { continue };
        let name = relative.to_string_lossy().into_owned();
        let ours = folder == run
            && (name == MANIFEST || OWN_FOLDERS.contains(&name.as_str()) || name.starts_with('.'));
        let Ok(kind) = entry.file_type() else { continue };
        if ours {
            continue;
        }
        if kind.is_dir() {
            walk(run, &path, known, found);
            continue;
        }
        let metadata = entry.metadata().ok();
        let bytes = metadata.as_ref().map_or(0, std::fs::Metadata::len);
        // The file may have changed since.
        let known = known.get(&name).filter(|known| {
            let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
            known.bytes == bytes && Some(known.modified) == modified
        });
        let hash = || known.map(|known| known.blake3.clone()).or_else(|| hash(&path));
        let blake3 = kind.is_file().then(hash).flatten();
        let holds_environment = RAW_REPORTS.iter().any(|extension| name.ends_with(extension));
        found.push(Artifact { path: name, bytes, blake3, holds_environment });
    }
}

/// A workload may leave a sparse file of a terabyte, or replace a listed file with another.
const LARGEST_HASHED: u64 = 64 << 30;

/// None of what is not to be read through.
pub(crate) fn hash(path: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    let input = Input::open(path).ok()?;
    if input.length() > LARGEST_HASHED || input.has_large_hole() {
        return None;
    }
    let mut file = input.reader();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match std::io::Read::read(&mut file, &mut buffer) {
            Ok(0) => return Some(hasher.finalize().to_hex().to_string()),
            Ok(read) => {
                hasher.update(&buffer[..read]);
            }
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_files_and_leaves_links_unread() {
        let run = tempfile::tempdir().unwrap();
        std::fs::create_dir(run.path().join("nsys")).unwrap();
        std::fs::write(run.path().join("nsys/cmd.txt"), "abc").unwrap();
        std::fs::write(run.path().join(MANIFEST), "{}").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", run.path().join("link")).unwrap();
        let found = list_artifacts(run.path(), &KnownHashes::new());
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].path.as_str(), &found[0].blake3), ("link", &None));
        assert_eq!(found[1].blake3.as_deref(), Some(blake3::hash(b"abc").to_hex().as_str()));
    }

    /// A checkpoint that was only begun, and a pipe that nobody writes to.
    #[test]
    fn neither_waits_nor_goes_through_a_terabyte_of_nothing() {
        let run = tempfile::tempdir().unwrap();
        std::fs::File::create(run.path().join("sparse")).unwrap().set_len(1 << 40).unwrap();
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, run.path().join("pipe"), kind, 0o600.into(), 0).unwrap();
        let found = list_artifacts(run.path(), &KnownHashes::new());
        let said: Vec<_> =
            found.iter().map(|one| (one.path.as_str(), one.bytes, one.blake3.is_some())).collect();
        assert_eq!(said, [("pipe", 0, false), ("sparse", 1 << 40, false)]);
    }
}
