//! What a change can break: the packages that it is in, and all that depend on them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{cargo, root};

/// Folders that are no package, and the package whose tests read them.
const READ_BY: [(&str, &str); 9] = [
    ("crates/tracer/", "rangefinder"),
    ("python/", "rangefinder"),
    ("presets/", "rangefinder-run"),
    ("docs/", "rangefinder"),
    ("README.md", "rangefinder"),
    ("ARCHITECTURE.md", "rangefinder"),
    ("CHANGELOG.md", "rangefinder"),
    ("CONTRIBUTING.md", "rangefinder"),
    ("deny.toml", "rangefinder"),
];

/// The packages that are tested.
#[derive(Debug, PartialEq, Eq)]
pub enum Selection {
    Everything,
    Packages(BTreeSet<String>),
    Nothing,
}

/// A package of the workspace.
#[derive(Debug)]
struct Package {
    /// Relative to the root, with a `/` at its end.
    folder: String,
    depends_on: BTreeSet<String>,
    has_library: bool,
}

impl Selection {
    /// By what differs from `revision`, committed or not.
    pub fn since(revision: &str) -> Result<Self> {
        let mut files = git(&["diff", "--name-only", revision])?;
        files.push_str(&git(&["ls-files", "--others", "--exclude-standard"])?);
        Ok(Self::of(files.lines(), &packages()?))
    }

    fn of<'f>(files: impl Iterator<Item = &'f str>, packages: &BTreeMap<String, Package>) -> Self {
        let mut found = BTreeSet::new();
        for file in files {
            let read_by = READ_BY.iter().find(|(folder, _)| file.starts_with(folder)).map(|(_, by)| *by);
            let lies_in = || {
                let inside = packages.iter().find(|(_, package)| file.starts_with(&package.folder));
                inside.map(|(name, _)| name.as_str())
            };
            match read_by.or_else(lies_in) {
                Some(name) => drop(found.insert(name.to_owned())),
                // It decides how everything is built.
                None => return Self::Everything,
            }
        }
        loop {
            let more = packages.iter().filter(|(name, package)| {
                !found.contains(*name) && package.depends_on.iter().any(|other| found.contains(other))
            });
            let more: Vec<String> = more.map(|(name, _)| name.clone()).collect();
            if more.is_empty() {
                break;
            }
            found.extend(more);
        }
        if found.is_empty() { Self::Nothing } else { Self::Packages(found) }
    }

    pub(super) fn has(&self, package: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Packages(names) => names.contains(package),
            Self::Nothing => false,
        }
    }

    /// As cargo and nextest want to be told.
    pub(super) fn packages(&self) -> Vec<String> {
        match self {
            Self::Packages(names) => {
                names.iter().flat_map(|name| ["--package".to_owned(), name.clone()]).collect()
            }
            Self::Everything | Self::Nothing => vec!["--workspace".to_owned()],
        }
    }

    /// Those of them that may have doctests.
    pub(super) fn packages_with_libraries(&self) -> Result<Vec<String>> {
        let Self::Packages(names) = self else { return Ok(self.packages()) };
        let packages = packages()?;
        let with = names.iter().filter(|name| packages.get(*name).is_some_and(|package| package.has_library));
        Ok(Self::Packages(with.cloned().collect()).packages())
    }
}

fn git(arguments: &[&str]) -> Result<String> {
    let output =
        Command::new("git").args(arguments).current_dir(root()).output().context("cannot start git")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "git {} failed: {}", arguments.join(" "), said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn packages() -> Result<BTreeMap<String, Package>> {
    let output = cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let root = metadata["workspace_root"].as_str().context("no root")?.to_owned() + "/";
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut packages = BTreeMap::new();
    for package in metadata["packages"].as_array().context("no packages")? {
        let manifest = text(&package["manifest_path"]);
        let folder = manifest.strip_prefix(&root).and_then(|path| path.strip_suffix("Cargo.toml"));
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let targets = package["targets"].as_array().into_iter().flatten();
        packages.insert(
            text(&package["name"]),
            Package {
                folder: folder.unwrap_or_default().to_owned(),
                depends_on: dependencies.map(|one| text(&one["name"])).collect(),
                has_library: targets.into_iter().any(|target| target["kind"][0] == "lib"),
            },
        );
    }
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> BTreeMap<String, Package> {
        let package = |folder: &str, on: &[&str]| Package {
            folder: folder.to_owned(),
            depends_on: on.iter().map(|name| (*name).to_owned()).collect(),
            has_library: true,
        };
        BTreeMap::from([
            ("rangefinder-nvtx".to_owned(), package("crates/nvtx/", &[])),
            ("rangefinder-trace".to_owned(), package("crates/trace/", &["rangefinder-nvtx"])),
            ("rangefinder".to_owned(), package("crates/rangefinder/", &["rangefinder-trace"])),
            ("xtask".to_owned(), package("xtask/", &[])),
        ])
    }

    fn of(files: &[&str]) -> Selection {
        Selection::of(files.iter().copied(), &made())
    }

    fn some(names: &[&str]) -> Selection {
        Selection::Packages(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn what_depends_on_a_change_is_tested() {
        assert_eq!(of(&["crates/trace/src/open.rs"]), some(&["rangefinder", "rangefinder-trace"]));
        assert_eq!(
            of(&["crates/nvtx/src/lib.rs"]),
            some(&["rangefinder", "rangefinder-nvtx", "rangefinder-trace"])
        );
        assert_eq!(of(&["docs/guide.md", "xtask/src/main.rs"]), some(&["rangefinder", "xtask"]));
        assert_eq!(of(&["crates/tracer/src/lib.rs"]), some(&["rangefinder"]));
    }

    #[test]
    fn what_is_in_no_package_may_break_everything() {
        assert_eq!(of(&["crates/nvtx/src/lib.rs", "Cargo.lock"]), Selection::Everything);
        assert_eq!(of(&[]), Selection::Nothing);
        assert_eq!(of(&[]).packages(), ["--workspace"]);
    }

    #[test]
    fn the_packages_of_this_workspace_are_known() {
        let packages = packages().unwrap();
        assert!(packages["rangefinder-trace"].depends_on.contains("rangefinder-nvtx"));
        assert_eq!(packages["xtask"].folder, "xtask/");
        // Whoever reads a folder is there to be tested.
        assert!(READ_BY.iter().all(|(_, by)| packages.contains_key(*by)));
    }
}
