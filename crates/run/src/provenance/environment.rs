//! Everything `env.json` says.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::{Git, Gpus, Machine, Python, Tool};
use crate::locate::NoTool;
use crate::ncu::{Ncu, NcuRecord};
use crate::nsys::{Nsys, NsysRecord};
use crate::workload::{Workload, environment};

/// What the configuration names.
#[derive(Debug, Clone, Default)]
pub struct ChosenTools {
    pub nsys: Option<String>,
    pub ncu: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Provenance {
    pub rangefinder: &'static str,
    pub machine: Machine,
    pub gpus: Gpus,
    pub tools: Vec<Tool>,
    /// What the nsys that a run would use can do, and its importer.
    pub nsys: Option<NsysRecord>,
    pub ncu: Option<NcuRecord>,
    pub python: Option<Python>,
    /// Why `python` is absent for a Python workload.
    pub python_problem: Option<String>,
    pub git: Option<Git>,
    /// Why most of this is absent.
    pub problem: Option<String>,
    /// Secrets are masked when this is written.
    pub environment: BTreeMap<String, String>,
}

/// Asks everyone at once; each program asked has a time limit of its own, NVML has none.
/// `chosen` are the tools that the configuration names.
pub fn gather(workload: Option<&Workload>, here: &Path, chosen: &ChosenTools) -> Provenance {
    std::thread::scope(|scope| {
        let gpus = scope.spawn(|| Gpus::look(workload));
        let ncu = scope.spawn(|| Ncu::locate(chosen.ncu.as_deref()));
        let git = scope.spawn(|| Git::of(here));
        let python = workload.and_then(|workload| {
            let interpreter = workload.python()?;
            let nowhere = Path::new("");
            let variables = workload.variables("doctor", nowhere, &std::env::temp_dir());
            Some(scope.spawn(move || Python::of(interpreter, environment(&variables), &workload.cwd)))
        });
        let (python, python_problem) = match python.map(|python| python.join()) {
            Some(Ok(Ok(python))) => (Some(python), None),
            Some(Ok(Err(problem))) => (None, Some(problem)),
            Some(Err(_)) => (None, Some("asking it failed".to_owned())),
            None => (None, None),
        };
        let gpus = gpus.join().unwrap_or_else(|_| Gpus::absent("asking NVML failed".to_owned()));
        let nsys = Nsys::locate(chosen.nsys.as_deref(), gpus.cuda.as_deref());
        let ncu = ncu.join().unwrap_or_else(|_| Err(NoTool::Broken("asking ncu failed".to_owned())));
        Provenance {
            rangefinder: env!("CARGO_PKG_VERSION"),
            machine: Machine::look(),
            gpus,
            tools: vec![Tool::of_nsys(&nsys), Tool::of_ncu(&ncu)],
            nsys: nsys.ok().and_then(|nsys| Some(nsys.record(crate::process::private_folder().ok()?.path()))),
            ncu: ncu.ok().map(|ncu| ncu.record()),
            python,
            python_problem,
            git: git.join().ok().flatten(),
            problem: None,
            environment: variables(),
        }
    })
}

impl Provenance {
    /// What is known when someone, most likely the GPU driver, does not answer.
    pub fn unanswered() -> Self {
        Self {
            rangefinder: env!("CARGO_PKG_VERSION"),
            machine: Machine::look(),
            gpus: Gpus::absent("the driver does not answer".to_owned()),
            tools: Vec::new(),
            nsys: None,
            ncu: None,
            python: None,
            python_problem: None,
            git: None,
            problem: Some(
                "asking the machine about itself took too long; `env.json` is incomplete".to_owned(),
            ),
            environment: variables(),
        }
    }
}

fn variables() -> BTreeMap<String, String> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}
