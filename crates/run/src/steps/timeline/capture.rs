//! One capture, from the command to the report.

use std::path::{Path, PathBuf};

use nsight::Proof;
use nsight::nsys::{Capture, Gate, command, lost_its_agent, told_by};
use nsight::verdict::{Cause, Verdict};
use trace::Trace;

use super::super::begin::RunError;
use super::super::flow::{Context, Run};
use super::super::pass::{COMMAND_FILE, Order, carry_out};
use super::verdict::{held_against, no_report};
use super::{Rung, TOOL};
use crate::ask::last_lines;
use crate::config::Sample;
use crate::nsys::{Export, ExportError, Importer, Nsys, Unsealed};
use crate::process::{Finished, SuperviseError};
use crate::quote::shell_word;
use crate::workload::{Purpose, tmpdir};

/// What nsys needs after the workload has ended: importing takes its time.
const LINGER: std::time::Duration = std::time::Duration::from_secs(5);
/// An nsys that lost its agent is started again so often.
const ATTEMPTS: usize = 2;

/// What came of a rung.
pub(super) struct Attempted {
    pub(super) verdict: Verdict,
    pub(super) report: Option<Trace>,
}

impl From<Verdict> for Attempted {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, report: None }
    }
}

pub(super) fn attempt(
    run: &mut Run,
    nsys: &Nsys,
    importer: &Importer,
    rung: &Rung,
    proof: Option<&Proof>,
    context: &mut Context<'_>,
) -> Result<Attempted, RunError> {
    let folder = run.files.folder(TOOL)?;
    let own = logs(&run.files.path("workload/rehearsal"));
    let mut attempts = 0;
    let (finished, mut log, resolved) = loop {
        let finished = match capture(run, nsys, rung, context) {
            Ok(finished) => finished,
            Err(RunError::Supervise(error)) if !matches!(error, SuperviseError::Log { .. }) => {
                let text = format!("nsys could not be started: {error}");
                return Ok(Verdict::failed(Cause::NotStarted, text).into());
            }
            Err(error) => return Err(error),
        };
        let log = logs(&folder);
        attempts += 1;
        let resolved = resolve(nsys, importer, &folder);
        // It then leaves nothing, or half of something.
        let is_usable = resolved.as_ref().is_ok_and(|resolved| !resolved.reports.is_empty());
        if is_usable || !lost_its_agent(&log, &own) || finished.ended_by_us.is_some() {
            break (finished, log, resolved);
        }
        if attempts == ATTEMPTS {
            let text = "nsys lost the connection to its own agent, twice";
            return Ok(Verdict::failed(Cause::AgentLost, text).with_evidence([last_lines(&log)]).into());
        }
        run.warn("nsys lost its agent and is started again".to_owned(), context);
    };
    let reports = match resolved {
        Ok(resolved) if resolved.reports.is_empty() => {
            let told = told_by(&log, &own);
            return Ok(no_report(run, rung, &finished, &log, &told, proof).into());
        }
        Ok(resolved) => {
            log.push_str(&resolved.said);
            resolved
        }
        Err(why) => return Ok(import_failed(importer, &why, &log).into()),
    };
    let unsealed = match export(run, nsys, importer, &reports.reports) {
        Ok(unsealed) => unsealed,
        Err(error) => return Ok(export_failed(&error, &log).into()),
    };
    // Before the secrets in it are marked: the rehearsal it is held against is not, either.
    let databases: Vec<PathBuf> = unsealed.iter().map(|export| export.path().to_owned()).collect();
    let read = trace::read_nsys_session(&databases);
    if let Err(error) = unsealed.into_iter().try_for_each(|export| export.seal(&run.files.redactor).map(drop))
    {
        return Ok(export_failed(&error, &log).into());
    }
    for stream in reports.streams {
        let _ = std::fs::remove_file(stream);
    }
    match read {
        Ok(report) => {
            let told = told_by(&log, &own);
            let verdict = held_against(run, rung, &report, &finished, &told, proof, context)?;
            Ok(Attempted { verdict, report: Some(report) })
        }
        Err(error) => {
            let text = format!("the export cannot be read: {error}");
            Ok(Verdict::failed(Cause::ReportUnreadable, text).into())
        }
    }
}

fn import_failed(importer: &Importer, why: &str, log: &str) -> Verdict {
    let full =
        told_by(why, "").into_iter().chain(told_by(log, "")).find(|told| told.cause == Cause::DiskFull);
    let cause = match (full, importer.path.is_none()) {
        (Some(full), _) => full.cause,
        (None, true) => Cause::ImporterNotFound,
        (None, false) => Cause::ImporterBroken,
    };
    Verdict::failed(cause, why).with_evidence([last_lines(log)])
}

fn export_failed(error: &ExportError, log: &str) -> Verdict {
    let why = error.to_string();
    let full =
        told_by(&why, "").into_iter().chain(told_by(log, "")).any(|told| told.cause == Cause::DiskFull);
    let cause = match error {
        _ if full => Cause::DiskFull,
        ExportError::Failed(_) => Cause::ExportFailed,
        ExportError::Unreadable(_) => Cause::ReportUnreadable,
    };
    Verdict::failed(cause, why)
}

/// Runs the workload under nsys.
fn capture(run: &mut Run, nsys: &Nsys, rung: &Rung, context: &mut Context<'_>) -> Result<Finished, RunError> {
    let folder = run.files.folder(&format!("workload/{TOOL}"))?;
    let output = run.files.folder(TOOL)?;
    remove_old(&output);
    let (tmpdir, link) = tmpdir(run.files.root())?;
    let variables = run.workload.variables_with_helper(TOOL, &folder, &tmpdir, Purpose::Plain);
    let config = &run.resolved.config;
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
        range_end: run.nsys_range_end(),
        domains_included: &config.nsys.nvtx_domain_include,
        domains_excluded: &config.nsys.nvtx_domain_exclude,
        follow_forks: rung.follow_forks,
        delay: config.capture.delay.map(|delay| delay.0).filter(|_| rung.gate == Gate::None),
        extra: &config.nsys.extra_args,
        output: &output.join("run"),
    };
    let (argv, left_out) =
        command(&nsys.installation.nsys, &nsys.probe.options, &capture, &run.workload.argv(&folder));
    for option in left_out {
        run.warn(format!("nsys {} does not know {}", nsys.probe.version, shell_word(&option)), context);
    }
    if run.resolved.config.capture.delay.is_some() && rung.gate != Gate::None {
        let text =
            "`capture.delay` has no effect with a gate: recording begins when the gate opens".to_owned();
        run.warn(text, context);
    }
    let order = Order {
        name: TOOL,
        pass: TOOL.to_owned(),
        command_file: COMMAND_FILE.to_owned(),
        argv,
        variables,
        logs: output,
        linger: LINGER,
        remove: link.into_iter().collect(),
        stop: None,
        grace: std::time::Duration::ZERO,
    };
    carry_out(run, order, context)
}

/// What an earlier rung left.
fn remove_old(folder: &Path) {
    for path in trace::timeline_files(folder).into_iter().chain(left_by_nsys(folder)) {
        let _ = std::fs::remove_file(path);
    }
}

/// Reports and streams: `run.nsys-rep`, `run.1.nsys-rep`, `run.qdstrm`, in their order.
fn left_by_nsys(folder: &Path) -> Vec<PathBuf> {
    trace::capture_files(folder, &["nsys-rep", "qdrep", "qdstrm"])
}

/// What can be exported.
struct Resolved {
    reports: Vec<PathBuf>,
    /// Not needed any more when the export has succeeded.
    streams: Vec<PathBuf>,
    /// By the importer.
    said: String,
}

/// The reports, imported if need be. None when there is nothing.
fn resolve(nsys: &Nsys, importer: &Importer, folder: &Path) -> Result<Resolved, String> {
    let left = left_by_nsys(folder);
    let (mut reports, mut streams, mut said) = (Vec::new(), Vec::new(), String::new());
    for path in &left {
        if path.extension().is_none_or(|extension| extension != "qdstrm") {
            reports.push(path.clone());
            continue;
        }
        let report = path.with_extension("nsys-rep");
        // nsys leaves the stream beside a report that it could import.
        if !left.contains(&report) {
            said.push('\n');
            said.push_str(&nsys.import(importer, path, &report)?);
            reports.push(report);
        }
        streams.push(path.clone());
    }
    Ok(Resolved { reports, streams, said })
}

/// `run.nsys-rep` → SQLite, each of its own.
fn export(
    run: &Run,
    nsys: &Nsys,
    importer: &Importer,
    reports: &[PathBuf],
) -> Result<Vec<Unsealed>, ExportError> {
    let private = run.files.path("tmp/nsys");
    let export = |report: &PathBuf| {
        let database = report.with_extension("sqlite");
        nsys.export(importer, &Export { report, database: &database, private: &private })
    };
    reports.iter().map(export).collect()
}

fn logs(folder: &Path) -> String {
    ["stdout.log", "stderr.log"]
        .map(|name| std::fs::read(folder.join(name)).unwrap_or_default())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .join("\n")
}
