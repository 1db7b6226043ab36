//! Where ncu may be.

use std::path::PathBuf;

use crate::find::Places;

const PATTERNS: [&str; 5] = [
    "opt/nvidia/nsight-compute/*/ncu",
    "usr/local/cuda*/bin/ncu",
    "usr/local/cuda*/nsight-compute-*/ncu",
    "usr/lib/nsight-compute/ncu",
    "usr/lib/x86_64-linux-gnu/nsight-compute/target/*/ncu",
];

/// Every installed ncu, or only the user's choice if there is one.
pub(super) fn find(places: &Places) -> Vec<PathBuf> {
    places.find("ncu", &PATTERNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_first() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let make = |path: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        };
        let (old, new) =
            (make("opt/nvidia/nsight-compute/2023.1.0/ncu"), make("opt/nvidia/nsight-compute/2025.3.1/ncu"));
        let script = make("usr/local/cuda-13.0/bin/ncu");
        let places = Places { root, ..Places::default() };
        assert_eq!(find(&places), [new, old, script]);
    }
}
