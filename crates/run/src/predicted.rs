//! What an earlier run of a program predicted, for whoever measures it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::circumstances::json;
use crate::documents::ANALYSIS;
use crate::rundir::{newest, read_document, read_manifest};

/// So many runs are looked at, the newest first.
const MOST_RUNS: usize = 100;
/// Which program a run was of: the hashes of all files that its command names.
const INPUTS: &str = "inputs.yaml";

/// What would make an iteration faster, by the first finding of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    pub run: PathBuf,
    /// The line, the kernel or the cause without which it would be so.
    pub without: String,
    /// How many times as fast, and between which.
    pub factor: f64,
    pub low: f64,
    pub high: f64,
}

/// For an iteration of `region`: by `run` itself, or else by the newest one in `root` of the same command with the same files.
pub fn predicted(run: &Path, root: Option<&Path>, region: &str) -> Option<Predicted> {
    by(run, region).or_else(|| {
        let argv = read_manifest(run).ok()?.workload.argv;
        let inputs = |run: &Path| read_document(run, INPUTS).ok();
        let files = inputs(run)?;
        newest(root?)
            .take(MOST_RUNS)
            .filter(|(other, manifest)| {
                manifest.workload.argv == argv && inputs(other).as_ref() == Some(&files)
            })
            .find_map(|(other, _)| by(&other, region))
    })
}

fn by(run: &Path, region: &str) -> Option<Predicted> {
    let document = json(&run.join(ANALYSIS))?;
    let finding = document.pointer("/findings/0")?;
    let text = |pointer: &str| finding.pointer(pointer).and_then(Value::as_str);
    if text("/gain/of") != Some("iteration") || text("/place/region") != Some(region) {
        return None;
    }
    let number = |pointer: &str| finding.pointer(pointer).and_then(Value::as_f64);
    // What samples leave open is asked here, and not what half a remedy would gain.
    let end =
        |name: &str| number(&format!("/gain/by_samples/{name}")).or_else(|| number(&format!("/gain/{name}")));
    Some(Predicted {
        run: run.to_owned(),
        without: text("/place/line").or_else(|| text("/place/kernel")).or_else(|| text("/cause"))?.to_owned(),
        factor: number("/gain/factor")?,
        low: end("low")?,
        high: end("high")?,
    })
}

#[cfg(test)]
mod tests {
    use record::{Invocation, WorkloadRecord};

    use super::*;
    use crate::rundir::new_manifest;

    const FOUND: &str = r#"{"findings": [{"cause": "host-code", "place": {"region": ":step", "line": "a.py:5-8 clean"},
        "gain": {"factor": 2.7, "low": 1.5, "high": 3.1, "of": "iteration", "by_samples": {"low": 2.4, "high": 3.1}}}]}"#;

    fn run(root: &Path, name: &str, script: &str, analysis: Option<&str>) -> PathBuf {
        let folder = root.join(name);
        std::fs::create_dir(&folder).unwrap();
        let argv = vec!["python".to_owned(), "a.py".to_owned()];
        let (withheld, secret_variables, cwd) = (Vec::new(), Vec::new(), "/".to_owned());
        let workload = WorkloadRecord { argv: argv.clone(), withheld, cwd: cwd.clone(), secret_variables };
        let manifest = new_manifest(name.to_owned(), "x".to_owned(), Invocation { argv, cwd }, workload);
        std::fs::write(folder.join(record::MANIFEST), serde_json::to_vec(&manifest).unwrap()).unwrap();
        std::fs::write(folder.join(INPUTS), script).unwrap();
        if let Some(text) = analysis {
            std::fs::write(folder.join(ANALYSIS), text).unwrap();
        }
        folder
    }

    #[test]
    fn by_a_run_of_the_same_program() {
        let root = tempfile::tempdir().unwrap();
        let full = run(root.path(), "20260101-000000-x", "one", Some(FOUND));
        run(root.path(), "20260102-000000-x", "another", Some(FOUND));
        let light = run(root.path(), "20260103-000000-x", "one", None);
        let found = predicted(&light, Some(root.path()), ":step").unwrap();
        assert_eq!((&found.run, found.without.as_str()), (&full, "a.py:5-8 clean"));
        assert_eq!((found.factor, found.low, found.high), (2.7, 2.4, 3.1));
        assert_eq!(predicted(&light, Some(root.path()), ":other"), None);
        assert_eq!(predicted(&light, None, ":step"), None);
        let edited = run(root.path(), "20260104-000000-x", "edited since", None);
        assert_eq!(predicted(&edited, Some(root.path()), ":step"), None);
        assert!(predicted(&full, None, ":step").is_some());
        std::fs::write(full.join(ANALYSIS), "{\"findings\": [{").unwrap();
        assert_eq!(predicted(&full, None, ":step"), None);
    }
}
