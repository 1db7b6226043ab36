//! Whether a process is a Python, which one, and where its runtime is.

use std::path::{Path, PathBuf};

use super::super::elf::Elf;
use super::super::maps::{Mapping, mappings};
use super::layout::Version;

/// An interpreter in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Where the runtime is.
    pub runtime: u64,
    /// The version that its file or its name tells; a newer runtime tells it itself.
    pub version: Option<Version>,
    /// Where the version is in memory, from 3.11 on.
    pub version_at: Option<u64>,
}

/// The interpreter of a process, if it has one.
pub fn find(pid: u32) -> Option<Found> {
    find_in(pid, &mappings(pid).ok()?)
}

/// Looks into the executable and into files that have Python's name.
pub(crate) fn find_in(pid: u32, mappings: &[Mapping]) -> Option<Found> {
    let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let executable = executable.to_string_lossy();
    let mut seen: Vec<&str> = Vec::new();
    // A library goes before the program that it was linked into.
    for library in [true, false] {
        for mapping in mappings {
            let name = mapping.file_name();
            let wanted = if library {
                name.starts_with("libpython3")
            } else {
                name.starts_with("python") || mapping.path == *executable
            };
            if !wanted || seen.contains(&mapping.path.as_str()) {
                continue;
            }
            seen.push(&mapping.path);
            let exe = (mapping.path == *executable).then(|| PathBuf::from(format!("/proc/{pid}/exe")));
            let path = exe.unwrap_or_else(|| PathBuf::from(format!("/proc/{pid}/root{}", mapping.path)));
            if let Some(found) = look_into(&path, mapping) {
                let version = version_in_name(name).or_else(|| version_of_modules(mappings));
                return Some(Found { version, ..found });
            }
        }
    }
    None
}

/// An interpreter of Python that is not CPython keeps its stacks in its own way.
pub(crate) fn other_python(mappings: &[Mapping]) -> Option<&'static str> {
    let is_named = |mapping: &Mapping, start: &str| mapping.file_name().starts_with(start);
    let kinds = [("pypy", "PyPy"), ("libpypy", "PyPy"), ("graalpy", "GraalPy"), ("libpythonvm", "GraalPy")];
    let found = |(start, _): &&(&str, &str)| {
        mappings.iter().any(|mapping| mapping.executable && is_named(mapping, start))
    };
    kinds.iter().find(found).map(|(_, name)| *name)
}

fn look_into(path: &Path, mapping: &Mapping) -> Option<Found> {
    let elf = Elf::open(path).ok()?;
    let bias = elf.bias(mapping.start, mapping.offset)?;
    let (mut runtime, mut version) = (None, None);
    elf.symbols(|symbol| match symbol.name {
        b"_PyRuntime" => runtime = Some(symbol.address),
        b"Py_Version" => version = Some(symbol.address),
        _ => {}
    });
    let runtime = runtime.or_else(|| elf.section(".PyRuntime"))?;
    Some(Found {
        runtime: runtime.wrapping_add(bias),
        version: None,
        version_at: version.map(|at| at.wrapping_add(bias)),
    })
}

/// `libpython3.11.so.1.0`, `python3.9`
fn version_in_name(name: &str) -> Option<Version> {
    let digits = name.split("python3.").nth(1)?;
    let digits = digits.split(|letter: char| !letter.is_ascii_digit()).next()?;
    Some(Version::new(3, digits.parse().ok()?))
}

/// Extension modules have the version in their names: `_ssl.cpython-39-x86_64-linux-gnu.so`.
fn version_of_modules(mappings: &[Mapping]) -> Option<Version> {
    mappings.iter().find_map(|mapping| {
        let digits = mapping.file_name().split(".cpython-3").nth(1)?;
        let digits = digits.split(|letter: char| !letter.is_ascii_digit()).next()?;
        Some(Version::new(3, digits.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_interpreters() {
        let mapped = |name: &str, executable: bool| {
            let path = format!("/opt/bin/{name}");
            let file = "fe:00 7".to_owned();
            [Mapping { start: 0, end: 1, offset: 0, executable, file, path }]
        };
        assert_eq!(other_python(&mapped("pypy3.10", true)), Some("PyPy"));
        assert_eq!(other_python(&mapped("libpypy3.10-c.so", true)), Some("PyPy"));
        assert_eq!(other_python(&mapped("pypy.txt", false)), None);
        assert_eq!(other_python(&mapped("python3.11", true)), None);
    }

    #[test]
    fn versions_in_names() {
        assert_eq!(version_in_name("libpython3.11.so.1.0"), Some(Version::new(3, 11)));
        assert_eq!(version_in_name("python3.8"), Some(Version::new(3, 8)));
        assert_eq!(version_in_name("python3"), None);
        assert_eq!(version_in_name("python3.x"), None);
    }
}
