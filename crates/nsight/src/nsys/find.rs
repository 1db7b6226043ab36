//! Where nsys may be.

use std::path::PathBuf;

use crate::find::Places;

const PATTERNS: [&str; 8] = [
    "opt/nvidia/nsight-systems*/*/bin/nsys",
    "opt/nvidia/nsight-systems*/*/target-linux-x64/nsys",
    "opt/nvidia/nsight-systems*/bin/nsys",
    "usr/local/cuda*/bin/nsys",
    "usr/lib/nsight-systems/bin/nsys",
    "opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys",
    "usr/local/cuda*/nsight-compute-*/host/target-linux-x64/nsys",
    "usr/lib/nsight-compute/host/target-linux-x64/nsys",
];

/// Every installed nsys, or only the user's choice if there is one.
pub(super) fn find(places: &Places) -> Vec<PathBuf> {
    places.find("nsys", &PATTERNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_and_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let make = |path: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        };
        let old = make("opt/nvidia/nsight-systems/2023.1.1/bin/nsys");
        let new = make("opt/nvidia/nsight-systems/2025.3.1/bin/nsys");
        let inside = make("opt/nvidia/nsight-compute/2025.3.1/host/target-linux-x64/nsys");
        let on_path = make("somewhere/nsys");
        std::fs::create_dir_all(root.join("usr/local/cuda-13/bin")).unwrap();
        std::os::unix::fs::symlink(&new, root.join("usr/local/cuda-13/bin/nsys")).unwrap();
        let mut places = Places { chosen: None, path: vec![root.join("somewhere")], root: root.clone() };
        assert_eq!(find(&places), [on_path, new, old, inside.clone()]);
        places.chosen = Some(inside.parent().unwrap().to_owned());
        assert_eq!(find(&places), [inside]);
        places.chosen = Some(root.join("nowhere"));
        assert_eq!(find(&places), Vec::<PathBuf>::new());
    }
}
