//! Where nsys keeps its importer, and a private copy of the layout if it is wrong.
//!
//! nsys resolves its own path and looks for `host-linux-x64` beside the folder it lies in.
//! Debian and Nsight Compute put that elsewhere. The installation is never written to:
//! `repair` makes a folder of our own in which everything lies where nsys looks.

use std::path::{Path, PathBuf};

const IMPORTER: &str = "QdstrmImporter";
const EXPECTED: &str = "host-linux-x64";

/// One nsys and its importer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The real path of the program.
    pub nsys: PathBuf,
    /// The folder of the importer, wherever it is.
    pub importer_folder: Option<PathBuf>,
    /// nsys finds it by itself.
    pub importer_in_place: bool,
}

impl Installation {
    /// `nsys` is a real path.
    pub fn of(nsys: &Path) -> Self {
        let target = nsys.parent().unwrap_or(Path::new("/"));
        let beside = target.parent().unwrap_or(Path::new("/"));
        // …/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64 and …/lib/nsight-systems.
        let debian = beside.parent().and_then(Path::parent).map(|lib| lib.join("nsight-systems"));
        let mut candidates = vec![beside.join(EXPECTED)];
        candidates.extend(debian.map(|folder| folder.join(EXPECTED)));
        // `bin/nsys` of NVIDIA's packages is a script or a link beside the folders.
        candidates.push(target.join(EXPECTED));
        candidates.extend(siblings(beside));
        let importer_folder = candidates.iter().find(|folder| folder.join(IMPORTER).is_file()).cloned();
        let importer_in_place = beside.join(EXPECTED).join(IMPORTER).is_file()
            || target.file_name().is_some_and(|name| name == "bin") && importer_folder.is_some();
        Self { nsys: nsys.to_owned(), importer_folder, importer_in_place }
    }

    pub fn importer(&self) -> Option<PathBuf> {
        self.importer_folder.as_ref().map(|folder| folder.join(IMPORTER))
    }

    /// Builds a correct layout in a private folder, and returns the nsys in it. The program is hard-linked
    /// or copied, because it resolves its path; the rest is symlinked.
    pub fn repair(&self, folder: &Path) -> std::io::Result<PathBuf> {
        let target = self.nsys.parent().unwrap_or(Path::new("/"));
        let name = target.file_name().unwrap_or_default();
        let private = folder.join(name);
        std::fs::create_dir_all(&private)?;
        for entry in std::fs::read_dir(target)? {
            let entry = entry?;
            let place = private.join(entry.file_name());
            if place.symlink_metadata().is_ok() {
                continue;
            }
            if entry.path() != self.nsys {
                std::os::unix::fs::symlink(entry.path(), place)?;
            } else if std::fs::hard_link(&self.nsys, &place).is_err() {
                std::fs::copy(&self.nsys, &place)?;
            }
        }
        if let Some(importer) = &self.importer_folder {
            let place = folder.join(EXPECTED);
            if place.symlink_metadata().is_err() {
                std::os::unix::fs::symlink(importer, place)?;
            }
        }
        Ok(private.join("nsys"))
    }
}

/// Nsight Compute calls it `linux-desktop-glibc_2_11_3-x64`.
fn siblings(folder: &Path) -> Vec<PathBuf> {
    let mut siblings: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    siblings.sort();
    siblings
}

/// `…: error while loading shared libraries: libdw.so.1: cannot open shared object file`
pub(super) fn missing_library(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("error while loading shared libraries: ")?;
    rest.split(':').next().map(str::trim).filter(|name| !name.is_empty())
}

/// Where `wanted` is found in these folders: the library itself, or one of its versions
/// (`libssh.so.4` for `libssh.so`).
pub(super) fn find_library(wanted: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    folders.iter().find_map(|folder| {
        let exact = folder.join(wanted);
        if exact.exists() {
            return Some(exact);
        }
        let mut versions: Vec<PathBuf> = std::fs::read_dir(folder)
            .ok()?
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("{wanted}.")))
            .map(|entry| entry.path())
            .collect();
        versions.sort();
        versions.pop()
    })
}

/// What to install for a library on Debian and Ubuntu.
pub fn package_of(library: &str) -> Option<&'static str> {
    let packages = [
        ("libdw.so", "libdw1"),
        ("libelf.so", "libelf1"),
        ("libbz2.so", "libbz2-1.0"),
        ("libssh.so", "libssh-4"),
        ("libgssapi_krb5.so", "libgssapi-krb5-2"),
        ("libkrb5.so", "libkrb5-3"),
        ("libGL.so", "libgl1"),
        ("libdbus-1.so", "libdbus-1-3"),
        ("libxcb", "libxcb1"),
        ("libX11", "libx11-6"),
        ("libglib-2.0.so", "libglib2.0-0"),
        ("libnss3.so", "libnss3"),
    ];
    packages.into_iter().find(|(start, _)| library.starts_with(start)).map(|(_, package)| package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let make = |path: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "x").unwrap();
            path
        };
        let debian = make("d/usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64/nsys");
        make("d/usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64/libToolsInjection64.so");
        let importer = make("d/usr/lib/nsight-systems/host-linux-x64/QdstrmImporter");
        let found = Installation::of(&debian);
        assert_eq!((found.importer(), found.importer_in_place), (Some(importer), false));
        let compute = make("c/host/target-linux-x64/nsys");
        let importer = make("c/host/linux-desktop-glibc_2_11_3-x64/QdstrmImporter");
        let other = Installation::of(&compute);
        assert_eq!((other.importer(), other.importer_in_place), (Some(importer), false));
        let private = found.repair(&root.join("private")).unwrap();
        assert!(!private.is_symlink() && Installation::of(&private).importer_in_place);
        assert!(private.with_file_name("libToolsInjection64.so").is_symlink());
        // Twice is as good as once.
        assert_eq!(found.repair(&root.join("private")).unwrap(), private);
    }

    #[test]
    fn libraries() {
        let text = "/opt/x/QdstrmImporter: error while loading shared libraries: libdw.so.1: cannot open \
        shared object file: No such file or directory";
        assert_eq!(missing_library(text), Some("libdw.so.1"));
        assert_eq!(missing_library("fine"), None);
        assert_eq!(package_of("libdw.so.1"), Some("libdw1"));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libssh.so.4"), "").unwrap();
        let folders = [folder.path().to_owned()];
        assert_eq!(find_library("libssh.so", &folders), Some(folder.path().join("libssh.so.4")));
        assert_eq!(find_library("libdw.so.1", &folders), None);
    }
}
