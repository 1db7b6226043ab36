//! The licenses of the crates in the binary: most require that their text is included.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell::{cargo, quietly};

/// Crates that are linked into `package` for `target`, ours left out, with the texts of their licences.
pub fn licences(package: &str, target: &str) -> Result<String> {
    let tree = quietly(cargo().args(["tree", "--locked", "--package", package, "--target", target]).args([
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--no-dedupe",
        "--format",
        "{p}",
    ]))?;
    let metadata = quietly(cargo().args([
        "metadata",
        "--locked",
        "--format-version",
        "1",
        "--filter-platform",
        target,
    ]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let mut linked: Vec<(&str, &str)> = tree.lines().filter_map(name_and_version).collect();
    linked.sort_unstable();
    linked.dedup();
    let mut text = "Rangefinder contains these crates.\n".to_owned();
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    for package in packages {
        let field = |name: &str| package[name].as_str().unwrap_or_default();
        // What has no source is ours.
        if package["source"].is_null() || !linked.contains(&(field("name"), field("version"))) {
            continue;
        }
        let (name, version, licence) = (field("name"), field("version"), field("license"));
        write!(text, "\n{}\n{name} {version}: {licence}\n{}\n", "=".repeat(78), field("repository"))?;
        let folder = Path::new(field("manifest_path")).parent().context("a package without a folder")?;
        for file in licence_files(folder, licence)? {
            write!(text, "\n{}\n", fs_err::read_to_string(file)?.trim())?;
        }
    }
    Ok(text)
}

/// `serde v1.0.229 (proc-macro)`
fn name_and_version(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split(' ');
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

/// If there is a choice of licenses, MIT is used.
fn licence_files(folder: &Path, licence: &str) -> Result<Vec<PathBuf>> {
    let mut files: Vec<_> = fs_err::read_dir(folder)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().to_uppercase()).unwrap_or_default();
            ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|start| name.starts_with(start))
                && path.is_file()
        })
        .collect();
    files.sort();
    let mit: Vec<_> =
        files.iter().filter(|path| path.to_string_lossy().to_uppercase().ends_with("MIT")).cloned().collect();
    Ok(if mit.is_empty() || licence.contains(" AND ") { files } else { mit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cargo_tree() {
        assert_eq!(name_and_version("serde v1.0.229"), Some(("serde", "1.0.229")));
        assert_eq!(name_and_version("clap_derive v4.6.0 (proc-macro)"), Some(("clap_derive", "4.6.0")));
        assert_eq!(name_and_version(""), None);
    }
}
