//! Where nsys may be.

use std::path::PathBuf;

use crate::expand::expand;

/// What names a place, in the order in which places count.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// `RANGEFINDER_NSYS`, or the configuration: the user's own choice, and the only one.
    pub chosen: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// `/`, or where a test has put another.
    pub root: PathBuf,
}

/// Every nsys there is, the user's choice alone if there is one. Real paths, each once.
pub fn find(places: &Places) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut add = |path: PathBuf| {
        if let Ok(real) = path.canonicalize()
            && real.is_file()
            && !found.contains(&real)
        {
            found.push(real);
        }
    };
    if let Some(chosen) = &places.chosen {
        add(if chosen.is_dir() { chosen.join("nsys") } else { chosen.clone() });
        return found;
    }
    places.path.iter().for_each(|folder| add(folder.join("nsys")));
    // Newest names last in the order of text, so backwards.
    for pattern in [
        "opt/nvidia/nsight-systems*/*/bin/nsys",
        "opt/nvidia/nsight-systems*/*/target-linux-x64/nsys",
        "opt/nvidia/nsight-systems*/bin/nsys",
        "usr/local/cuda*/bin/nsys",
        "usr/lib/nsight-systems/bin/nsys",
        "opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys",
        "usr/local/cuda*/nsight-compute-*/host/target-linux-x64/nsys",
        "usr/lib/nsight-compute/host/target-linux-x64/nsys",
    ] {
        let mut matches = expand(&places.root, pattern);
        matches.sort();
        matches.into_iter().rev().for_each(&mut add);
    }
    found
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
