//! The map shows what is there.

use super::below;
use super::reference::root;

/// Every crate has a row, and every row is of something that is there.
#[test]
fn the_map_has_every_room() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rooms: Vec<&str> =
        map.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    for room in &rooms {
        assert!(root().join(room).is_dir(), "ARCHITECTURE.md: there is no `{room}`");
    }
    for entry in std::fs::read_dir(root().join("crates")).unwrap().flatten() {
        let room = format!("crates/{}", entry.file_name().to_string_lossy());
        assert!(rooms.contains(&room.as_str()), "ARCHITECTURE.md has no row for `{room}`");
    }
}

/// `unsafe` is denied but for these files.
#[test]
fn the_map_names_every_exception_from_safety() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, part) = map.split_once("\n`unsafe` is denied").unwrap();
    let part = part.split("\n\n").next().unwrap();
    let named: Vec<&str> = part.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs")).collect();
    let mut found = Vec::new();
    for crates in std::fs::read_dir(root().join("crates")).unwrap().flatten() {
        // The tracer is a workspace of its own, and all of it is unsafe.
        if crates.file_name() == "tracer" {
            continue;
        }
        for file in below(&crates.path().join("src")) {
            let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
            if text.contains("allow(unsafe_code") || text.contains("expect(unsafe_code") {
                found.push(file);
            }
        }
    }
    for file in &found {
        assert!(named.iter().any(|name| file.ends_with(name)), "ARCHITECTURE.md: {}", file.display());
    }
    for name in named {
        assert!(found.iter().any(|file| file.ends_with(name)), "`{name}` is safe");
    }
}
