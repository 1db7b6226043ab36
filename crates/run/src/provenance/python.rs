//! The interpreter of a Python workload, queried rather than assumed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ask::ask;
use crate::workload::Workload;
use process::environment;

const PATIENCE: Duration = Duration::from_secs(10);

/// Versions come from package metadata: importing torch would take seconds.
const QUESTION: &str = r#"
import json, platform, sys
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except Exception:
        return None
names = ["torch", "transformers", "triton", "nvtx", "vllm", "jax", "numpy"]
print(json.dumps({
    "executable": sys.executable,
    "version": platform.python_version(),
    "packages": {name: version(name) for name in names if version(name)},
}))
"#;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Python {
    pub executable: String,
    pub version: String,
    /// The installed packages that matter to a profile.
    pub packages: serde_json::Map<String, serde_json::Value>,
}

impl Python {
    /// The workload's interpreter; None if it is not a Python program.
    pub(crate) fn of_workload(workload: &Workload) -> Option<Result<Self, String>> {
        let interpreter = workload.python()?;
        let variables = workload.variables("doctor", Path::new(""), &std::env::temp_dir());
        Some(Self::of(interpreter, environment(&variables), &workload.cwd))
    }

    pub(crate) fn has_torch(&self) -> bool {
        self.packages.contains_key("torch")
    }

    pub fn of(interpreter: PathBuf, env: Vec<(OsString, OsString)>, cwd: &Path) -> Result<Self, String> {
        let argv = vec![interpreter.into(), "-c".into(), QUESTION.into()];
        let answer = ask(argv, env, cwd.to_owned(), PATIENCE)?;
        let last = answer.lines().last().unwrap_or_default();
        serde_json::from_slice(last.as_bytes()).map_err(|_| "its output could not be parsed".to_owned())
    }
}
