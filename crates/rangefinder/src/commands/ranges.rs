//! `rangefinder ranges`

use analysis::{Region, Registered, Times};
use anyhow::{Context, Result};
use nsight::nsys::needs_register_only_off;
use nsight::{Proof, Remedy, prove};
use nvtx::{NsysDialect, NsysExpression, ncu_expression, nsys_expression};
use run::process::{Route, Signals};
use run::steps::{Start, begin};
use run::{Event, Exit, Inventory, Observer, shell_word};

use super::{here, print, resolved};
use crate::cli::RangesArguments;

/// Only what goes wrong is said: the table is the answer.
struct Warnings;

impl Observer for Warnings {
    fn see(&mut self, event: &Event) {
        if let Event::Warning { text } = event {
            eprintln!("warning: {text}");
        }
    }
}

pub(crate) fn main(arguments: RangesArguments) -> Result<Exit> {
    let signals = Signals::listen().context("signals cannot be received")?;
    let mut resolved = resolved(&arguments.layers)?;
    let folder =
        tempfile::Builder::new().prefix("rangefinder-").tempdir().context("no place for the trace")?;
    resolved.config.run.dir.0 = folder.path().to_string_lossy().into_owned();
    let mut run = begin(Start {
        resolved,
        command: arguments.layers.command,
        here: here()?,
        invocation: std::env::args_os().collect(),
        route: if arguments.json { Route::ToStderr } else { Route::Through },
        tracer: crate::TRACER,
    })?;
    let (inventory, outcome) = run.rehearse(&signals, &mut Warnings)?;
    let inventory = inventory.context("the workload did not run")?;
    let mut exit = outcome.exit;
    if arguments.json {
        print(&format!("{:#}\n", inventory.to_json()))?;
    } else if !arguments.gate.is_empty() {
        for gate in &arguments.gate {
            let proof = prove(gate, &inventory.regions, NsysDialect { escapes: true });
            if proof.nsys.remedy == Remedy::None && exit == Exit::Complete {
                exit = Exit::Missing;
            }
            print(&proof_screen(&proof, &inventory))?;
        }
    } else {
        print(&screen(&inventory))?;
    }
    if let (Exit::WorkloadFailed, Some(code)) = (outcome.exit, outcome.workload_code) {
        eprintln!("the workload failed with exit code {code}");
    }
    Ok(exit)
}

/// One screen: what each tool makes of a gate as typed, and what to give it.
fn proof_screen(proof: &Proof, inventory: &Inventory) -> String {
    let mut text = format!("gate `{}`\n", proof.typed);
    let typed = shell_word(&proof.typed);
    for (tool, option, proof) in [("nsys", "-p", &proof.nsys), ("ncu", "--nvtx-include", &proof.ncu)] {
        text.push_str(&format!("\n{tool:5} {option} {typed}\n"));
        match &proof.cause {
            None => text.push_str(&format!("      matches {}\n", instances(proof.instances))),
            Some(cause) => text.push_str(&format!("      matches nothing: {cause}\n")),
        }
        match &proof.remedy {
            Remedy::AsTyped => {}
            Remedy::Arguments { arguments, instances: count, first_begin_ns, threads } => {
                let line: Vec<String> = arguments.iter().map(|argument| shell_word(argument)).collect();
                let threads =
                    if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
                let first = duration(*first_begin_ns);
                text.push_str(&format!("      use: {}\n", line.join(" ")));
                text.push_str(&format!(
                    "      which matches {}, the first after {first}, on {threads}\n",
                    instances(*count)
                ));
            }
            Remedy::Ungated { why } => text.push_str(&format!("      {why}\n")),
            Remedy::None => {}
        }
    }
    if proof.nsys.remedy == Remedy::None {
        text.push_str("\nthe ranges there are:\n");
        for region in inventory.regions.iter().take(20) {
            text.push_str(&format!("  {}  ({})\n", region.path, instances(region.instances)));
        }
    }
    text
}

fn instances(count: u64) -> String {
    if count == 1 { "1 instance".to_owned() } else { format!("{count} instances") }
}

fn screen(inventory: &Inventory) -> String {
    let mut text = format!("{}\n", inventory.summary());
    if inventory.ranges == 0 {
        text.push_str(
            "hint: the program opens no NVTX range, or loads no NVTX; `torch.cuda.nvtx.range(\"name\")` opens one\n",
        );
        return text;
    }
    text.push_str("host times; share is of the time from the first event to the last\n\n");
    text.push_str(&format!(
        "{:36} {:9} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>6}\n",
        "region", "kind", "instances", "threads", "total", "mean", "min", "max", "share"
    ));
    for region in &inventory.regions {
        text.push_str(&row(inventory, region));
        text.push_str(&gates(region));
    }
    for diagnostic in &inventory.diagnostics {
        text.push_str(&format!("note: {}\n", diagnostic.text));
    }
    text
}

fn row(inventory: &Inventory, region: &Region) -> String {
    let path = format!("{}{}", "  ".repeat(region.path.depth()), region.path);
    let place = if region.processes > 1 {
        format!("{}/{}p", region.threads, region.processes)
    } else {
        region.threads.to_string()
    };
    let instances = if region.open > 0 {
        format!("{} ({} open)", region.instances, region.open)
    } else {
        region.instances.to_string()
    };
    let start = format!("{path:36} {:9} {instances:>9} {place:>7}", region.kind.as_str());
    match &region.times {
        Some(times) => {
            let Times { total_ns, mean_ns, min_ns, max_ns, .. } = *times;
            let columns: Vec<String> = [total_ns, mean_ns, min_ns, max_ns]
                .into_iter()
                .map(|ns| format!("{:>9}", duration(ns)))
                .collect();
            format!("{start} {} {:>5.1}%\n", columns.join(" "), inventory.share(times) * 100.0)
        }
        None => format!("{start} {:>9}\n", "open"),
    }
}

/// The expressions that select a region, to be pasted.
fn gates(region: &Region) -> String {
    let indent = "  ".repeat(region.path.depth() + 2);
    let nsys = match nsys_expression(&region.path, region.wide) {
        NsysExpression::Gate(gate) => {
            let off =
                if needs_register_only_off(region) { " -e NSYS_NVTX_PROFILER_REGISTER_ONLY=0" } else { "" };
            format!("-c nvtx -p {}{off}", shell_word(&gate))
        }
        NsysExpression::None(why) => format!("cannot select it: {why}"),
    };
    let registered = match region.registered {
        Registered::Yes => "registered",
        Registered::No => "not registered",
        Registered::Mixed => "registered in part",
    };
    let ncu = shell_word(&ncu_expression(&region.path, region.kind));
    format!("{indent}nsys  {nsys}    ({registered})\n{indent}ncu   --nvtx --nvtx-include {ncu}\n")
}

fn duration(ns: i64) -> String {
    let value = ns as f64;
    match ns {
        ..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}
