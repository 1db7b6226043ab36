//! The step `plan`: what will be run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nsight::nsys::{RangeEnd, expected_report_bytes};
use nsight::{Proof, Remedy, ToolProof};

use super::begin::{RunError, Start, check_counters, redactor};
use super::flow::{Run, StepResult};
use super::stage1::NO_TORCH;
use super::{counters, timeline};
use crate::config::{CaptureRange, Config, Enable, Resolved, TimelineSource};
use crate::gates::{NsysTerms, instances, nothing_is_meant, proof_screen, proofs_json, prove_gate};
use crate::nsys::Nsys;
use crate::provenance::Python;
use crate::quote::{shell_line, shell_word};
use crate::rehearsal::{Inventory, read_rehearsal};
use crate::rundir::newest;
use crate::workload::Workload;

/// The gates of the configuration, proven against the rehearsal.
pub(super) fn step(run: &Run) -> Result<StepResult, RunError> {
    let gates = gates(&run.resolved);
    let size = expected_size(run);
    let Some(pass) = run.manifest.workload_pass().filter(|_| !gates.is_empty()) else {
        return Ok(StepResult::Done(size));
    };
    let Some(inventory) = &run.inventory else {
        let why = "the gates are not proven: the rehearsal saw nothing of the program's ranges".to_owned();
        return Ok(StepResult::Done(Some(why)));
    };
    let exit_code = pass.ending.shell_code();
    let prove = |gate: &Gate| prove_gate(&gate.wish, inventory, exit_code, run.nsys_terms());
    let proofs: Vec<Proof> = gates.iter().map(prove).collect();
    run.files.json("plan.json", &proofs_json(&proofs))?;
    let config = &run.resolved.config;
    let (mut done, mut failed, mut asked_for) = (Vec::new(), Vec::new(), false);
    for (gate, proof) in gates.iter().zip(&proofs) {
        if nothing_is_meant(gate.of(proof)) && !inventory.is_complete() {
            done.push(format!("`{}` is not proven: the rehearsal has not seen all of the program", gate.key));
        } else if nothing_is_meant(gate.of(proof)) {
            failed.push(format!("`{}` can match nothing\n{}", gate.key, proof_screen(proof, inventory)));
            asked_for |= run.resolved.set_by_user(gate.key);
        } else {
            done.push(gate.told(proof, config.nsys.strict));
            // The rest of a list is captured all the same, and the verdict says what was not.
            let parts = nsight::wanted(&gate.wish, &inventory.regions);
            let absent = parts.iter().filter(|part| part.regions.is_empty());
            done.extend(absent.map(|part| format!("no range is called `{}`", part.text)));
        }
    }
    if failed.is_empty() {
        done.extend(size);
        return Ok(StepResult::Done(Some(done.join("; "))));
    }
    Ok(StepResult::Failed { why: failed.join("\n").trim_end().to_owned(), asked_for })
}

/// How large the report of nsys will be, as far as the rehearsal can tell.
fn expected_size(run: &Run) -> Option<String> {
    run.provenance.as_ref()?.nsys.as_ref()?;
    let ranges = run.inventory.as_ref()?.trace.ranges.len() as u64;
    let bytes = expected_report_bytes(ranges) as f64;
    let wanted = run.resolved.config.nsys.enable != Enable::False;
    wanted.then(|| format!("nsys: a report of about {:.1} MB, what CUDA does not counted", bytes / 1e6))
}

/// A gate of the configuration.
struct Gate {
    key: &'static str,
    wish: String,
}

impl Gate {
    /// What the tool it is for makes of it.
    fn of<'p>(&self, proof: &'p Proof) -> &'p ToolProof {
        if self.key == NSYS_GATE { &proof.nsys } else { &proof.ncu }
    }

    /// Half a line: what the tool it is for will be given.
    fn told(&self, proof: &Proof, strict: bool) -> String {
        let tool = if self.key == NSYS_GATE { "nsys" } else { "ncu" };
        let proof = self.of(proof);
        match &proof.remedy {
            Remedy::Arguments { .. } | Remedy::Ungated { .. } if strict && self.key == NSYS_GATE => {
                let why = proof.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
                let count = instances(proof.instances);
                format!("{tool}: {} as typed (`nsys.strict`) matches {count}{why}", shell_word(&self.wish))
            }
            Remedy::AsTyped => {
                format!("{tool}: {} matches {}", shell_word(&self.wish), instances(proof.instances))
            }
            Remedy::Arguments { arguments, instances: count, .. } => {
                format!("{tool}: {} matches {}", shell_line(arguments), instances(*count))
            }
            Remedy::Ungated { why } => format!("{tool}: {}: {why}", self.wish),
            Remedy::None => format!("{tool}: {} matches nothing", shell_word(&self.wish)),
        }
    }
}

const NSYS_GATE: &str = "nsys.nvtx_capture";
const NCU_GATE: &str = "ncu.nvtx_include";

fn gates(resolved: &Resolved) -> Vec<Gate> {
    let config = &resolved.config;
    let gated = config.nsys.enable != Enable::False
        && config.nsys.gating_nvtx
        && config.nsys.capture_range != CaptureRange::CudaProfilerApi;
    let nsys = config.nsys.nvtx_capture.iter().filter(|_| gated);
    let ncu = config.ncu.wishes().iter().filter(|_| config.ncu.enable != Enable::False);
    let nsys = nsys.map(|gate| Gate { key: NSYS_GATE, wish: gate.0.clone() });
    nsys.chain(ncu.map(|wish| Gate { key: NCU_GATE, wish: wish.clone() })).collect()
}

/// What `--dry-run` prints. Checks all that `begin` checks, and writes nothing.
pub fn plan_text(start: &Start) -> Result<String, RunError> {
    let config = &start.resolved.config;
    let workload = Workload::new(config, &start.command, &start.here)?;
    check_counters(start)?;
    let redactor = redactor(config);
    let folder = Path::new("RUN/workload/rehearsal");
    let (argv, _) = redactor.argv(&workload.argv(folder));
    let root = start.here.join(&config.run.dir.0);
    let name = config.run.name.as_ref().map_or_else(|| workload.name(), |name| name.0.clone());
    let mut text = format!(
        "run        {}/<time>-{}, called RUN below\nworkload   {}\n  in       {}\n",
        super::begin::shown(&root, &start.here).display(),
        crate::rundir::safe_name(&redactor.text(&name)),
        shell_line(&argv),
        workload.cwd.display(),
    );
    for (name, value) in workload.variables("rehearsal", folder, Path::new("RUN/tmp")) {
        match value {
            Some(value) => text.push_str(&format!("  set      {name}={}\n", redactor.named(&name, &value))),
            None => text.push_str(&format!("  unset    {name}\n")),
        }
    }
    for name in workload.reserved_variables() {
        text.push_str(&format!("  warning  {name} is set: another profiler may be attached already\n"));
    }
    text.push_str(&limits(config));
    let recorded = redactor.argv(&workload.command_with_overrides()).0;
    let latest = latest_rehearsal(&root, &recorded, &workload.cwd);
    let seen = latest.as_ref().map(|latest| (&latest.inventory, Duration::from_millis(latest.wall_ms)));
    text.push_str(&format!(
        "rehearse   {}\nstage1     {}\ntimeline   {}\ncounters   {}\n",
        rehearse(config),
        stage1(config, &workload),
        nsys(&start.resolved),
        counters::planned(&start.resolved, &start.here, seen)?,
    ));
    text.push_str(&gates_text(&start.resolved, latest.as_ref()));
    Ok(text)
}

/// The gates, held against the latest rehearsal of the same workload, if there is one.
fn gates_text(resolved: &Resolved, latest: Option<&Latest>) -> String {
    let gates = gates(resolved);
    if gates.is_empty() {
        return String::new();
    }
    let Some(Latest { run, inventory, exit_code, .. }) = latest else {
        return "gates      not proven: this workload has not been rehearsed yet; the run does it first\n"
            .to_owned();
    };
    let mut text = format!("gates      as rehearsed in {}\n", run.display());
    for gate in gates {
        let terms = NsysTerms::here(&resolved.config, RangeEnd::None);
        let proof = prove_gate(&gate.wish, inventory, *exit_code, terms);
        text.push_str(&format!("\n{}: {}", gate.key, proof_screen(&proof, inventory)));
    }
    text
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
        let inventory =
            read_rehearsal(&run.join("rehearsal")).ok().filter(|inventory| !inventory.is_empty())?;
        Some(Latest { run, inventory, exit_code, wall_ms })
    })
}

fn limits(config: &Config) -> String {
    let mut text = String::new();
    if let Some(timeout) = config.workload.timeout {
        text.push_str(&format!(
            "  limit    {:?}, then SIGTERM, and SIGKILL {:?} later\n",
            timeout.0, config.capture.grace.0
        ));
    }
    if let Some(duration) = config.capture.duration {
        let delay = config.capture.delay.map(|delay| delay.0).unwrap_or_default();
        text.push_str(&format!("  stop     after {:?}\n", delay + duration.0));
    }
    text
}

fn rehearse(config: &Config) -> &'static str {
    match config.rehearsal.enable {
        Enable::False => "skipped: rehearsal.enable=false",
        Enable::Auto | Enable::True => {
            "the workload once, with only our tracer in it (NVTX_INJECTION64_PATH)"
        }
    }
}

/// What is asked for and cannot be had.
pub(super) const WILL_BE_MISSING: &str = "it is asked for, and the exit code will be 1";

fn stage1(config: &Config, workload: &Workload) -> String {
    let lacks = match workload.python() {
        None => Some("the workload is no Python program"),
        Some(_) if config.stage1.enable == Enable::False => None,
        // One that does not answer may still have it.
        Some(_) => Python::of_workload(workload)
            .is_some_and(|python| python.is_ok_and(|python| !python.has_torch()))
            .then_some(NO_TORCH),
    };
    match (config.stage1.enable, lacks) {
        (Enable::False, _) => "skipped: stage1.enable=false".to_owned(),
        (Enable::Auto, Some(lacks)) => format!("skipped: {lacks}"),
        (Enable::True, Some(lacks)) => format!("{lacks}: {WILL_BE_MISSING}"),
        (_, None) => "the workload once more, under PyTorch's profiler, if it imports torch".to_owned(),
    }
}

fn nsys(resolved: &Resolved) -> String {
    let config = &resolved.config;
    let source = config.timeline.source;
    let instead = match config.rehearsal.enable {
        Enable::False => "skipped",
        Enable::Auto | Enable::True => "that of the rehearsal",
    };
    if source == TimelineSource::Tracer {
        return format!("{instead}: timeline.source=tracer");
    }
    if config.nsys.enable == Enable::False && source == TimelineSource::Auto {
        return format!("{instead}: nsys.enable=false");
    }
    let chosen = config.nsys.path.as_ref().map(|path| path.0.as_str());
    match Nsys::locate(chosen, None) {
        Ok(nsys) => format!("the workload once more, under nsys {}", nsys.probe.version),
        Err(none) if timeline::asked_for(resolved) => {
            format!("{none}: {WILL_BE_MISSING}")
        }
        Err(none) => format!("{instead}: {none}"),
    }
}
