//! The embedded Python helper: written into each run, so that nothing needs installing. It stays there, so
//! that the command of a pass can be run again.

use std::io;
use std::path::{Path, PathBuf};

/// `python/rangefinder`, file by file.
const FILES: [(&str, &str); 20] = [
    ("__init__.py", include_str!("../../../python/rangefinder/__init__.py")),
    ("__main__.py", include_str!("../../../python/rangefinder/__main__.py")),
    ("auto.py", include_str!("../../../python/rangefinder/auto.py")),
    ("block.py", include_str!("../../../python/rangefinder/block.py")),
    ("clients.py", include_str!("../../../python/rangefinder/clients.py")),
    ("exits.py", include_str!("../../../python/rangefinder/exits.py")),
    ("imports.py", include_str!("../../../python/rangefinder/imports.py")),
    ("injection.py", include_str!("../../../python/rangefinder/injection.py")),
    ("look.py", include_str!("../../../python/rangefinder/look.py")),
    ("mcp.py", include_str!("../../../python/rangefinder/mcp.py")),
    ("modules.py", include_str!("../../../python/rangefinder/modules.py")),
    ("program.py", include_str!("../../../python/rangefinder/program.py")),
    ("ranges.py", include_str!("../../../python/rangefinder/ranges.py")),
    ("reports.py", include_str!("../../../python/rangefinder/reports.py")),
    ("serving.py", include_str!("../../../python/rangefinder/serving.py")),
    ("site/__init__.py", include_str!("../../../python/rangefinder/site/__init__.py")),
    ("site/sitecustomize.py", include_str!("../../../python/rangefinder/site/sitecustomize.py")),
    ("stage1.py", include_str!("../../../python/rangefinder/stage1.py")),
    ("tables.py", include_str!("../../../python/rangefinder/tables.py")),
    ("voice.py", include_str!("../../../python/rangefinder/voice.py")),
];

/// In a run.
pub(crate) const FOLDER: &str = "python";

/// Puts the helper below a folder.
pub(crate) fn place(folder: &Path) -> io::Result<()> {
    let package = package(folder);
    std::fs::create_dir_all(package.join("site"))?;
    FILES.iter().try_for_each(|(name, text)| std::fs::write(package.join(name), text))
}

/// `PYTHONPATH` with the helper appended, so that an installed one wins; and prepended, the code that
/// Python runs at startup, if the program is to be instrumented.
pub(crate) fn python_path(folder: &Path, before: Option<&str>, prepared: bool) -> String {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let site = prepared.then(|| text(package(folder).join("site")));
    let before = before.filter(|path| !path.is_empty()).map(str::to_owned);
    let all = site.into_iter().chain(before).chain([text(folder.to_owned())]);
    all.collect::<Vec<_>>().join(":")
}

fn package(folder: &Path) -> PathBuf {
    folder.join("rangefinder")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file of the package is carried along, and no other.
    #[test]
    fn the_whole_package() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/rangefinder");
        let mut found = Vec::new();
        for folder in ["", "site"] {
            for entry in std::fs::read_dir(package.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "py") {
                    found.push(path.strip_prefix(&package).unwrap().to_string_lossy().into_owned());
                }
            }
        }
        found.sort();
        assert_eq!(found, FILES.map(|(name, _)| name));
    }

    #[test]
    fn a_path() {
        let folder = Path::new("/r/python");
        assert_eq!(python_path(folder, None, false), "/r/python");
        assert_eq!(python_path(folder, Some(""), true), "/r/python/rangefinder/site:/r/python");
        assert_eq!(python_path(folder, Some("/a:/b"), true), "/r/python/rangefinder/site:/a:/b:/r/python");
    }
}
