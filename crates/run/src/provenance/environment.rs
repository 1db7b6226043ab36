//! The contents of `env.json`.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::Scope;

use serde::Serialize;

use super::git::Git;
use super::gpu::Gpus;
use super::machine::Machine;
use super::python::Python;
use super::tools::Tool;
use crate::workload::Workload;
use nsight::NoTool;
use nsight::ncu::{Ncu, NcuRecord};
use nsight::nsys::{Nsys, NsysRecord};

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

/// Runs all queries at once; each program has its own time limit, NVML has none.
/// `chosen` are the tools that the configuration names.
pub fn gather(workload: Option<&Workload>, here: &Path, chosen: &ChosenTools) -> Provenance {
    std::thread::scope(|scope| {
        // A thread that cannot be started is reported like any other failure.
        fn asked<'scope, T: Send + 'scope>(
            scope: &'scope Scope<'scope, '_>,
            ask: impl FnOnce() -> T + Send + 'scope,
        ) -> impl FnOnce() -> Option<T> {
            let thread = std::thread::Builder::new().spawn_scoped(scope, ask);
            || thread.ok()?.join().ok()
        }
        let gpus = asked(scope, || Gpus::look(workload));
        let ncu = asked(scope, || Ncu::locate(chosen.ncu.as_deref()));
        let git = asked(scope, || Git::of(here));
        let python = workload.map(|workload| asked(scope, move || Python::of_workload(workload)));
        let (python, python_problem) = match python.map(|answer| answer()) {
            Some(Some(Some(Ok(python)))) => (Some(python), None),
            Some(Some(Some(Err(problem)))) => (None, Some(problem)),
            Some(None) => (None, Some("the query failed".to_owned())),
            Some(Some(None)) | None => (None, None),
        };
        let gpus = gpus().unwrap_or_else(|| Gpus::absent("the NVML query failed".to_owned()));
        let nsys = Nsys::locate(chosen.nsys.as_deref(), gpus.cuda.as_deref());
        let ncu = ncu().unwrap_or_else(|| {
            Err(NoTool::Broken { text: "the ncu query failed".to_owned(), setting: None })
        });
        Provenance {
            rangefinder: env!("CARGO_PKG_VERSION"),
            machine: Machine::look(),
            gpus,
            tools: vec![Tool::of_nsys(&nsys), Tool::of_ncu(&ncu)],
            nsys: nsys.ok().and_then(|nsys| Some(nsys.record(process::private_folder().ok()?.path()))),
            ncu: ncu.ok().map(|ncu| ncu.record()),
            python,
            python_problem,
            git: git().flatten(),
            problem: None,
            environment: variables(),
        }
    })
}

impl Provenance {
    /// What is known when something, most likely the GPU driver, does not respond.
    pub fn unanswered() -> Self {
        let problem = "collecting information about this machine took too long; `env.json` is incomplete";
        Self::not_asked(problem.to_owned())
    }

    /// What is known without any query.
    pub fn not_asked(problem: String) -> Self {
        Self {
            rangefinder: env!("CARGO_PKG_VERSION"),
            machine: Machine::look(),
            gpus: Gpus::absent("the driver does not respond".to_owned()),
            tools: Vec::new(),
            nsys: None,
            ncu: None,
            python: None,
            python_problem: None,
            git: None,
            problem: Some(problem),
            environment: variables(),
        }
    }
}

fn variables() -> BTreeMap<String, String> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}
