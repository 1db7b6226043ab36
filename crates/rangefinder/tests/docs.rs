//! The commands in the documentation do what it says.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::path::Path;

use support::{Sandbox, ncu_report};

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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
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
            ncu_report("kernel", &sandbox.path("report.ncu-rep"));
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
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    for command in ["cargo run --release -- demo", "cargo xtask test"] {
        assert!(readme.contains(command));
    }
}
