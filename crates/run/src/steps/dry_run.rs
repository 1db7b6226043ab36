//! `--dry-run`: what would run, in words.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nsight::nsys::{Nsys, RangeEnd};
use record::{PassKind, Tool};
use secrets::Redactor;

use super::asked::will_be_missing;
use super::begin::{Start, check_counters, check_paths, redactor, shown};
use super::error::RunError;
use super::plan::{Gate, gates, unchecked, used_as_typed};
use super::stage1::{NO_PYTHON, NO_TORCH};
use super::{counters, timeline};
use crate::config::{Config, Enable, Resolved, Span, TimelineSource};
use crate::gates::{NsysTerms, Reader, nothing_is_meant, proof_screen, prove_gate};
use crate::load::{client_of, ready_of};
use crate::provenance::{Gpus, Python};
use crate::quote::shell_line;
use crate::rehearsal::{Inventory, read_rehearsal};
use crate::rundir::newest;
use crate::workload::Workload;

/// What `--dry-run` prints. Checks everything that `begin` checks, and writes nothing.
pub fn plan_text(start: &Start) -> Result<String, RunError> {
    let config = &start.resolved.config;
    check_paths(start)?;
    let workload = Workload::new(config, &start.command, &start.here)?;
    check_counters(start)?;
    let redactor = redactor(config);
    let folder = Path::new("RUN/workload/rehearsal");
    let (argv, _) = redactor.argv(&workload.argv(folder));
    let root = start.here.join(&config.run.dir.0);
    let name = config.run.name.as_ref().map_or_else(|| workload.name(), |name| name.0.clone());
    let mut text = format!(
        "run        {}/<time>-{}, called RUN below\nworkload   {}\n  in       {}\n",
        shown(&root, &start.here).display(),
        crate::rundir::safe_name(&redactor.text(&name)),
        shell_line(&argv),
        workload.cwd.display(),
    );
    for (name, value) in workload.variables(PassKind::Rehearsal.as_str(), folder, Path::new("RUN/tmp")) {
        match value {
            Some(value) => text.push_str(&format!("  set      {name}={}\n", redactor.named(&name, &value))),
            None => text.push_str(&format!("  unset    {name}\n")),
        }
    }
    for name in workload.reserved_variables() {
        text.push_str(&format!("  warning  {name} is set: another profiler may already be attached\n"));
    }
    text.push_str(&limits(config, &redactor));
    let recorded = redactor.argv(&workload.command_with_overrides()).0;
    let latest = latest_rehearsal(&root, &recorded, &workload.cwd);
    let seen = latest.as_ref().map(|latest| (&latest.inventory, Duration::from_millis(latest.wall_ms)));
    let gpus = Gpus::look(Some(&workload));
    let ncu_refused = refused(Tool::Ncu, &start.resolved, latest.as_ref());
    text.push_str(&format!(
        "rehearse   {}\nstage1     {}\ntimeline   {}\ncounters   {}\n",
        rehearse(config),
        stage1(config, &workload),
        nsys(&start.resolved, latest.as_ref()),
        counters::planned(&start.resolved, &start.here, seen, &gpus, ncu_refused)?,
    ));
    text.push_str(&sampler(config, &gpus));
    text.push_str(&gates_text(&start.resolved, latest.as_ref()));
    Ok(text)
}

/// The gates, checked against the latest rehearsal of the same workload, if there is one.
fn gates_text(resolved: &Resolved, latest: Option<&Latest>) -> String {
    let gates = gates(resolved);
    if gates.is_empty() {
        return String::new();
    }
    let rehearses = resolved.config.rehearsal.enable != Enable::False;
    let Some(Latest { run, inventory, exit_code, .. }) = latest else {
        return match rehearses {
            true => "gates      not checked yet: the run rehearses the workload first\n".to_owned(),
            false => format!("gates      {}\n", unchecked(&gates)),
        };
    };
    let mut text = format!("gates      checked against the rehearsal in {}\n", run.display());
    if !rehearses {
        let typed = used_as_typed(&gates);
        text.push_str(&format!("           this run does not rehearse (rehearsal.enable=false): {typed}\n"));
    }
    let terms = NsysTerms::here(&resolved.config, RangeEnd::None);
    for gate in gates {
        let proof = prove_gate(&gate.wish, inventory, *exit_code, terms);
        let is_pattern = !nsight::patterns(&gate.wish).is_empty();
        let is_strict = resolved.config.nsys.strict && gate.tool == Tool::Nsys;
        let reader = Reader::OfARun { tool: gate.tool, corrects: (rehearses || is_pattern) && !is_strict };
        text.push_str(&format!("\n{}: {}", gate.key, proof_screen(&proof, reader, inventory)));
        if nothing_is_meant(gate.proof(&proof)) && inventory.is_complete() && resolved.set_by_user(gate.key) {
            let what = format!("`{}` ({})", gate.wish, gate.key);
            text.push_str(&format!("\n{}\n", will_be_missing(&what, &"it matches nothing")));
        }
    }
    text
}

/// A gate that the latest rehearsal proves to match nothing: its tool will not be started.
fn refused(tool: Tool, resolved: &Resolved, latest: Option<&Latest>) -> Option<String> {
    let config = &resolved.config;
    // What ncu measures may be another workload than that of the rehearsal.
    let is_same = tool == Tool::Nsys || config.ncu.workload.is_empty();
    let rehearses = config.rehearsal.enable != Enable::False;
    let latest = latest.filter(|latest| rehearses && is_same && latest.inventory.is_complete())?;
    let terms = NsysTerms::here(config, RangeEnd::None);
    let gates = gates(resolved);
    let matches_nothing = |gate: &&Gate| {
        let proof = prove_gate(&gate.wish, &latest.inventory, latest.exit_code, terms);
        gate.tool == tool && nothing_is_meant(gate.proof(&proof))
    };
    let gate = gates.iter().find(matches_nothing)?;
    Some(format!("{tool} will not be started: its gate `{}` matches nothing (see below)", gate.wish))
}

/// The latest rehearsal of a workload.
struct Latest {
    run: PathBuf,
    inventory: Inventory,
    exit_code: i32,
    wall_ms: u64,
}

/// The newest run of this workload that has traces.
fn latest_rehearsal(root: &Path, argv: &[String], cwd: &Path) -> Option<Latest> {
    newest(root).find_map(|(run, manifest)| {
        if manifest.workload.argv != argv || Path::new(&manifest.workload.cwd) != cwd {
            return None;
        }
        let pass = manifest.workload_pass()?;
        let (exit_code, wall_ms) = (pass.ending.shell_code(), pass.wall_ms);
        let inventory = read_rehearsal(&run.join(PassKind::Rehearsal.as_str()))
            .ok()
            .filter(|inventory| !inventory.is_empty())?;
        Some(Latest { run, inventory, exit_code, wall_ms })
    })
}

fn limits(config: &Config, redactor: &Redactor) -> String {
    let mut text = String::new();
    if let Some(timeout) = config.workload.timeout {
        text.push_str(&format!(
            "  limit    {timeout}, then SIGTERM, and SIGKILL {} later\n",
            config.capture.grace
        ));
    }
    let is_loaded = !config.capture.load.is_empty();
    if is_loaded {
        let client = shell_line(&redactor.argv(&client_of(&config.capture)).0);
        let ready = redactor.text(&ready_of(&config.capture).to_string());
        text.push_str(&format!("  load     {client}, {ready}\n"));
    }
    if let Some(duration) = config.capture.duration {
        let delay = config.capture.delay.map(|delay| delay.0).unwrap_or_default();
        let from = if is_loaded { " of the load" } else { "" };
        text.push_str(&format!("  stop     after {}{from}\n", Span(delay + duration.0)));
    } else if is_loaded {
        text.push_str("  stop     when the load has ended\n");
    }
    text
}

fn rehearse(config: &Config) -> &'static str {
    match config.rehearsal.enable {
        Enable::False => "skipped (rehearsal.enable=false)",
        Enable::Auto | Enable::True => {
            "run the workload once under Rangefinder's tracer (NVTX_INJECTION64_PATH)"
        }
    }
}

/// Counters over time that were asked for and cannot be sampled.
fn sampler(config: &Config, gpus: &Gpus) -> String {
    match gpus.why_none_is_visible() {
        Some(why) if config.counters.enable == Enable::True => {
            format!("sampler    {}\n", will_be_missing("counters.enable=true", &why))
        }
        _ => String::new(),
    }
}

fn stage1(config: &Config, workload: &Workload) -> String {
    let lacks = match workload.python() {
        None => Some(NO_PYTHON),
        Some(_) if config.stage1.enable == Enable::False => None,
        // A Python that does not respond may still have torch.
        Some(_) => Python::of_workload(workload)
            .is_some_and(|python| python.is_ok_and(|python| !python.has_torch()))
            .then_some(NO_TORCH),
    };
    match (config.stage1.enable, lacks) {
        (Enable::False, _) => "skipped (stage1.enable=false)".to_owned(),
        (Enable::Auto, Some(lacks)) => format!("skipped ({lacks})"),
        (Enable::True, Some(lacks)) => will_be_missing("stage1", &lacks),
        (_, None) => "run the workload again under the PyTorch profiler, if it imports torch".to_owned(),
    }
}

fn nsys(resolved: &Resolved, latest: Option<&Latest>) -> String {
    let config = &resolved.config;
    let source = config.timeline.source;
    let instead = match config.rehearsal.enable {
        Enable::False => "skipped",
        Enable::Auto | Enable::True => "from Rangefinder's tracer",
    };
    if source == TimelineSource::Tracer {
        return format!("{instead} (timeline.source=tracer)");
    }
    if config.nsys.enable == Enable::False {
        return format!("{instead} (nsys.enable=false)");
    }
    let chosen = config.nsys.path.as_ref().map(|path| path.0.as_str());
    match Nsys::locate(chosen, None) {
        Ok(nsys) => refused(Tool::Nsys, resolved, latest)
            .unwrap_or_else(|| format!("run the workload again under nsys {}", nsys.probe.version)),
        Err(none) if timeline::asked_for(resolved) => will_be_missing("nsys", &none),
        Err(none) => format!("{instead} ({none})"),
    }
}
