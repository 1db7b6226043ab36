//! Step 5: the timeline by nsys, judged by what is in the report.

use std::path::{Path, PathBuf};

use analysis::Region;
use nsight::nsys::{Capture, Cause, Gate, Outcome, Verdict, command, judge, lost_its_agent};
use nsight::{Proof, wanted};

use super::begin::RunError;
use super::flow::{Context, Run, StepResult};
use super::pass::{Order, carry_out};
use crate::config::{Enable, Sample};
use crate::gates::{nothing_is_meant, prove_gate};
use crate::nsys::{Export, Importer, Nsys, last_lines};
use crate::process::{Finished, Reason, SuperviseError};
use crate::quote::shell_word;
use crate::rundir::{StepName, StepStatus, VerdictRecord};
use crate::workload::tmpdir;

const PASS: &str = "nsys";
/// What nsys needs after the workload has ended: importing takes its time.
const LINGER: std::time::Duration = std::time::Duration::from_secs(5);
/// An nsys that lost its agent is started again so often.
const ATTEMPTS: usize = 2;

/// One way to capture.
struct Rung {
    name: &'static str,
    gate: Gate,
    follow_forks: bool,
}

pub(super) fn step(run: &mut Run, context: &mut Context<'_>) -> Result<StepResult, RunError> {
    let config = &run.resolved.config.nsys;
    if config.enable == Enable::False {
        return Ok(StepResult::Skipped { why: "`nsys.enable=false`".to_owned(), asked_for: false });
    }
    let enabled = config.enable == Enable::True && run.resolved.set_by_user("nsys.enable");
    let gated = config.nvtx_capture.is_some() && run.resolved.set_by_user("nsys.nvtx_capture");
    let asked_for = enabled || gated;
    if run.manifest.step(StepName::Rehearse).status == StepStatus::Failed && !asked_for {
        let why = "the workload failed in its rehearsal".to_owned();
        return Ok(StepResult::Skipped { why, asked_for });
    }
    let nsys = match Nsys::locate() {
        Ok(nsys) => nsys,
        Err(why) => {
            let why = format!(
                "{why}: no timeline by Nsight Systems\nhint: install it, or name one with RANGEFINDER_NSYS"
            );
            return Ok(StepResult::Skipped { why, asked_for });
        }
    };
    let proof = gate_proof(run);
    if proof.as_ref().is_some_and(nothing_is_meant) {
        let why = "not started: its gate can match nothing, as the plan says".to_owned();
        return Ok(StepResult::Failed { why, asked_for });
    }
    let importer = nsys.importer(&run.files.path("tmp/nsys-libraries"));
    let mut rungs = rungs(run, proof.as_ref()).into_iter().peekable();
    while let Some(rung) = rungs.next() {
        let verdict = attempt(run, &nsys, &importer, &rung, context)?;
        record(run, &rung, &verdict);
        if run.manifest.passes.last().is_some_and(|pass| pass.ended_by_us == Some(Reason::Interrupted)) {
            return Ok(StepResult::Interrupted(told(&verdict)));
        }
        match verdict.outcome {
            Outcome::Captured => {
                return Ok(StepResult::Done(Some(format!("nsys {}: {}", nsys.version, told(&verdict)))));
            }
            Outcome::Partial => return Ok(StepResult::Failed { why: told(&verdict), asked_for }),
            Outcome::Missed | Outcome::Failed => {}
        }
        // Another gate does not mend an importer.
        let another_may_help = matches!(verdict.cause, Some(Cause::GateNeverOpened | Cause::NoReport));
        match rungs.peek().filter(|_| another_may_help) {
            Some(next) => {
                run.warn(format!("nsys, {}: {}; now {}", rung.name, told(&verdict), next.name), context);
            }
            None => return Ok(fallen_back(run, &verdict, asked_for)),
        }
    }
    // There is always a rung, and the last one returns.
    Ok(StepResult::Skipped { why: "there is no way to capture".to_owned(), asked_for })
}

/// The last rung: what the rehearsal saw.
fn fallen_back(run: &Run, verdict: &Verdict, asked_for: bool) -> StepResult {
    let ranges = run.inventory.as_ref().filter(|inventory| !inventory.is_empty());
    let instead = match ranges {
        Some(inventory) => format!("\nthe rehearsal's ranges are the timeline: {}", inventory.summary()),
        None => String::new(),
    };
    StepResult::Failed { why: format!("{}{instead}", told(verdict)), asked_for }
}

fn gate_proof(run: &Run) -> Option<Proof> {
    let config = &run.resolved.config;
    let wish = config.nsys.nvtx_capture.as_ref().filter(|_| config.nsys.gating_nvtx)?;
    let inventory = run.inventory.as_ref()?;
    let exit_code = run.manifest.workload_pass().map_or(0, |pass| pass.ending.shell_code());
    Some(prove_gate(&wish.0, inventory, config, exit_code))
}

/// As asked first, then without the gate.
fn rungs(run: &Run, proof: Option<&Proof>) -> Vec<Rung> {
    let config = &run.resolved.config.nsys;
    let forks = run
        .inventory
        .as_ref()
        .is_some_and(|inventory| inventory.regions.iter().any(|region| region.forked > 0));
    let ungated = Rung { name: "without a gate", gate: Gate::None, follow_forks: forks };
    let gate = match proof {
        // Where one gate will not do it is applied afterwards.
        Some(proof) => proof.gating.as_ref().map(|gating| (gating.gate.clone(), gating.register_only_off)),
        None if config.capture_range == crate::config::CaptureRange::CudaProfilerApi => {
            return vec![Rung {
                name: "between cudaProfilerStart and Stop",
                gate: Gate::ProfilerApi,
                follow_forks: forks,
            }];
        }
        // Without a rehearsal the gate is used as it was typed.
        None => {
            config.nvtx_capture.as_ref().filter(|_| config.gating_nvtx).map(|gate| (gate.0.clone(), false))
        }
    };
    match gate {
        Some((name, register_only_off)) => {
            let gate = Gate::Range { name, register_only_off };
            vec![Rung { name: "as asked", gate, follow_forks: forks }, ungated]
        }
        None => vec![Rung { name: "as asked", ..ungated }],
    }
}

/// One capture, from the command to the verdict.
fn attempt(
    run: &mut Run,
    nsys: &Nsys,
    importer: &Importer,
    rung: &Rung,
    context: &mut Context<'_>,
) -> Result<Verdict, RunError> {
    let folder = run.files.folder(PASS)?;
    let mut attempts = 0;
    let (finished, log) = loop {
        let finished = match capture(run, nsys, rung, context) {
            Ok(finished) => finished,
            Err(RunError::Supervise(error)) if !matches!(error, SuperviseError::Log { .. }) => {
                return Ok(Verdict::failed(
                    Cause::NotStarted,
                    format!("nsys could not be started: {error}"),
                    None,
                ));
            }
            Err(error) => return Err(error),
        };
        let log = logs(&folder);
        attempts += 1;
        if !lost_its_agent(&log) || attempts == ATTEMPTS || finished.ended_by_us.is_some() {
            break (finished, log);
        }
        run.warn("nsys lost its agent and is started again".to_owned(), context);
    };
    if lost_its_agent(&log) {
        let text = "nsys lost the connection to its own agent, twice";
        let remedy = "let no other nsys run on this machine at the same time".to_owned();
        return Ok(Verdict::failed(Cause::AgentLost, text, Some(remedy)).with_evidence([last_lines(&log)]));
    }
    let report = match resolve(nsys, importer, &folder) {
        Ok(Some(report)) => report,
        Ok(None) => return Ok(no_report(rung, &finished, &log)),
        Err(why) => {
            let cause = if importer.path.is_none() { Cause::ImporterNotFound } else { Cause::ImporterBroken };
            let remedy = importer.problem.as_ref().map(|_| {
                "install what is missing, or name a folder that has it with RANGEFINDER_LIBRARY_PATH; the `.qdstrm` is kept"
                    .to_owned()
            });
            return Ok(Verdict::failed(cause, why, remedy).with_evidence([last_lines(&log)]));
        }
    };
    let database = folder.join("run.sqlite");
    let _ = std::fs::remove_file(&database);
    let export = Export {
        report: &report,
        database: &database,
        private: &run.files.path("tmp/nsys"),
        secrets: &run.files.redactor.known_values(),
    };
    if let Err(why) = nsys.export(importer, &export) {
        return Ok(Verdict::failed(Cause::ExportFailed, why, None));
    }
    match trace::read_nsys(&database) {
        Ok(trace) => Ok(held_against(run, rung, &trace)),
        Err(error) => Ok(Verdict::failed(Cause::ReportUnreadable, error.to_string(), None)),
    }
}

fn held_against(run: &Run, rung: &Rung, trace: &trace::Trace) -> Verdict {
    let none = Vec::new();
    let regions: &Vec<Region> = run.inventory.as_ref().map_or(&none, |inventory| &inventory.regions);
    let wish =
        run.resolved.config.nsys.nvtx_capture.as_ref().filter(|_| run.resolved.config.nsys.gating_nvtx);
    let wanted: Vec<&Region> = match wish {
        Some(wish) => wanted(&wish.0, regions).into_iter().flat_map(|wanted| wanted.regions).collect(),
        None => regions.iter().collect(),
    };
    judge(trace, regions, &wanted, rung.gate != Gate::None)
}

/// nsys ran, and left nothing.
fn no_report(rung: &Rung, finished: &Finished, log: &str) -> Verdict {
    let code = finished.ending.shell_code();
    let evidence = [format!("nsys ended with {}", finished.ending), last_lines(log)];
    let mut verdict = match (&rung.gate, finished.ended_by_us) {
        (_, Some(Reason::Timeout)) => Verdict::failed(
            Cause::TimedOut,
            "the capture ran past `workload.timeout` and left no report",
            Some("give it more time: under a profiler everything takes longer".to_owned()),
        ),
        (_, Some(_)) => {
            Verdict::failed(Cause::NoReport, "the capture was ended before it left a report", None)
        }
        (Gate::Range { .. } | Gate::ProfilerApi, None) if code == 0 => Verdict::failed(
            Cause::GateNeverOpened,
            "the gate never opened, and nsys ended with exit code 0 all the same",
            Some("the rehearsal saw the range: this nsys does not see it; record without a gate".to_owned()),
        ),
        (_, None) if code == 1 => {
            Verdict::failed(Cause::Refused, "nsys refused, and did not run the workload", None)
        }
        (_, None) if !finished.ending.success() => Verdict::failed(
            Cause::WorkloadFailed,
            format!("the workload ended with {} and there is no report", finished.ending),
            None,
        ),
        (_, None) => Verdict::failed(Cause::NoReport, "nsys left no report", None),
    };
    if verdict.cause == Some(Cause::GateNeverOpened) {
        verdict.outcome = Outcome::Missed;
    }
    verdict.with_evidence(evidence)
}

/// Runs the workload under nsys.
fn capture(run: &mut Run, nsys: &Nsys, rung: &Rung, context: &mut Context<'_>) -> Result<Finished, RunError> {
    let relative = format!("workload/{PASS}");
    let folder = run.files.folder(&relative)?;
    let output = run.files.folder(PASS)?;
    for old in ["run.nsys-rep", "run.qdrep", "run.qdstrm"] {
        let _ = std::fs::remove_file(output.join(old));
    }
    let (tmpdir, link) = tmpdir(run.files.root())?;
    let variables = run.workload.variables(PASS, &folder, &tmpdir);
    let config = &run.resolved.config;
    let range_end = config.nsys.capture_range_end.as_ref().map_or("none", |end| end.0.as_str());
    let sample = match config.nsys.sample {
        Sample::None => None,
        Sample::Cpu => Some("cpu"),
        Sample::ProcessTree => Some("process-tree"),
        Sample::SystemWide => Some("system-wide"),
    };
    let capture = Capture {
        trace: &config.nsys.trace,
        sample,
        gate: rung.gate.clone(),
        range_end,
        domains_included: &config.nsys.nvtx_domain_include,
        domains_excluded: &config.nsys.nvtx_domain_exclude,
        follow_forks: rung.follow_forks,
        extra: &config.nsys.extra_args,
        output: &output.join("run"),
    };
    let (argv, left_out) =
        command(&nsys.installation.nsys, &nsys.options, &capture, &run.workload.argv(&folder));
    for option in left_out {
        run.warn(format!("nsys {} does not know {}", nsys.version, shell_word(&option)), context);
    }
    let order = Order { name: PASS, argv, variables, logs: output, linger: LINGER, unlink: link };
    carry_out(run, order, context)
}

/// The report, imported if need be. None when there is nothing.
fn resolve(nsys: &Nsys, importer: &Importer, folder: &Path) -> Result<Option<PathBuf>, String> {
    for name in ["run.nsys-rep", "run.qdrep"] {
        let report = folder.join(name);
        if report.is_file() {
            return Ok(Some(report));
        }
    }
    let stream = folder.join("run.qdstrm");
    if !stream.is_file() {
        return Ok(None);
    }
    let report = folder.join("run.nsys-rep");
    nsys.import(importer, &stream, &report)?;
    let _ = std::fs::remove_file(stream);
    Ok(Some(report))
}

fn logs(folder: &Path) -> String {
    ["stdout.log", "stderr.log"]
        .map(|name| std::fs::read(folder.join(name)).unwrap_or_default())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .join("\n")
}

fn record(run: &mut Run, rung: &Rung, verdict: &Verdict) {
    run.manifest.verdicts.push(VerdictRecord {
        tool: "nsys".to_owned(),
        rung: rung.name.to_owned(),
        verdict: serde_json::to_value(verdict).unwrap_or_default(),
    });
}

/// `captured: 6 of 6 instances`, and what to do.
fn told(verdict: &Verdict) -> String {
    let outcome = match verdict.outcome {
        Outcome::Captured => "captured",
        Outcome::Partial => "partial",
        Outcome::Missed => "missed",
        Outcome::Failed => "failed",
    };
    let remedy = verdict.remedy.as_ref().map(|remedy| format!("\nhint: {remedy}")).unwrap_or_default();
    format!("{outcome}: {}{remedy}", verdict.text)
}
