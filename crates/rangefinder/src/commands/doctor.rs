//! `rangefinder doctor`

use std::path::PathBuf;

use anyhow::Result;
use nsight::ncu::{NcuRecord, Permission};
use nsight::nsys::{Importer, NsysRecord};
use record::{Outcome, Verdict};
use run::provenance::{ChosenTools, Gpus, Provenance, Tool, gather};
use run::{Exit, SamplingTrial, try_sampling};
use sampler::host::{StackTrial, Unreadable};
use serde_json::json;

use super::here;
use crate::cli::DoctorArguments;
use crate::print::print;

/// One line of the table: what was looked for and what that means.
struct Finding {
    what: String,
    state: String,
    /// What is lost without it, and how to get it.
    missing: Option<(String, String)>,
}

pub(crate) fn main(arguments: &DoctorArguments) -> Result<Exit> {
    let provenance = gather(None, &here()?, &ChosenTools::default());
    let sampling = try_sampling(&provenance.gpus);
    if arguments.json {
        let document = json!({
            "schema": 1,
            "machine": provenance.machine,
            "gpus": provenance.gpus,
            "tools": provenance.tools,
            "nsys": provenance.nsys,
            "ncu": provenance.ncu,
            "sampling": {
                "counters": sampling.counters,
                "stacks": { "memory": told(&sampling.stacks.memory), "native": told(&sampling.stacks.native) },
            },
            "git": provenance.git,
        });
        print(&format!("{document:#}\n"))?;
    } else {
        print(&table(&analysis(&provenance, &sampling)))?;
    }
    Ok(Exit::Complete)
}

fn analysis(provenance: &Provenance, sampling: &SamplingTrial) -> Vec<Finding> {
    let machine = &provenance.machine;
    let system = format!("{}, kernel {}", machine.os.as_deref().unwrap_or("unknown"), machine.kernel);
    let mut analysis = vec![Finding { what: "system".to_owned(), state: system, missing: None }];
    analysis.extend(gpus(&provenance.gpus));
    for found in &provenance.tools {
        analysis.push(tool(found));
        match found.name {
            "nsys" => analysis.extend(provenance.nsys.iter().flat_map(nsys)),
            _ => analysis.extend(provenance.ncu.iter().flat_map(ncu)),
        }
    }
    analysis.extend(sampling.counters.as_ref().map(counters_over_time));
    analysis.push(stacks(&sampling.stacks));
    analysis
}

/// Why not, and what to do; nothing if it works.
fn told(tried: &Result<(), Unreadable>) -> Option<String> {
    tried.as_ref().err().map(ToString::to_string)
}

/// What a run would sample of the GPU.
fn counters_over_time(tried: &Verdict) -> Finding {
    let works = tried.outcome != Outcome::Failed;
    let missing = (
        "no hardware counters over time; ncu still measures single launches".to_owned(),
        tried.remedy.clone().unwrap_or_else(|| "run `rangefinder doctor` again".to_owned()),
    );
    Finding {
        what: "sampler".to_owned(),
        state: if works { format!("works: {}", tried.text) } else { tried.text.clone() },
        missing: (!works).then_some(missing),
    }
}

/// What a run would sample of the host.
fn stacks(tried: &StackTrial) -> Finding {
    let lines = "findings name no lines of the program".to_owned();
    let of_compiled = "findings name no functions of compiled programs".to_owned();
    let (state, missing) = match (&tried.memory, &tried.native) {
        (Ok(()), Ok(())) => ("of Python and of compiled programs".to_owned(), None),
        (Ok(()), Err(why)) => ("of Python programs only".to_owned(), Some((of_compiled, why))),
        (Err(why), _) => ("none".to_owned(), Some((lines, why))),
    };
    let missing = missing.map(|(cost, why)| {
        let text = why.to_string();
        let (problem, hint) = text.split_once("\nhint: ").unwrap_or((&text, "see the message"));
        (format!("{cost}: {problem}"), hint.to_owned())
    });
    Finding { what: "stacks".to_owned(), state, missing }
}

/// About the nsys that a run would use.
fn nsys(nsys: &NsysRecord) -> Vec<Finding> {
    let mut analysis = Vec::new();
    if !nsys.fit_for_driver {
        analysis.push(Finding {
            what: "nsys".to_owned(),
            state: format!("{} is older than the driver's CUDA version", nsys.probe.version),
            missing: Some((
                "most kernels may be missing from the report without a warning".to_owned(),
                "install an nsys as new as the driver".to_owned(),
            )),
        });
    }
    analysis.extend(also(&nsys.others, "nsys.path"));
    analysis.push(importer(&nsys.importer));
    analysis.extend(nsys.environment.iter().map(|line| Finding {
        what: "sampling".to_owned(),
        state: line.clone(),
        missing: Some((
            "no CPU samples or context switches in the timeline (`nsys.sample`)".to_owned(),
            "lower /proc/sys/kernel/perf_event_paranoid to 1, or run as root".to_owned(),
        )),
    }));
    analysis
}

/// The first of the other installations, and how to select it.
fn also(others: &[(PathBuf, String)], key: &str) -> Option<Finding> {
    let (path, version) = others.first()?;
    let more = if others.len() > 1 { format!(" and {} more", others.len() - 1) } else { String::new() };
    let state = format!("{version}, {}{more}; set `{key}` to use it", path.display());
    Some(Finding { what: "also".to_owned(), state, missing: None })
}

/// About the ncu that a run would use.
fn ncu(ncu: &NcuRecord) -> Vec<Finding> {
    let mut analysis: Vec<Finding> = also(&ncu.others, "ncu.path").into_iter().collect();
    if !ncu.probe.options.replays("app-range") {
        analysis.push(Finding {
            what: "replay".to_owned(),
            state: format!("{} has no app-range replay", ncu.probe.version),
            missing: Some((
                "ranges with calls that range replay does not support can only be measured kernel by \
                kernel"
                    .to_owned(),
                "install a newer Nsight Compute".to_owned(),
            )),
        });
    }
    if ncu.counters == Permission::AdminOnly {
        analysis.push(Finding {
            what: "counters".to_owned(),
            state: "restricted to administrators (RmProfilingAdminOnly: 1)".to_owned(),
            missing: Some((
                "no hardware counters".to_owned(),
                "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root; in a container, \
                 add CAP_SYS_ADMIN"
                    .to_owned(),
            )),
        });
    }
    analysis
}

/// Whether reports can be read.
fn importer(importer: &Importer) -> Finding {
    let path = importer.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let state = match (&importer.problem, importer.in_place) {
        (None, true) => path,
        (None, false) => format!("{path}; nsys does not look there, so runs call it directly"),
        (Some(problem), _) => problem.clone(),
    };
    let missing = importer.problem.as_ref().map(|_| {
        let packages: Vec<&str> =
            importer.missing.iter().filter_map(|library| nsight::nsys::package_of(library)).collect();
        let install = match packages.as_slice() {
            [] => "install it".to_owned(),
            packages => format!("install {}", packages.join(" ")),
        };
        (
            "nsys recordings cannot be imported on this machine".to_owned(),
            format!("{install}, or set RANGEFINDER_LIBRARY_PATH to a folder that has it"),
        )
    });
    Finding { what: "importer".to_owned(), state, missing }
}

fn gpus(gpus: &Gpus) -> Vec<Finding> {
    let driver = gpus.driver.as_deref().unwrap_or("unknown");
    let mut analysis: Vec<Finding> = gpus
        .devices
        .iter()
        .map(|gpu| Finding {
            what: format!("GPU {}", gpu.index),
            state: format!("{}, driver {driver}", gpu.name.as_deref().unwrap_or("unknown")),
            missing: None,
        })
        .collect();
    if let Some(because) = &gpus.absent_because {
        analysis.push(Finding {
            what: "GPU".to_owned(),
            state: format!("none: {because}"),
            missing: Some((
                "no kernels and no counters; ranges and host times still work".to_owned(),
                "install the NVIDIA driver; in a container, pass the GPU through".to_owned(),
            )),
        });
    }
    analysis
}

fn tool(tool: &Tool) -> Finding {
    let found = tool.version.as_ref().zip(tool.path.as_ref());
    let state = match (found, &tool.problem) {
        (Some((version, path)), _) => format!("{version}, {}", path.display()),
        (None, Some(problem)) => problem.clone(),
        (None, None) => "unknown".to_owned(),
    };
    let costs = match tool.name {
        "nsys" => (
            "no Nsight Systems timeline; Rangefinder's own tracer is used instead".to_owned(),
            "install Nsight Systems, or set RANGEFINDER_NSYS to the path of `nsys`".to_owned(),
        ),
        _ => (
            "no hardware counters of single launches".to_owned(),
            "install Nsight Compute, or set RANGEFINDER_NCU to the path of `ncu`".to_owned(),
        ),
    };
    let costs = (costs.0, tool.correction.clone().unwrap_or(costs.1));
    Finding { what: tool.name.to_owned(), state, missing: tool.version.is_none().then_some(costs) }
}

fn table(analysis: &[Finding]) -> String {
    let mut text = String::new();
    for finding in analysis {
        let mark = if finding.missing.is_some() { "-" } else { "+" };
        text.push_str(&format!("{mark} {:8} {}\n", finding.what, finding.state));
        if let Some((cost, remedy)) = &finding.missing {
            text.push_str(&format!("           without it: {cost}\n           to fix it:  {remedy}\n"));
        }
    }
    text
}
