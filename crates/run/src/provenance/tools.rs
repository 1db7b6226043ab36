//! The vendor tools on the PATH and what they say of themselves.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::ask;
use crate::workload::{environment, on_path};

const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    pub name: &'static str,
    pub path: Option<PathBuf>,
    /// As the tool prints it, e.g. `2022.4.2.1-df9881f`.
    pub version: Option<String>,
    /// Why there is no version, or no tool.
    pub problem: Option<String>,
}

impl Tool {
    /// `nsys` or `ncu`.
    pub fn look(name: &'static str) -> Self {
        let Some(path) = on_path(OsStr::new(name)) else {
            return Self { name, path: None, version: None, problem: Some("not on the PATH".to_owned()) };
        };
        let argv: Vec<OsString> = vec![path.clone().into(), "--version".into()];
        let answer = ask(argv, environment(&[]), "/".into(), PATIENCE);
        match answer {
            Ok(text) => {
                let version = tool_version(&text);
                let problem = version.is_none().then(|| format!("it printed no version: {}", text.trim()));
                Self { name, path: Some(path), version, problem }
            }
            Err(problem) => Self { name, path: Some(path), version: None, problem: Some(problem) },
        }
    }
}

/// The first word that starts like a year and a dot, without a leading `v`.
pub(crate) fn tool_version(text: &str) -> Option<String> {
    let words = text.split_whitespace().map(|word| word.trim_start_matches('v'));
    let mut years = words.filter(|word| {
        let mut parts = word.splitn(2, '.');
        let year = parts.next().unwrap_or_default();
        year.len() == 4 && year.chars().all(|c| c.is_ascii_digit()) && parts.next().is_some()
    });
    years.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let nsys = "NVIDIA Nsight Systems version 2022.4.2.1-df9881f\n";
        assert_eq!(tool_version(nsys).as_deref(), Some("2022.4.2.1-df9881f"));
        let ncu = "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2022 NVIDIA Corporation\nVersion 2022.3.0.0 (build 31729285) (public-release)\n";
        assert_eq!(tool_version(ncu).as_deref(), Some("2022.3.0.0"));
        assert_eq!(tool_version("no version here 2022"), None);
    }
}
