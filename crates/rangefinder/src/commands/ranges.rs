//! `rangefinder ranges`

use analysis::{Region, Registered, Times};
use anyhow::{Context, Result};
use nsight::nsys::{RangeEnd, needs_register_only_off};
use nsight::{Namesakes, Proof};
use nvtx::{Kind, NsysDialect, NsysExpression, nsys_expression};
use process::{PrivateFolder, Route, Signals};
use record::counted;
use run::gates::{NsysTerms, Reader, duration, nothing_is_meant, proof_screen, proofs_json, prove_gate};
use run::steps::{Start, begin};
use run::{Event, Exit, Inventory, InventoryDocument, Observer, shell_word};
use secrets::of_environment;

use super::{here, resolved};
use crate::cli::RangesArguments;
use crate::print::{print, print_json, say};

/// Prints only warnings: the table is the output.
struct Warnings;

impl Observer for Warnings {
    fn see(&mut self, event: &Event) {
        if let Event::Warning { text } = event {
            say(&format!("warning: {text}"));
        }
    }
}

pub(crate) fn main(arguments: RangesArguments) -> Result<Exit> {
    let signals = Signals::listen().context("cannot listen for signals")?;
    let mut resolved = resolved(&arguments.layers)?;
    let folder = PrivateFolder::new().context("cannot create a temporary folder for the trace")?;
    resolved.config.run.dir.0 = folder.path().to_string_lossy().into_owned();
    let config = resolved.config.clone();
    let run = begin(Start {
        resolved,
        command: arguments.layers.command,
        here: here()?,
        invocation: std::env::args_os().collect(),
        route: if arguments.json { Route::ToStderr } else { Route::Through },
        tracer: crate::TRACER,
        place: None,
    })?;
    let (inventory, outcome) = run.rehearse(&signals, &mut Warnings)?;
    let mut redactor = of_environment().clone();
    let mut exit = outcome.exit;
    let Some(inventory) = inventory else {
        // Without a failure, a warning has said why.
        let why = outcome.failure.as_deref().unwrap_or("the tracer recorded nothing, so no ranges are known");
        say(&format!("error: {}", redactor.text(why)));
        return Ok(if exit == Exit::Complete { Exit::Missing } else { exit });
    };
    redactor.learn_from(inventory.names());
    if exit == Exit::Interrupted {
        say("interrupted; ranges seen so far:");
    } else if let Some(failure) = &outcome.failure {
        say(&format!("error: {}", redactor.text(failure)));
    }
    if !arguments.gate.is_empty() {
        let exit_code = outcome.workload_code.unwrap_or(0);
        // Someone who runs nsys by hand gets nsys's own default.
        let terms = NsysTerms::here(&config, RangeEnd::StopShutdown);
        let prove = |gate: &String| prove_gate(gate, &inventory, exit_code, terms);
        let proofs: Vec<_> = arguments.gate.iter().map(prove).collect();
        let is_missing = |proof: &Proof| {
            nothing_is_meant(&proof.nsys) && nothing_is_meant(&proof.ncu) || !proof.absent.is_empty()
        };
        if proofs.iter().any(is_missing) && exit == Exit::Complete {
            exit = Exit::Missing;
        }
        if arguments.json {
            let mut document = proofs_json(&proofs);
            redactor.document(&mut document);
            print(&format!("{document:#}\n"))?;
        }
        for proof in proofs.iter().filter(|_| !arguments.json) {
            print(&redactor.text(&proof_screen(proof, Reader::ByHand, &inventory)))?;
        }
        return Ok(exit);
    }
    let inventory = inventory.renamed(|text| redactor.name(text));
    if arguments.json {
        print_json(&InventoryDocument(&inventory))?;
    } else if arguments.tree {
        print(&tree(&inventory))?;
    } else {
        print(&screen(&inventory))?;
    }
    if inventory.is_empty() && exit == Exit::Complete && !arguments.json {
        print(HINT)?;
    }
    Ok(exit)
}

const HINT: &str = "hint: add a range, for example `with torch.cuda.nvtx.range(\"decode\"):`\n";

/// Only the names, by nesting: what people read first.
fn tree(inventory: &Inventory) -> String {
    let mut text = format!("{}\n", inventory.summary());
    if inventory.is_empty() {
        return text;
    }
    let mut domains: Vec<&str> = Vec::new();
    for region in &inventory.regions {
        if !domains.contains(&region.path.domain.as_str()) {
            domains.push(&region.path.domain);
        }
    }
    for domain in domains {
        text.push_str(&format!("{}\n", if domain.is_empty() { "(default domain)" } else { domain }));
        let regions: Vec<&Region> =
            inventory.regions.iter().filter(|region| region.path.domain == domain).collect();
        for at in 0..regions.len() {
            text.push_str(&branch(inventory, &regions, at));
        }
    }
    text
}

/// One line of a tree whose regions come parents first.
fn branch(inventory: &Inventory, regions: &[&Region], at: usize) -> String {
    let region = regions[at];
    let depth = region.path.depth();
    // Whether another region of this depth follows below the same parent.
    let goes_on = |depth: usize| {
        let mut later = regions[at + 1..].iter().take_while(|later| later.path.depth() >= depth);
        later.any(|later| later.path.depth() == depth)
    };
    let mut label: String = (0..depth).map(|depth| if goes_on(depth) { "│  " } else { "   " }).collect();
    label.push_str(if goes_on(depth) { "├─ " } else { "└─ " });
    label.push_str(region.path.name());
    let times = region.times.map_or("open".to_owned(), |times| {
        format!("{:>9} {:>5.1}%", duration(times.total_ns), inventory.share(&times) * 100.0)
    });
    let kind = if region.kind == Kind::StartEnd { "  start/end" } else { "" };
    format!("{label:40} {:>8} {times}{kind}\n", region.instances)
}

fn screen(inventory: &Inventory) -> String {
    let mut text = format!("{}\n", inventory.summary());
    if inventory.is_empty() {
        return text;
    }
    inventory.trace.unread.iter().for_each(|unread| text.push_str(&format!("read in part: {unread}\n")));
    text.push_str("times are host times; share is relative to the time from the first to the last event\n\n");
    text.push_str(&format!(
        "{:36} {:9} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>6}\n",
        "region", "kind", "instances", "threads", "total", "mean", "min", "max", "share"
    ));
    let namesakes = Namesakes::of(&inventory.regions);
    for region in &inventory.regions {
        text.push_str(&row(inventory, region));
        text.push_str(&gates(region, &namesakes));
        text.push_str(&gpu(inventory, region));
    }
    for diagnostic in inventory.trace.distinct_diagnostics() {
        text.push_str(&format!("note: {diagnostic}\n"));
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

/// What it does on the GPU, and whether ncu can replay it.
fn gpu(inventory: &Inventory, region: &Region) -> String {
    let Some(gpu) = inventory.gpu_of(region) else { return String::new() };
    let indent = "  ".repeat(region.path.depth() + 2);
    let replay = inventory.replay(gpu);
    let waits = match gpu.synchronised {
        0 => "never waits for the GPU before it closes",
        all if all == gpu.instances => "waits for the GPU before it closes",
        _ => "waits for the GPU before it closes only sometimes",
    };
    let mut text = format!(
        "{indent}GPU   {} of {}, {}; {waits}\n",
        counted(gpu.launches, "launch"),
        counted(gpu.kernels, "kernel"),
        duration(gpu.gpu_ns)
    );
    let answer = if replay.possible { "range replay can work" } else { "range replay cannot work" };
    let notes =
        if replay.notes.is_empty() { String::new() } else { format!(": {}", replay.notes.join("; ")) };
    text.push_str(&format!("{indent}      {answer}{notes}\n"));
    text
}

/// The expressions that select a region, to be pasted.
fn gates(region: &Region, namesakes: &Namesakes<'_>) -> String {
    let indent = "  ".repeat(region.path.depth() + 2);
    let nsys = match nsys_expression(&region.path, region.wide, NsysDialect::NEWEST) {
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
        Registered::Mixed => "partly registered",
    };
    // nsys has no paths.
    let also = match namesakes.in_nsys(region) {
        Some((other, 0)) => format!("; also opens for `{}`", other.path),
        Some((other, more)) => format!("; also opens for `{}` and {more} more", other.path),
        None => String::new(),
    };
    let include = namesakes.include(region);
    let ncu = shell_word(&include.text);
    let note = include.note.map(|note| format!("    ({note})")).unwrap_or_default();
    format!("{indent}nsys  {nsys}    ({registered}{also})\n{indent}ncu   --nvtx --nvtx-include {ncu}{note}\n")
}
