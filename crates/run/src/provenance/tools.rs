//! The vendor tools and what they say of themselves.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::ask;
use crate::nsys::{NoNsys, Nsys};
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
    /// The nsys that a run would use.
    pub fn of_nsys(found: &Result<Nsys, NoNsys>) -> Self {
        match found {
            Ok(nsys) => Self {
                name: "nsys",
                path: Some(nsys.installation.nsys.clone()),
                version: Some(nsys.probe.version.clone()),
                problem: None,
            },
            Err(problem) => {
                Self { name: "nsys", path: None, version: None, problem: Some(problem.to_string()) }
            }
        }
    }

    /// One that is on the PATH.
    pub fn look(name: &'static str) -> Self {
        let Some(path) = on_path(OsStr::new(name)) else {
            return Self { name, path: None, version: None, problem: Some("not on the PATH".to_owned()) };
        };
        let argv: Vec<OsString> = vec![path.clone().into(), "--version".into()];
        let answer = ask(argv, environment(&[]), "/".into(), PATIENCE);
        match answer {
            Ok(text) => {
                let version = nsight::nsys::version_in(&text);
                let problem = version.is_none().then(|| format!("it printed no version: {}", text.trim()));
                Self { name, path: Some(path), version, problem }
            }
            Err(problem) => Self { name, path: Some(path), version: None, problem: Some(problem) },
        }
    }
}
