//! What was around the program: machine, driver, packages, command and settings, as text to compare.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::config::flat_settings;
use crate::quote::shell_line;

/// A file of a run that is larger is none of ours.
const LARGEST: u64 = 16 << 20;
/// Of `env.json`: what a program's speed may depend on, and what it is called.
const FACTS: [(&str, &str); 10] = [
    ("/gpus/driver", "driver"),
    ("/gpus/cuda", "CUDA"),
    ("/machine/cpu", "CPU"),
    ("/machine/cores", "cores"),
    ("/machine/memory_kb", "memory (kB)"),
    ("/machine/os", "system"),
    ("/machine/kernel", "kernel"),
    ("/python/version", "Python"),
    ("/git/commit", "git commit"),
    ("/rangefinder", "Rangefinder"),
];
/// Settings by which `--quick` leaves out passes.
const PASSES: [&str; 4] = ["stage1.enable", "nsys.enable", "ncu.enable", "timeline.source"];
/// Variables that programs on GPUs look at.
const VARIABLES: [&str; 18] = [
    "CUDA_",
    "NVIDIA_VISIBLE",
    "NVIDIA_TF32",
    "NCCL_",
    "CUBLAS",
    "CUDNN_",
    "TORCH",
    "PYTORCH_",
    "TRITON_",
    "XLA_",
    "JAX_",
    "TF_",
    "OMP_",
    "MKL_",
    "HF_",
    "VLLM_",
    "SGLANG_",
    "LD_PRELOAD",
];

/// By name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Circumstances {
    facts: BTreeMap<String, String>,
    /// Every key of the run's configuration.
    settings: BTreeMap<String, String>,
    /// nsys recorded the timeline.
    by_nsys: bool,
}

impl Circumstances {
    /// Of a run directory; nothing of anything else.
    pub fn of(run: &Path) -> Self {
        let mut found = Self::default();
        let known = &mut found.facts;
        if let Some(manifest) = json(&run.join(record::MANIFEST)) {
            let words = manifest.pointer("/workload/argv").and_then(Value::as_array);
            let words: Vec<String> =
                words.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect();
            if !words.is_empty() {
                known.insert("command".to_owned(), shell_line(&words));
            }
            let verdicts = manifest.get("verdicts").and_then(Value::as_array);
            found.by_nsys = verdicts.into_iter().flatten().any(|verdict| verdict["tool"] == "nsys");
        }
        if let Some(environment) = json(&run.join("env.json")) {
            for (pointer, name) in FACTS {
                known.extend(
                    environment.pointer(pointer).and_then(text).map(|value| (name.to_owned(), value)),
                );
            }
            known.extend(of_devices(&environment));
            let packages = environment.pointer("/python/packages").and_then(Value::as_object);
            known.extend(
                packages.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), text(value)?))),
            );
            let variables = environment.pointer("/environment").and_then(Value::as_object);
            let is_meant = |name: &str| VARIABLES.iter().any(|start| name.starts_with(start));
            let meant = variables.into_iter().flatten().filter(|(name, _)| is_meant(name));
            known.extend(meant.filter_map(|(name, value)| Some((format!("${name}"), text(value)?))));
        }
        if let Some(settings) = small(&run.join("config.yaml")) {
            // The command is told already, and where a run lies does not matter.
            let is_meant = |name: &str| {
                name != "workload.command" && !name.starts_with("run.") && !name.starts_with("report.")
            };
            found.settings =
                flat_settings(&settings).into_iter().filter(|(name, _)| is_meant(name)).collect();
        }
        found
    }

    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    pub(crate) fn facts(&self) -> &BTreeMap<String, String> {
        &self.facts
    }

    pub(crate) fn from_facts(facts: BTreeMap<String, String>) -> Self {
        Self { facts, ..Self::default() }
    }

    /// What a recording says about its machine, where nothing else does.
    pub fn add(&mut self, facts: impl IntoIterator<Item = (String, String)>) {
        if self.facts.is_empty() {
            self.facts.extend(facts);
        }
    }
}

/// The models of the devices, and how many.
fn of_devices(environment: &Value) -> Option<(String, String)> {
    let devices = environment.pointer("/gpus/devices")?.as_array()?;
    let names: Vec<String> =
        devices.iter().filter_map(|device| device.get("name")?.as_str().map(str::to_owned)).collect();
    (!names.is_empty()).then(|| ("GPUs".to_owned(), names.join(", ")))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn small(path: &Path) -> Option<String> {
    let is_small =
        std::fs::metadata(path).ok().is_some_and(|found| found.is_file() && found.len() <= LARGEST);
    is_small.then(|| std::fs::read_to_string(path).ok()).flatten()
}

pub(crate) fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(small(path)?.as_bytes()).ok()
}

/// What is not the same: its name, before, and after. Where one side knows nothing, nothing is said.
pub fn differences(
    before: &Circumstances,
    after: &Circumstances,
) -> Vec<(String, Option<String>, Option<String>)> {
    if before.facts.is_empty() || after.facts.is_empty() {
        return Vec::new();
    }
    let names =
        before.facts.keys().chain(after.facts.keys().filter(|name| !before.facts.contains_key(*name)));
    let facts = names.map(|name| (name, before.facts.get(name), after.facts.get(name)));
    // Passes that were left out change nothing about those that are compared.
    let passes = |name: &str| PASSES.contains(&name) && !(before.by_nsys || after.by_nsys);
    // A key that only one of them has is one that another version of ours does not know.
    let is_of_both = |name: &&String| after.settings.contains_key(*name) && !passes(name);
    let settings = before.settings.keys().filter(is_of_both);
    let settings = settings.map(|name| (name, before.settings.get(name), after.settings.get(name)));
    let mut found: Vec<(String, Option<String>, Option<String>)> = facts
        .chain(settings)
        .filter(|(_, before, after)| before != after)
        .map(|(name, before, after)| (name.clone(), before.cloned(), after.cloned()))
        .collect();
    // What was changed on purpose first.
    let rank = |name: &str| match () {
        () if name == "command" => 0,
        () if name == "git commit" => 1,
        () if FACTS.iter().any(|(_, fact)| *fact == name) || name == "GPUs" => 2,
        () if name.starts_with('$') => 4,
        () => 3,
    };
    found.sort_by(|a, b| (rank(&a.0), &a.0).cmp(&(rank(&b.0), &b.0)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(driver: &str, command: &str, config: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
        write("run.json", format!(r#"{{"workload": {{"argv": ["python", "{command}"]}}}}"#));
        write(
            "env.json",
            format!(
                r#"{{"gpus": {{"driver": "{driver}", "devices": [{{"name": "H200"}}]}}, "machine": {{"cores": 2}},
                "python": {{"packages": {{"torch": "2.11"}}}}, "environment": {{"HOME": "/x", "OMP_NUM_THREADS": "4"}}}}"#
            ),
        );
        write("config.yaml", config.to_owned());
        folder
    }

    #[test]
    fn only_what_differs() {
        let a = run("580.1", "a.py", "rehearsal:\n  graph_nodes: false\nrun:\n  name: one\n");
        let b = run("590.2", "b.py", "rehearsal:\n  graph_nodes: true\nrun:\n  name: two\n");
        let (a, b) = (Circumstances::of(a.path()), Circumstances::of(b.path()));
        let found: Vec<String> = differences(&a, &b)
            .into_iter()
            .map(|(name, before, after)| format!("{name}: {} {}", before.unwrap(), after.unwrap()))
            .collect();
        assert_eq!(
            found,
            ["command: python a.py python b.py", "driver: 580.1 590.2", "rehearsal.graph_nodes: false true"]
        );
        assert!(differences(&a, &a).is_empty());
        assert!(differences(&a, &Circumstances::default()).is_empty(), "nothing is known of the other");
    }

    #[test]
    fn files_that_are_not_what_they_seem() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Circumstances::of(folder.path()), Circumstances::default());
        for name in ["run.json", "env.json", "config.yaml"] {
            std::fs::write(folder.path().join(name), [0xff, b'[', b'{', 0]).unwrap();
        }
        assert_eq!(Circumstances::of(folder.path()), Circumstances::default());
    }
}
