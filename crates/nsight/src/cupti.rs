//! Where libcupti may be: the tracer opens it inside the workload.

use std::path::{Path, PathBuf};

use crate::expand::expand;

/// What may point to it.
#[derive(Debug, Clone, Default)]
pub struct CuptiPlaces {
    /// The workload's Python, whose packages include one: PyTorch then uses the same.
    pub python: Option<PathBuf>,
    /// `/`, or a test's own root.
    pub root: PathBuf,
}

/// Package folders below a Python's prefix.
const PACKAGES: [&str; 4] = [
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "lib/python3*/dist-packages",
    "local/lib/python3*/dist-packages",
];
const IN_PACKAGES: [&str; 2] = ["nvidia/cu*/lib", "nvidia/cuda_cupti/lib"];
const IN_SYSTEM: [&str; 4] = [
    "usr/local/lib/python3*/dist-packages/nvidia/cu*/lib",
    "usr/local/cuda*/extras/CUPTI/lib64",
    "usr/local/cuda*/targets/x86_64-linux/lib",
    "usr/lib/x86_64-linux-gnu",
];

/// The library that fits the driver, whose newest CUDA is `cuda` (`13.0`): the same major version, or the
/// newest older one. The workload's own packages come first.
pub fn find_cupti(places: &CuptiPlaces, cuda: &str) -> Option<PathBuf> {
    let driver: u32 = cuda.split('.').next()?.parse().ok()?;
    let (mut own, mut system) = (Vec::new(), Vec::new());
    // `…/bin/python` of a virtual environment or of the system.
    for prefix in places.python.iter().filter_map(|python| python.parent()?.parent()) {
        for packages in PACKAGES.iter().flat_map(|pattern| expand(prefix, pattern)) {
            own.extend(IN_PACKAGES.iter().flat_map(|pattern| expand(&packages, pattern)));
        }
        // Conda keeps its libraries there.
        own.push(prefix.join("lib"));
    }
    for pattern in IN_SYSTEM {
        let mut found = expand(&places.root, pattern);
        found.sort();
        system.extend(found.into_iter().rev());
    }
    // An older one of the workload's own is better than loading a second one.
    newest(&own, driver).or_else(|| newest(&system, driver))
}

fn newest(folders: &[PathBuf], driver: u32) -> Option<PathBuf> {
    let mut best: Option<(u32, PathBuf)> = None;
    for (major, path) in folders.iter().flat_map(|folder| libraries(folder)) {
        if major <= driver && best.as_ref().is_none_or(|(other, _)| major > *other) {
            best = Some((major, path));
        }
    }
    best.map(|(_, path)| path)
}

/// `libcupti.so.13`, with its major version.
fn libraries(folder: &Path) -> Vec<(u32, PathBuf)> {
    let major = |path: &Path| -> Option<u32> {
        let version = path.file_name()?.to_str()?.strip_prefix("libcupti.so.")?;
        version.split('.').next()?.parse().ok()
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let major = major(&entry.path())?;
            // The file is named by its year since 2021: `libcupti.so.2025.3.1`.
            (major < 1000).then(|| (major, entry.path()))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_fits_the_driver() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let make = |path: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        };
        let old = make("usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12");
        let system = make("usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13");
        make("usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.2025.3.1");
        let torch = make("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13");
        let mut places = CuptiPlaces { python: None, root: root.to_owned() };
        assert_eq!(find_cupti(&places, "13.0"), Some(system));
        assert_eq!(find_cupti(&places, "12.8"), Some(old));
        assert_eq!(find_cupti(&places, "11.8"), None);
        places.python = Some(root.join("venv/bin/python"));
        assert_eq!(find_cupti(&places, "13.0"), Some(torch));
        assert_eq!(find_cupti(&places, "what"), None);
        let older = make("old/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12");
        places.python = Some(root.join("old/bin/python"));
        assert_eq!(find_cupti(&places, "13.0"), Some(older));
    }
}
