//! What the code has names for, the documentation lists, and nothing else.

use std::path::{Path, PathBuf};

use record::{Cause, Outcome, RunStatus, StepName, StepStatus};
use run::config::{Request, explanations, resolve};
use run::steps::config_redactor;
use run::{Event, Exit};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::Sandbox;

/// Writes the list of keys anew instead of comparing it.
const UPDATE: &str = "RANGEFINDER_UPDATE_DOCS";

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// The names of an enum's variants, as they are written to files: serde lists them all when it is
/// given another.
pub(super) fn names<T: DeserializeOwned>(unknown: Value) -> Vec<String> {
    let Err(error) = serde_json::from_value::<T>(unknown) else { panic!("`?` is no name") };
    let error = error.to_string();
    let (_, known) = error.split_once("expected").unwrap();
    let names: Vec<String> = known.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(names.len() > 1, "{error}");
    names
}

pub(super) fn causes() -> Vec<String> {
    Cause::ALL.iter().map(|cause| cause.as_str().to_owned()).collect()
}

/// The first column of the first table below a heading.
fn listed(text: &str, heading: &str) -> Vec<String> {
    let part = text.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no `{heading}`")).1;
    let part = part.split("\n## ").next().unwrap();
    let rows = part.lines().skip_while(|line| !line.starts_with("|--")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').nth(1).unwrap().trim().trim_matches('`').to_owned()).collect()
}

#[test]
fn every_name_is_listed() {
    let reference = read("docs/reference.md");
    for (heading, names) in [
        ("Commands", subcommands()),
        ("Exit codes", Exit::OURS.map(|exit| exit.code().to_string()).to_vec()),
        ("Steps", StepName::ALL.map(|step| step.as_str().to_owned()).to_vec()),
        ("Status of a step", StepStatus::ALL.map(|status| status.as_str().to_owned()).to_vec()),
        ("Status of a run", names::<RunStatus>(json!("?"))),
        ("Verdicts", Outcome::ALL.map(|outcome| outcome.as_str().to_owned()).to_vec()),
        ("Events", names::<Event>(json!({"event": "?"}))),
    ] {
        assert_eq!(listed(&reference, heading), names, "docs/reference.md: {heading}");
    }
}

#[test]
fn exit_codes_mean_the_same_everywhere() {
    let help = Sandbox::new().output(&["--help"]).stdout;
    for exit in Exit::OURS {
        let (code, meaning) = (exit.code(), exit.meaning());
        assert!(help.contains(&format!("{code:>3}  {meaning}")), "--help: {code}\n{help}");
        for document in ["README.md", "docs/reference.md"] {
            assert!(read(document).contains(&format!("\n| {code} | {meaning} |\n")), "{document}: {code}");
        }
    }
}

#[test]
fn every_cause_is_explained() {
    let mut explained = Vec::new();
    for document in ["docs/captures.md", "docs/counters.md"] {
        let text = read(document);
        let (_, table) = text.split_once("\n| cause | what happened |\n|---|---|\n").unwrap();
        let rows = table.lines().map_while(|line| line.strip_prefix("| "));
        let causes = rows.flat_map(|row| row.split(" | ").next().unwrap().split(", "));
        explained.extend(causes.map(str::to_owned));
    }
    let causes = causes();
    let unknown: Vec<_> = explained.iter().filter(|cause| !causes.contains(cause)).collect();
    assert!(unknown.is_empty(), "documented, but no cause: {unknown:?}");
    let silent: Vec<_> = causes.iter().filter(|cause| !explained.contains(cause)).collect();
    assert!(silent.is_empty(), "in neither docs/captures.md nor docs/counters.md: {silent:?}");
}

#[test]
fn every_key_is_listed() {
    let (begin, end) = ("<!-- keys: begin -->\n", "<!-- keys: end -->\n");
    let reference = read("docs/reference.md");
    let (before, rest) = reference.split_once(begin).unwrap();
    let (listed, after) = rest.split_once(end).unwrap();
    let keys = keys();
    if std::env::var_os(UPDATE).is_some() {
        let text = format!("{before}{begin}{keys}{end}{after}");
        std::fs::write(root().join("docs/reference.md"), text).unwrap();
    } else {
        assert!(listed == keys, "presets/default.yaml has changed: run this test with {UPDATE}=1\n{keys}");
    }
}

/// A table of all keys, their built-in values and what is said of them.
fn keys() -> String {
    let defaults = resolve(&Request { cwd: "/nonexistent".into(), ..Request::default() }).unwrap();
    let values = defaults.to_json(&config_redactor(&defaults.config));
    let comments = explanations();
    let mut table = "| key | built-in value | what it is for |\n|---|---|---|\n".to_owned();
    for (key, entry) in values.as_object().unwrap() {
        let said = comments.iter().find(|(name, _)| name == key).map(|(_, said)| said.as_str());
        let value = entry["value"].to_string().replace(',', ", ");
        let cells = [&value, said.unwrap_or_default()].map(|text| text.replace('|', "\\|"));
        table.push_str(&format!("| `{key}` | `{}` | {} |\n", cells[0], cells[1]));
    }
    table
}

/// As `rangefinder --help` lists them.
fn subcommands() -> Vec<String> {
    let help = Sandbox::new().output(&["--help"]).stdout;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let names = list.lines().map_while(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}
