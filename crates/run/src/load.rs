//! The client that keeps a server busy: how it went, and of which time an analysis then speaks.

use std::ffi::OsString;
use std::path::Path;

use process::{Ending, Finished, LoadProblem, Loaded, Ready, Reason};
use record::{Moment, Pass, PassKind, counted};
use trace::{Selection, Trace};

use crate::config::{CaptureConfig, Request, resolve};
use crate::rundir::read_manifest;

/// What the client prints, in the folder of the pass.
pub(crate) const LOGS: [&str; 2] = ["load.stdout.log", "load.stderr.log"];

pub(crate) fn client_of(config: &CaptureConfig) -> Vec<OsString> {
    config.load.iter().map(OsString::from).collect()
}

/// When the client is started.
pub(crate) fn ready_of(config: &CaptureConfig) -> Ready {
    let ready = config.ready.as_ref().and_then(|ready| Ready::parse(&ready.0).ok());
    ready.unwrap_or(Ready::AtOnce)
}

/// What was wrong with the load, if anything; `logs` is the folder of its logs.
pub(crate) fn trouble(finished: &Finished, logs: &Path) -> Option<String> {
    let load = finished.load.as_ref()?;
    match (&load.problem, load.ending) {
        // Somebody else says why.
        (Some(LoadProblem::Ended), _) if finished.ended_by_us.is_some() || !finished.ending.success() => None,
        (Some(LoadProblem::Ended), _) => Some("the workload ended by itself before its load did".to_owned()),
        (Some(problem @ LoadProblem::NotReady { .. }), _) => {
            Some(format!("{problem} (`capture.ready`; `capture.ready_within` says how long to wait)"))
        }
        (Some(problem @ LoadProblem::NotStarted(_)), _) => Some(problem.to_string()),
        (None, Some(ending)) if !ending.success() && finished.ended_by_us.is_none() => {
            Some("the workload ended by itself before its load did".to_owned())
        }
        (None, Some(ending)) if !ending.success() => {
            let said = LOGS.iter().rev().find_map(|log| last_line(&logs.join(log)));
            let said = said.map(|line| format!(": {line}")).unwrap_or_default();
            Some(format!("the load failed with {ending}{said}"))
        }
        (None, _) => None,
    }
}

/// The workload was ended because its load had ended, and well.
pub(crate) fn is_loaded(finished: &Finished) -> bool {
    let is_well = |load: &Loaded| load.problem.is_none() && load.ending.is_some_and(Ending::success);
    finished.ended_by_us == Some(Reason::Stopped) && finished.load.as_ref().is_some_and(is_well)
}

/// How the workload ended after its load, if it did.
pub(crate) fn ended_with(finished: &Finished) -> Option<String> {
    let load = finished.load.as_ref().filter(|load| load.problem.is_none())?;
    let took = load.ended?.monotonic_ns.saturating_sub(load.began?.monotonic_ns);
    let is_ended = finished.ended_by_us == Some(Reason::Stopped);
    is_ended.then(|| format!("the load took {:.1} s, and then the workload was ended", took as f64 / 1e9))
}

fn last_line(log: &Path) -> Option<String> {
    let bytes = std::fs::read(log).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// Leaves what was recorded while the load ran and counts. What there is to say about that.
pub(crate) fn keep_loaded(trace: &mut Trace, pass: &Pass, config: &CaptureConfig) -> Option<String> {
    let load = pass.load.as_ref()?;
    let at = |moment: Moment| match pass.name.kind {
        PassKind::Nsys => Some(moment.since_1970_ns.saturating_sub(trace.session_start?)),
        // The tracer counts from when the machine was started.
        _ => Some(moment.monotonic_ns),
    };
    let Some((began, mut end)) = load.began.and_then(at).zip(load.ended.and_then(at)) else {
        return Some(
            "the time of the load is not known: all that was recorded is analyzed, start-up included"
                .to_owned(),
        );
    };
    let delay = config.delay.map_or(0, |delay| i64::try_from(delay.0.as_nanos()).unwrap_or(i64::MAX));
    let mut begin = began.saturating_add(delay);
    if let Some(duration) = config.duration {
        let duration = i64::try_from(duration.0.as_nanos()).unwrap_or(i64::MAX);
        end = end.min(begin.saturating_add(duration));
    }
    let mut told = None;
    if let Some(warm_up) = config.warm_up.filter(|warm_up| *warm_up > 0) {
        let mut ends = analysis::request_ends(trace);
        ends.retain(|end| *end >= began);
        match ends.get(warm_up as usize - 1) {
            Some(end) => begin = begin.max(*end),
            None => {
                let seen = counted(ends.len() as u64, "request");
                told = Some(format!(
                    "`capture.warm_up={warm_up}` has no effect: the ranges show {seen} that ended\nhint: `request()` of the helper makes requests known, or `--auto` for transformers"
                ));
            }
        }
    }
    if begin >= end {
        let text =
            "the load had ended before `capture.delay` and `capture.warm_up` were over: all of it counts";
        (begin, told) = (began, Some(text.to_owned()));
    }
    let is_counted = |time: &i64| (begin..end).contains(time);
    let times = [&trace.ranges.begin, &trace.calls.begin, &trace.activities.begin];
    if !times.into_iter().flatten().any(is_counted) {
        return Some("nothing was recorded while the load ran: does it reach this workload?".to_owned());
    }
    trace.keep_windows(vec![(begin, end)], Selection::Load);
    told
}

/// How long the load of a run took, in its rehearsal; None if it had none.
pub fn load_ns_of_run(run: &Path) -> Option<i64> {
    let manifest = read_manifest(run).ok()?;
    let load = manifest.rehearsal()?.load.as_ref()?;
    Some(load.ended?.monotonic_ns.saturating_sub(load.began?.monotonic_ns))
}

/// The same for what was recorded in a pass of a run.
pub fn keep_load_of_run(trace: &mut Trace, run: &Path, kind: PassKind) -> Option<String> {
    let manifest = read_manifest(run).ok()?;
    let file = Some(run.join("config.yaml")).filter(|file| file.is_file())?;
    let resolved = resolve(&Request { file: Some(file), cwd: run.to_owned(), ..Request::default() }).ok()?;
    let pass = manifest.passes.iter().find(|pass| pass.name.kind == kind)?;
    keep_loaded(trace, pass, &resolved.config.capture)
}
