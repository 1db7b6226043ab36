//! One capture, from the command to the report.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nsight::nsys::{
    Capture, Export, ExportError, Gate, Importer, NoReport, Nsys, Unsealed, clues, command, export_failed,
    import_failed, lost_its_agent, no_report,
};
use nsight::{Clue, last_lines};
use process::{Finished, noted};
use record::{Cause, PassKind, Tool, Verdict};
use trace::Trace;

use super::super::error::RunError;
use super::super::pass::{COMMAND_FILE, Order, carry_out};
use super::super::scene::not_started;
use super::super::session::Session;
use super::nsight::Nsight;
use super::ways::Way;
use crate::config::{Config, Sample};
use crate::quote::shell_word;
use crate::rundir::Files;
use crate::workload::{Purpose, Workload, tmpdir};

const TOOL: Tool = Tool::Nsys;

/// Time for nsys after the workload has ended: importing takes a while.
const LINGER: Duration = Duration::from_secs(5);
/// How often an nsys that lost its agent is started again.
const ATTEMPTS: usize = 2;
const FOLDER: &str = TOOL.as_str();

/// The result of a capture.
pub(super) enum Left {
    /// Nothing readable, and why.
    Nothing(Verdict),
    Report {
        report: Box<Trace>,
        finished: Box<Finished>,
        clues: Vec<Clue>,
    },
}

impl From<Verdict> for Left {
    fn from(verdict: Verdict) -> Self {
        Self::Nothing(verdict)
    }
}

pub(super) fn attempt(climber: &Nsight<'_>, way: &Way, session: &mut Session<'_>) -> Result<Left, RunError> {
    let Nsight { scene, nsys, importer, proof, .. } = climber;
    let folder = session.files.folder(FOLDER)?;
    let own = logs(&session.files.path("workload/rehearsal"));
    let mut attempts = 0;
    let (finished, mut log, resolved) = loop {
        let finished = match capture(climber, way, session) {
            Ok(finished) => finished,
            Err(error) => {
                let text = format!("nsys could not be started: {}", not_started(error)?);
                return Ok(Verdict::failed(TOOL, Cause::NotStarted, text).into());
            }
        };
        let log = logs(&folder);
        attempts += 1;
        let resolved = resolve(importer, &folder);
        // It then leaves nothing, or a broken report.
        let is_usable = resolved.as_ref().is_ok_and(|resolved| !resolved.reports.is_empty());
        if is_usable || !lost_its_agent(&log, &own) || finished.ended_by_us.is_some() {
            break (finished, log, resolved);
        }
        let is_started = scene.workload.started.as_ref().is_some_and(|note| note.exists());
        if attempts == ATTEMPTS || is_started {
            let text = match attempts {
                1 => "nsys lost the connection to its own agent; the program is not started a second time",
                _ => "nsys lost the connection to its own agent, twice",
            };
            let verdict = Verdict::failed(TOOL, Cause::AgentLost, text);
            return Ok(verdict.with_evidence([last_lines(&log)]).into());
        }
        session.warn("nsys lost the connection to its agent; starting it again".to_owned());
    };
    let resolved = match resolved {
        Ok(resolved) if resolved.reports.is_empty() => {
            return Ok(no_report(&NoReport {
                gate: &way.gate,
                finished: &finished,
                log: &log,
                clues: &clues(&log, &own),
                proof: proof.as_ref(),
                disk_is_full: disk_is_full(session.files, &finished),
                delay: delay(&scene.setting.resolved.config, &way.gate),
                took: took(session, &finished),
            })
            .into());
        }
        Ok(resolved) => resolved,
        Err(why) => return Ok(import_failed(importer, &why, &log).into()),
    };
    log.push_str(&resolved.said);
    let unsealed = match export(nsys, importer, &resolved.reports, session.files) {
        Ok(unsealed) => unsealed,
        Err(error) => return Ok(export_failed(&error, &log).into()),
    };
    // Before secrets are masked: the rehearsal it is compared with is not masked, either.
    let databases: Vec<PathBuf> = unsealed.iter().map(|export| export.path().to_owned()).collect();
    let read = trace::read_nsys_session(&databases, trace::Budget::of_process());
    let redactor = &session.files.redactor;
    if let Err(error) = unsealed.into_iter().try_for_each(|export| export.seal(redactor).map(drop)) {
        return Ok(export_failed(&error, &log).into());
    }
    for stream in resolved.streams {
        let _ = std::fs::remove_file(stream);
    }
    Ok(match read {
        Ok(report) => {
            let clues = clues(&log, &own);
            Left::Report { report: Box::new(report), finished: Box::new(finished), clues }
        }
        Err(error) => {
            let text = format!("the export cannot be read: {error}");
            Verdict::failed(TOOL, Cause::ReportUnreadable, text).into()
        }
    })
}

/// Then the log may be missing as well.
fn disk_is_full(files: &Files, finished: &Finished) -> bool {
    /// Less free space than this counts as full.
    const ROOM: u64 = 128 << 10;
    let left = rustix::fs::statvfs(files.root()).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    finished.stdout.disk_full || finished.stderr.disk_full || left.is_ok_and(|left| left < ROOM)
}

/// How long nsys waits before it records; a gate decides for itself, and when a load starts is not known before.
pub(super) fn delay(config: &Config, gate: &Gate) -> Option<Duration> {
    let is_from_the_start = config.capture.load.is_empty() && *gate == Gate::None;
    config.capture.delay.map(|delay| delay.0).filter(|_| is_from_the_start)
}

/// How long the workload ran. nsys itself needs time before and after it, so the rehearsal knows better.
fn took(session: &Session<'_>, finished: &Finished) -> Duration {
    let own = session.own_time();
    if own.is_zero() { finished.wall } else { own.min(finished.wall) }
}

/// Runs the workload under nsys.
/// The program's argv; of one that must not be started twice, so that it is known whether it was.
fn started(workload: &Workload, folder: &Path) -> Vec<OsString> {
    let argv = workload.argv(folder);
    match workload.started.as_ref().zip(std::env::current_exe().ok()) {
        Some((note, ourselves)) => noted(&ourselves, note, &argv),
        None => argv,
    }
}

fn capture(climber: &Nsight<'_>, way: &Way, session: &mut Session<'_>) -> Result<Finished, RunError> {
    let Nsight { scene, nsys, .. } = climber;
    let (setting, workload) = (scene.setting, scene.workload);
    let folder = session.files.folder(&format!("workload/{FOLDER}"))?;
    let output = session.files.folder(FOLDER)?;
    remove_old(&output);
    let (tmpdir, link) = tmpdir(session.folder())?;
    let variables = workload.variables_with_helper(FOLDER, &folder, &tmpdir, Purpose::Plain);
    let config = &setting.resolved.config;
    let sample = match config.nsys.sample {
        Sample::None => None,
        Sample::Cpu => Some("cpu"),
        Sample::ProcessTree => Some("process-tree"),
        Sample::SystemWide => Some("system-wide"),
    };
    let capture = Capture {
        trace: &config.nsys.trace,
        sample,
        gate: way.gate.clone(),
        range_end: setting.nsys_range_end(),
        domains_included: &config.nsys.nvtx_domain_include,
        domains_excluded: &config.nsys.nvtx_domain_exclude,
        follow_forks: way.follow_forks,
        delay: delay(config, &way.gate),
        extra: &config.nsys.extra_args,
        output: &output.join("run"),
    };
    let (argv, left_out) =
        command(&nsys.installation.nsys, &nsys.probe.options, &capture, &started(workload, &folder));
    for option in left_out {
        session.warn(format!("nsys {} does not support {}", nsys.probe.version, shell_word(&option)));
    }
    if config.capture.delay.is_some() && config.capture.load.is_empty() && way.gate != Gate::None {
        let text =
            "`capture.delay` has no effect with a gate: recording starts when the gate opens".to_owned();
        session.warn(text);
    }
    let order = Order {
        pass: PassKind::Nsys.into(),
        command_file: COMMAND_FILE.to_owned(),
        argv,
        variables,
        logs: output,
        linger: LINGER,
        remove: link.into_iter().collect(),
        stop: None,
        grace: Duration::ZERO,
    };
    carry_out(setting, workload, order, session)
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
    /// No longer needed once the export has succeeded.
    streams: Vec<PathBuf>,
    /// By the importer.
    said: String,
}

/// The reports, imported if need be. None when there is nothing.
fn resolve(importer: &Importer, folder: &Path) -> Result<Resolved, String> {
    let left = left_by_nsys(folder);
    let (mut reports, mut streams, mut said) = (Vec::new(), Vec::new(), String::new());
    for path in &left {
        if path.extension().is_none_or(|extension| extension != "qdstrm") {
            reports.push(path.clone());
            continue;
        }
        let report = path.with_extension("nsys-rep");
        // nsys leaves the stream next to a report that it could import.
        if !left.contains(&report) {
            said.push('\n');
            said.push_str(&importer.import(path, &report)?);
            reports.push(report);
        }
        streams.push(path.clone());
    }
    Ok(Resolved { reports, streams, said })
}

/// `run.nsys-rep` → SQLite, one file each.
fn export(
    nsys: &Nsys,
    importer: &Importer,
    reports: &[PathBuf],
    files: &Files,
) -> Result<Vec<Unsealed>, ExportError> {
    let private = files.path("tmp/nsys");
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
