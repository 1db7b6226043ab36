//! `rangefinder doctor`

use anyhow::Result;
use run::Exit;
use run::provenance::{Gpus, Provenance, Tool, gather};
use serde_json::json;

use super::{here, print};
use crate::cli::DoctorArguments;

/// One line of the table: what was looked for and what that means.
struct Finding {
    what: String,
    state: String,
    /// What its absence costs, and how to get it.
    missing: Option<(&'static str, &'static str)>,
}

pub(crate) fn main(arguments: &DoctorArguments) -> Result<Exit> {
    let provenance = gather(None, &here()?);
    if arguments.json {
        let document = json!({
            "schema": 1,
            "machine": provenance.machine,
            "gpus": provenance.gpus,
            "tools": provenance.tools,
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
    findings.extend(provenance.tools.iter().map(tool));
    findings
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
                "no kernels, no counters; ranges and host times still work",
                "install the NVIDIA driver; start a container with the GPU passed in",
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
        "nsys" => ("no timeline by Nsight Systems", "install Nsight Systems and put `nsys` on the PATH"),
        _ => ("no hardware counters", "install Nsight Compute and put `ncu` on the PATH"),
    };
    Finding { what: tool.name.to_owned(), state, missing: tool.version.is_none().then_some(costs) }
}

fn table(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = if finding.missing.is_some() { "-" } else { "+" };
        text.push_str(&format!("{mark} {:8} {}\n", finding.what, finding.state));
        if let Some((cost, remedy)) = finding.missing {
            text.push_str(&format!("           without it: {cost}\n           to get it: {remedy}\n"));
        }
    }
    text
}
