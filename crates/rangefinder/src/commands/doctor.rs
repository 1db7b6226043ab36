//! `rangefinder doctor`

use std::path::PathBuf;

use anyhow::Result;
use nsight::ncu::{NcuRecord, Permission};
use nsight::nsys::{Importer, NsysRecord};
use run::Exit;
use run::provenance::{ChosenTools, Gpus, Provenance, Tool, gather};
use serde_json::json;

use super::{here, print};
use crate::cli::DoctorArguments;

/// One line of the table: what was looked for and what that means.
struct Finding {
    what: String,
    state: String,
    /// What its absence costs, and how to get it.
    missing: Option<(String, String)>,
}

pub(crate) fn main(arguments: &DoctorArguments) -> Result<Exit> {
    let provenance = gather(None, &here()?, &ChosenTools::default());
    if arguments.json {
        let document = json!({
            "schema": 1,
            "machine": provenance.machine,
            "gpus": provenance.gpus,
            "tools": provenance.tools,
            "nsys": provenance.nsys,
            "ncu": provenance.ncu,
            "git": provenance.git,
        });
        print(&format!("{document:#}\n"))?;
    } else {
        print(&table(&findings(&provenance)))?;
    }
    Ok(Exit::Complete)
}

fn findings(provenance: &Provenance) -> Vec<Finding> {
    let machine = &provenance.machine;
    let system = format!("{}, kernel {}", machine.os.as_deref().unwrap_or("unknown"), machine.kernel);
    let mut findings = vec![Finding { what: "system".to_owned(), state: system, missing: None }];
    findings.extend(gpus(&provenance.gpus));
    for found in &provenance.tools {
        findings.push(tool(found));
        match found.name {
            "nsys" => findings.extend(provenance.nsys.iter().flat_map(nsys)),
            _ => findings.extend(provenance.ncu.iter().flat_map(ncu)),
        }
    }
    findings
}

/// What there is to say of the nsys that a run would use.
fn nsys(nsys: &NsysRecord) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !nsys.fit_for_driver {
        findings.push(Finding {
            what: "nsys".to_owned(),
            state: format!("{} is older than the CUDA of the driver", nsys.probe.version),
            missing: Some((
                "most kernels may be lost without a word".to_owned(),
                "install an nsys that is as new as the driver".to_owned(),
            )),
        });
    }
    findings.extend(also(&nsys.others, "nsys.path"));
    findings.push(importer(&nsys.importer));
    findings.extend(nsys.environment.iter().map(|line| Finding {
        what: "sampling".to_owned(),
        state: line.clone(),
        missing: Some((
            "no CPU samples and no context switches in the timeline (`nsys.sample`)".to_owned(),
            "lower /proc/sys/kernel/perf_event_paranoid to 1, or run as root".to_owned(),
        )),
    }));
    findings
}

/// The first of the others, and how to choose it.
fn also(others: &[(PathBuf, String)], key: &str) -> Option<Finding> {
    let (path, version) = others.first()?;
    let more = if others.len() > 1 { format!(" and {} more", others.len() - 1) } else { String::new() };
    let state = format!("{version}, {}{more}; `{key}` chooses another", path.display());
    Some(Finding { what: "also".to_owned(), state, missing: None })
}

/// What there is to say of the ncu that a run would use.
fn ncu(ncu: &NcuRecord) -> Vec<Finding> {
    let mut findings: Vec<Finding> = also(&ncu.others, "ncu.path").into_iter().collect();
    if !ncu.probe.options.replays("app-range") {
        findings.push(Finding {
            what: "replay".to_owned(),
            state: format!("{} has no app-range replay", ncu.probe.version),
            missing: Some((
                "a range that makes unusual CUDA calls can only be measured kernel by kernel".to_owned(),
                "install a newer Nsight Compute".to_owned(),
            )),
        });
    }
    if ncu.counters == Permission::AdminOnly {
        findings.push(Finding {
            what: "counters".to_owned(),
            state: "only administrators may read them (RmProfilingAdminOnly: 1)".to_owned(),
            missing: Some((
                "no hardware counters".to_owned(),
                "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root; in a container, \
                 add CAP_SYS_ADMIN"
                    .to_owned(),
            )),
        });
    }
    findings
}

/// Whether reports can be read.
fn importer(importer: &Importer) -> Finding {
    let path = importer.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let state = match (&importer.problem, importer.in_place) {
        (None, true) => path,
        (None, false) => format!("{path}, where nsys does not look: a run imports by itself"),
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
            "what nsys records cannot be read here".to_owned(),
            format!("{install}, or name a folder that has it with RANGEFINDER_LIBRARY_PATH"),
        )
    });
    Finding { what: "importer".to_owned(), state, missing }
}

fn gpus(gpus: &Gpus) -> Vec<Finding> {
    let driver = gpus.driver.as_deref().unwrap_or("unknown");
    let mut findings: Vec<Finding> = gpus
        .devices
        .iter()
        .map(|gpu| Finding {
            what: format!("GPU {}", gpu.index),
            state: format!("{}, driver {driver}", gpu.name.as_deref().unwrap_or("unknown")),
            missing: None,
        })
        .collect();
    if let Some(because) = &gpus.absent_because {
        findings.push(Finding {
            what: "GPU".to_owned(),
            state: format!("none: {because}"),
            missing: Some((
                "no kernels, no counters; ranges and host times still work".to_owned(),
                "install the NVIDIA driver; start a container with the GPU passed in".to_owned(),
            )),
        });
    }
    findings
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
            "no timeline by Nsight Systems; the rehearsal's ranges remain".to_owned(),
            "install Nsight Systems, or name its `nsys` with RANGEFINDER_NSYS".to_owned(),
        ),
        _ => (
            "no hardware counters".to_owned(),
            "install Nsight Compute, or name its `ncu` with RANGEFINDER_NCU".to_owned(),
        ),
    };
    Finding { what: tool.name.to_owned(), state, missing: tool.version.is_none().then_some(costs) }
}

fn table(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = if finding.missing.is_some() { "-" } else { "+" };
        text.push_str(&format!("{mark} {:8} {}\n", finding.what, finding.state));
        if let Some((cost, remedy)) = &finding.missing {
            text.push_str(&format!("           without it: {cost}\n           to get it: {remedy}\n"));
        }
    }
    text
}
