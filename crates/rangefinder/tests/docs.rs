//! The commands in the documentation do what it says.

#[path = "docs/architecture.rs"]
mod architecture;
#[path = "docs/reference.rs"]
mod reference;

use std::path::{Path, PathBuf};

use reference::{causes, root};

use crate::support::{Sandbox, ncu_report};

/// Every `$ rangefinder …` line of the `console` blocks, with its exit code.
fn commands(text: &str) -> Vec<(String, i32)> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && let Some(command) = line.strip_prefix("$ ") {
            let (command, code) = match command.split_once("    # exits ") {
                Some((command, code)) => (command, code.trim().parse().unwrap()),
                None => (command, 0),
            };
            found.push((command.to_owned(), code));
        }
    }
    found
}

#[test]
fn documented_commands_run() {
    let root = root();
    let mut files = vec![root.join("README.md")];
    files.extend(std::fs::read_dir(root.join("docs")).unwrap().flatten().map(|entry| entry.path()));
    let mut ran = 0;
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
        for (command, code) in commands(&std::fs::read_to_string(file).unwrap()) {
            // The reader's own program stands for any.
            if command.contains("infer.py") {
                continue;
            }
            let sandbox = Sandbox::new();
            // What the documentation calls the reader's own traces.
            let data = root.join("crates/analysis/tests/data");
            for (name, recorded) in
                [("report.sqlite", "two-2025.3.1.sqlite"), ("trace.json.gz", "torch.kineto.json.gz")]
            {
                std::fs::copy(data.join(recorded), sandbox.path(name)).unwrap();
            }
            sandbox.write("config.json", "{}");
            ncu_report("kernel", &sandbox.path("report.ncu-rep"));
            std::fs::create_dir(sandbox.path("traces")).unwrap();
            std::fs::copy(data.join("torch.kineto.json.gz"), sandbox.path("traces/trace.json.gz")).unwrap();
            let program = Path::new(env!("CARGO_BIN_EXE_rangefinder")).parent().unwrap();
            let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
            let output = std::process::Command::new("sh")
                .args(["-c", &command])
                .current_dir(sandbox.path(""))
                .env("PATH", path)
                .env("XDG_CONFIG_HOME", sandbox.path("no-config"))
                .stdin(std::process::Stdio::null())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{}: {command}\n{said}", file.display());
            ran += 1;
        }
    }
    assert!(ran >= 15, "only {ran} commands found");
}

#[test]
fn the_readme_names_the_two_commands() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    for command in ["cargo run --release -- demo", "cargo xtask test"] {
        assert!(readme.contains(command));
    }
}

/// The tables of the guide's last part, row by row: what stands in backticks in the first and in
/// the second column.
fn troubles(guide: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let part = guide.split_once("\n## 5. Troubleshooting by message\n").unwrap().1;
    let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let rows = part.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut cells = row.split('|').skip(1);
        (quoted(cells.next().unwrap()), quoted(cells.next().unwrap()))
    })
    .collect()
}

/// Every file below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// The lines that can be printed: of the sources without their comments and tests, of recorded
/// logs, of snapshots and transcripts. What the tests themselves write proves nothing.
fn printable_lines(root: &Path) -> Vec<String> {
    let crates = std::fs::read_dir(root.join("crates")).unwrap().flatten().map(|entry| entry.path());
    let folders = crates.flat_map(|one| [(one.join("src"), "rs"), (one.join("tests"), "log snap")]);
    let others = [(root.join("python/rangefinder"), "py"), (root.join("docs/transcripts"), "md")];
    let mut lines = Vec::new();
    for (folder, kinds) in folders.chain(others) {
        for file in below(&folder) {
            let kind = file.extension().map(|kind| kind.to_string_lossy().into_owned()).unwrap_or_default();
            if !kinds.split(' ').any(|known| known == kind) {
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
            let text = text.split("#[cfg(test)]").next().unwrap();
            // A text that goes on in the next line is one line.
            let mut joined = String::new();
            for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
                match line.strip_suffix('\\') {
                    Some(goes_on) => joined.push_str(goes_on),
                    None => lines.push(std::mem::take(&mut joined) + line),
                }
            }
        }
    }
    lines
}

/// Whether a line has every part of a message, in their order; `…` stands for what varies.
fn is_printed(message: &str, lines: &[String]) -> bool {
    let parts: Vec<&str> = message.split('…').map(str::trim).filter(|part| !part.is_empty()).collect();
    let has_all = |line: &String| {
        let mut rest = line.as_str();
        parts.iter().all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    };
    // Fewer letters would be found anywhere.
    parts.iter().any(|part| part.len() >= 8) && lines.iter().any(has_all)
}

#[test]
fn the_guide_quotes_what_is_printed() {
    let root = root();
    let guide = std::fs::read_to_string(root.join("docs/guide.md")).unwrap();
    let lines = printable_lines(&root);
    let troubles = troubles(&guide);
    let messages: Vec<&String> = troubles.iter().flat_map(|(messages, _)| messages).collect();
    assert!(messages.len() >= 80, "only {} messages found", messages.len());
    let invented: Vec<_> = messages.iter().filter(|message| !is_printed(message, &lines)).collect();
    assert!(invented.is_empty(), "nobody prints {invented:#?}");
    // It is no test that finds everything.
    let cannot_be = ["the gate opened by mistake", "exists only in … nowhere", "only in … exists", "…", "a"];
    for message in cannot_be {
        assert!(!is_printed(message, &lines), "{message}");
    }
}

#[test]
fn the_guide_knows_every_cause() {
    let guide = std::fs::read_to_string(root().join("docs/guide.md")).unwrap();
    let named: Vec<String> = troubles(&guide).into_iter().flat_map(|(_, causes)| causes).collect();
    let causes = causes();
    let silent: Vec<_> = causes.iter().filter(|cause| !named.contains(cause)).collect();
    assert!(silent.is_empty(), "the guide has no message of {silent:?}");
    let unknown: Vec<_> = named.iter().filter(|name| !causes.contains(name)).collect();
    assert!(unknown.is_empty(), "the guide names what is no cause: {unknown:?}");
}
