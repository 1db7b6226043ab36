//! Each table is declared once: its columns are written in one file, whatever the forms it is told in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Of the kernels' table.
const TITLES: [&str; 10] =
    ["share", "total", "calls", "mean", "median", "min", "max", "std", "family", "kernel"];

/// Those that no table of other things has together.
const OWN: [&str; 4] = ["median", "std", "family", "kernel"];

/// Every source file of ours that could write a table, with its text.
fn sources() -> Vec<(PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<PathBuf> =
        ["report", "run", "rangefinder"].map(|room| crates.join(room).join("src")).into();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("rs" | "js" | "html") => {
                    let text = std::fs::read_to_string(&path).unwrap();
                    files.push((path, text));
                }
                _ => {}
            }
        }
    }
    assert!(files.len() > 100, "{}", files.len());
    files
}

/// As a text of the program's, or as a heading of Markdown or HTML.
fn titles_in(text: &str, titles: &[&str]) -> usize {
    let is_there = |title: &&&str| {
        [format!("\"{title}\""), format!("'{title}'"), format!("| {title} |"), format!(">{title}</th>")]
            .iter()
            .any(|form| text.contains(form))
    };
    titles.iter().filter(is_there).count()
}

#[test]
fn the_kernels_table() {
    let mut declared = Vec::new();
    for (path, text) in sources() {
        let in_tables = path.parent().is_some_and(|folder| folder.ends_with("report/src/tables"));
        if titles_in(&text, &TITLES) == TITLES.len() {
            declared.push(path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().to_owned());
        } else {
            // Calls and copies have the same statistics, each in a file of its own.
            let most = if in_tables { OWN.len() - 1 } else { 1 };
            let found = titles_in(&text, &OWN);
            assert!(found <= most, "{} writes {found} titles of the kernels' table", path.display());
        }
    }
    assert_eq!(declared, [Path::new("src/tables/kernels.rs")]);
}

/// No two files declare a table of the same name.
#[test]
fn every_table() {
    let mut tables: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for (path, text) in sources() {
        for part in text.split("Table::new(").skip(1) {
            let id = part.split('"').nth(1).unwrap_or_default().to_owned();
            tables.entry(id).or_default().push(path.clone());
        }
    }
    assert!(tables.len() > 15, "{tables:?}");
    let twice: Vec<_> = tables.iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(tables.values().flatten().all(|path| path.to_string_lossy().contains("report/src/tables/")));
}
