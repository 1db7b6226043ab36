//! The house itself: rooms in order, no circles, types where words were compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use record::{Cause, Outcome, StepStatus};
use regex::Regex;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rooms in the order in which data flows, as ARCHITECTURE.md lists them.
fn rooms() -> Vec<String> {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let row = Regex::new(r"(?m)^\| `crates/(\w+)` \|").unwrap();
    row.captures_iter(&map).map(|found| found[1].to_owned()).collect()
}

/// Every source file of a room, without its unit tests.
fn sources(room: &str) -> Vec<(PathBuf, String)> {
    let folder = root().join("crates").join(room).join("src");
    let mut found = Vec::new();
    let mut folders = vec![folder.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                found.push((path, code.to_owned()));
            }
        }
    }
    found.into_iter().map(|(path, text)| (path.strip_prefix(&folder).unwrap().to_owned(), text)).collect()
}

#[test]
fn a_room_knows_only_rooms_to_its_left() {
    let rooms = rooms();
    let entries = std::fs::read_dir(root().join("crates")).unwrap().flatten();
    let mut there: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let mut listed = rooms.clone();
    there.sort();
    listed.sort();
    assert_eq!(there, listed, "ARCHITECTURE.md lists every room, once");
    for (at, room) in rooms.iter().enumerate() {
        let manifest = root().join("crates").join(room).join("Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        for line in dependencies.lines() {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if let Some(place) = rooms.iter().position(|other| other == name) {
                assert!(place < at, "{room} knows {name}, which is to its right");
            }
        }
    }
}

type Module = Vec<String>;

/// `a::{b, c::{d, e}}` → `a::b`, `a::c::d`, `a::c::e`
fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.trim().to_owned()] };
    let inside = rest.strip_suffix('}').unwrap_or(rest);
    let (mut parts, mut part, mut depth) = (Vec::new(), String::new(), 0);
    for letter in inside.chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        if letter == ',' && depth == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(letter);
        }
    }
    parts.push(part);
    let whole = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    whole.flat_map(|part| expanded(&format!("{before}{part}"))).collect()
}

/// The files of a room, and for each the files it takes names from.
fn imports(room: &str) -> BTreeMap<Module, BTreeSet<Module>> {
    let files: BTreeMap<Module, String> = sources(room)
        .into_iter()
        .map(|(path, text)| {
            let path = path.with_extension("");
            let mut module: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
                module.pop();
            }
            (module, text)
        })
        .collect();
    let comment = Regex::new(r"//[^\n]*|pub\(in [^)]*\)").unwrap();
    let import = Regex::new(r"\buse\s+([^;]+);").unwrap();
    let inline = Regex::new(r"\b(?:crate|super)(?:::\w+)+").unwrap();
    let mut graph = BTreeMap::new();
    for (module, text) in &files {
        let text = comment.replace_all(text, "");
        let mut paths: Vec<String> =
            import.captures_iter(&text).flat_map(|found| expanded(&found[1].replace('\n', " "))).collect();
        let code = import.replace_all(&text, "");
        paths.extend(inline.find_iter(&code).map(|found| found.as_str().to_owned()));
        let targets = paths.iter().filter_map(|path| target(path, module, &files));
        graph.insert(module.clone(), targets.filter(|target| target != module).collect());
    }
    graph
}

/// The file that a path leads to, if it is one of the room's own.
fn target(path: &str, from: &Module, files: &BTreeMap<Module, String>) -> Option<Module> {
    let mut parts = path.split("::").map(str::trim).peekable();
    let mut here = match *parts.peek()? {
        "crate" => Vec::new(),
        "super" | "self" => from.clone(),
        first => {
            let mut child = from.clone();
            child.push(first.to_owned());
            files.contains_key(&child).then(|| from.clone())?
        }
    };
    for part in parts {
        match part {
            "crate" | "self" => {}
            "super" => drop(here.pop()),
            name => {
                here.push(name.to_owned());
                if !files.contains_key(&here) {
                    here.pop();
                    break;
                }
            }
        }
    }
    files.contains_key(&here).then_some(here)
}

/// Whether a file can be reached from itself, and how.
fn way_back(start: &Module, graph: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<Module>> {
    let mut ways = vec![vec![start.clone()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for next in &graph[way.last()?] {
            let mut longer = way.clone();
            longer.push(next.clone());
            if next == start {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push(longer);
            }
        }
    }
    None
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for room in rooms() {
        let graph = imports(&room);
        assert!(graph.values().any(|targets| !targets.is_empty()) || graph.len() < 3, "{room}: no imports");
        let circle = graph.keys().find_map(|module| way_back(module, &graph));
        let named =
            circle.map(|way| way.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(" → "));
        assert_eq!(named, None, "{room}");
    }
}

#[test]
fn imports_are_found() {
    assert_eq!(expanded("a::{b, c::{d, e as f}}"), ["a::b", "a::c::d", "a::c::e as f"]);
    let files: BTreeMap<Module, String> =
        [vec![], vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()]]
            .map(|key| (key, String::new()))
            .into();
    let module = |path: &str, from: &[&str]| {
        let from: Module = from.iter().map(|part| (*part).to_owned()).collect();
        target(path, &from, &files).map(|found| found.join("::"))
    };
    assert_eq!(module("super::Thing", &["a", "b"]).as_deref(), Some("a"));
    assert_eq!(module("crate::a::b::Thing", &[]).as_deref(), Some("a::b"));
    assert_eq!(module("b::Thing", &["a"]).as_deref(), Some("a::b"));
    assert_eq!(module("std::io", &["a"]), None);
}

/// An outcome, cause or status that is compared as a word would go unnoticed when its name changes.
#[test]
fn outcomes_are_compared_as_values() {
    let words: Vec<&str> = Outcome::ALL
        .iter()
        .map(|outcome| outcome.as_str())
        .chain(StepStatus::ALL.iter().map(|status| status.as_str()))
        .chain(Cause::ALL.iter().map(|cause| cause.as_str()))
        .collect();
    let words = words.join("|");
    let compared = Regex::new(&format!(r#"[=!]=\s*"({words})"|"({words})"\s*(=>|\|)"#)).unwrap();
    assert!(compared.is_match(r#"if status == "done" {"#) && compared.is_match(r#""no-gpu" => 1"#));
    for room in rooms().iter().filter(|room| *room != "record") {
        for (path, text) in sources(room) {
            let found = compared.find(&text).map(|found| found.as_str());
            assert_eq!(found, None, "crates/{room}/src/{}", path.display());
        }
    }
}

/// A step takes what it reads and returns what it made.
#[test]
fn nothing_changes_a_whole_run() {
    let mutable = Regex::new(r"&mut (Run|Setting|Scene|Recorded|Analyzed|Material)\b").unwrap();
    for (path, text) in sources("run") {
        let found = mutable.find(&text).map(|found| found.as_str());
        assert_eq!(found, None, "crates/run/src/{}", path.display());
    }
}

/// A snapshot whose test is gone, or has another name, checks nothing.
#[test]
fn every_snapshot_belongs_to_a_test() {
    let (mut code, mut snapshots) = (String::new(), Vec::new());
    let mut folders = vec![root().join("crates"), root().join("xtask")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() && !path.ends_with("target") => folders.push(path),
                Some("rs") => code.push_str(&std::fs::read_to_string(&path).unwrap()),
                Some("snap") => snapshots.push(path),
                _ => {}
            }
        }
    }
    assert!(!snapshots.is_empty());
    let numbered = Regex::new(r"-\d+$").unwrap();
    let orphans = snapshots.iter().filter(|path| {
        let stem = path.file_stem().unwrap().to_string_lossy();
        let name = stem.rsplit("__").next().unwrap();
        let test = numbered.replace(name, "");
        ![format!("\"{name}\""), format!("\"{test}\""), format!("fn {test}(")]
            .iter()
            .any(|named| code.contains(named))
    });
    assert_eq!(orphans.collect::<Vec<_>>(), Vec::<&PathBuf>::new());
}

/// A file of tests that the one program of its crate does not name would never run.
#[test]
fn every_file_of_tests_is_in_the_runner() {
    for room in rooms() {
        let folder = root().join("crates").join(&room).join("tests");
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let paths = entries.flatten().map(|entry| entry.path());
        let files: Vec<String> = paths
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "runner")
            .collect();
        let Ok(runner) = std::fs::read_to_string(folder.join("runner.rs")) else {
            assert!(files.len() <= 1, "crates/{room}/tests: one program each takes long to link");
            continue;
        };
        for file in files {
            assert!(runner.contains(&format!("mod {file};\n")), "crates/{room}/tests/{file}.rs");
        }
    }
}
