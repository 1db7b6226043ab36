//! Traces and reports that a user names: found, exported where nsys must do it, read and masked.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use counters::Report;
use process::PrivateFolder;
use record::PassKind;
use run::gates::{gate_of_run, keep_gated};
use run::gather::{Gathered, Given};
use run::job::rank_of;
use run::load::keep_load_of_run;
use secrets::Redactor;
use trace::{Budget, OpenError, Opened, Trace};

use super::Usage;
use crate::print::say;

/// What of a trace is wanted; everything by default.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Selected<'s> {
    pub(super) within: Option<&'s str>,
    pub(super) include: &'s [String],
    pub(super) exclude: &'s [String],
}

/// Files in a folder that were not analyzed.
pub(super) struct LeftOut {
    notes: Vec<String>,
    /// Files that are neither traces nor reports.
    no_trace: Vec<PathBuf>,
    /// Everything that was skipped.
    files: u64,
}

impl LeftOut {
    /// More than this are only counted.
    const NAMED: usize = 8;

    pub(super) fn of(given: &Gathered) -> Self {
        let (notes, no_trace) = (given.notes.clone(), given.others.clone());
        Self { notes, files: no_trace.len() as u64 + given.special, no_trace }
    }

    fn no_trace(&mut self, path: PathBuf) {
        self.no_trace.push(path);
        self.files += 1;
    }

    pub(super) fn failed(&mut self, path: &Path, error: &anyhow::Error) {
        self.files += 1;
        let why = format!("{error:#}");
        let why = why.split("\nhint:").next().unwrap_or_default();
        let path = path.display().to_string();
        // Most errors already name the file.
        self.notes.push(match why.contains(&path) {
            true => format!("skipped: {why}"),
            false => format!("skipped `{path}`: {why}"),
        });
    }

    pub(super) fn tell(&self) {
        self.notes.iter().take(Self::NAMED).for_each(|note| say(&format!("note: {note}")));
        if let more @ 1.. = self.notes.len().saturating_sub(Self::NAMED) {
            say(&format!("note: {more} more skipped"));
        }
        let named = self.no_trace.iter().take(Self::NAMED).map(|path| format!("`{}`", path.display()));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = match self.no_trace.len().saturating_sub(Self::NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match self.no_trace.len() {
            0 => {}
            1 => say(&format!("note: skipped 1 file that is neither trace nor report: {named}")),
            files => say(&format!(
                "note: skipped {files} files that are neither traces nor reports: {named}{more}"
            )),
        }
    }

    /// Nothing could be analyzed.
    pub(super) fn everything(&self, paths: &[PathBuf]) -> anyhow::Error {
        let shown: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
        let skipped = match self.files {
            0 => "no trace and no report".to_owned(),
            1 => "its only file was skipped".to_owned(),
            files => format!("all {files} files were skipped"),
        };
        anyhow!("nothing to analyze in {}: {skipped}", shown.join(", "))
    }
}

/// Its regions, for a message.
pub(super) fn ranges_in(trace: &Trace) -> String {
    let there = analysis::regions(trace);
    if there.is_empty() { "none".to_owned() } else { nsight::listed(&there) }
}

/// What to say of a folder without traces if it is that of a run.
fn without_traces(error: OpenError) -> anyhow::Error {
    match &error {
        OpenError::EmptyFolder { path } if path.join(record::MANIFEST).is_file() => {
            let run = path.display();
            let hint = match path.join(run::SUMMARY).is_file() {
                true => format!("\nhint: `rangefinder report {run}` shows what it has"),
                false => String::new(),
            };
            anyhow!("the run `{run}` has no ranges, CUDA calls or kernels to analyze{hint}")
        }
        _ => error.into(),
    }
}

/// None if there is no trace. That is an error unless there is something else to tell (`judged`): a run may have counters but
/// no timeline.
pub(super) fn opened(
    paths: &[PathBuf],
    given: &[Given],
    sources: &[Source],
    selected: Selected<'_>,
    redactor: &mut Redactor,
    left: &mut LeftOut,
    judged: bool,
) -> Result<Option<Trace>> {
    if given.is_empty() {
        return match paths.iter().find(|path| path.is_dir()) {
            Some(path) if !judged => Err(without_traces(OpenError::EmptyFolder { path: path.clone() })),
            _ => Ok(None),
        };
    }
    let files: Vec<PathBuf> = sources.iter().map(|(file, _)| file.clone()).collect();
    let Opened { mut trace, failed } = trace::open_each(&files, Budget::of_process());
    for recording in &mut trace.recordings {
        if let Some((_, given)) = sources.iter().find(|(file, _)| *file == Path::new(&recording.file)) {
            recording.file = given.display().to_string();
        }
    }
    // nsys does not know ranks; the run that it recorded does.
    for recording in &trace.recordings {
        let Some(rank) = rank_of(Path::new(&recording.file)) else { continue };
        for process in
            &mut trace.processes[recording.processes.start as usize..recording.processes.end as usize]
        {
            if process.rank().is_none() {
                process.label = format!("rank {rank}");
            }
        }
    }
    for (path, error) in failed {
        let without_trace = matches!(error, OpenError::EmptyFolder { .. }) && judged;
        match given.iter().any(|given| given.named && given.path == path) {
            _ if without_trace => {}
            true => return Err(without_traces(error)),
            false if error.is_no_trace() => left.no_trace(path),
            false => left.failed(&path, &error.into()),
        }
    }
    if trace.recordings.is_empty() {
        return Ok(None);
    }
    // Our own exports are masked already; those made by others are not.
    redactor.learn_from(trace.names());
    trace.rename(|text| redactor.name(text));
    keep_within(&mut trace, &files, selected.within, redactor)?;
    analysis::keep_kernels(&mut trace, selected.include, selected.exclude).map_err(Usage)?;
    Ok(Some(trace))
}

/// The ranges the user named, or those nsys was gated on in this run; of a server with a client, while that ran.
fn keep_within(trace: &mut Trace, files: &[PathBuf], named: Option<&str>, redactor: &Redactor) -> Result<()> {
    let has_timeline = |run: &Path| !trace::timeline_files(&run.join("nsys")).is_empty();
    let pass = |run: &Path| if has_timeline(run) { PassKind::Nsys } else { PassKind::Rehearsal };
    if let [run] = files
        && let Some(told) = keep_load_of_run(trace, run, pass(run))
    {
        say(&format!("warning: {told}"));
    }
    let run = match files {
        [run] if has_timeline(run) => gate_of_run(run),
        _ => None,
    };
    let run = run.map(|(wish, rehearsed)| {
        (wish, rehearsed.map(|rehearsed| rehearsed.renamed(|text| redactor.name(text))))
    });
    match (named, run) {
        (Some(wish), run) => {
            let rehearsed = run.and_then(|(_, rehearsed)| rehearsed);
            let marked = redactor.name(wish);
            let wish = marked.as_deref().unwrap_or(wish);
            let there = ranges_in(trace);
            if let Some(missing) = keep_gated(trace, wish, rehearsed.as_ref()).first() {
                return Err(anyhow!("{missing} in the trace\nhint: it has {there}"));
            }
        }
        (None, Some((wish, rehearsed))) => {
            keep_gated(trace, &wish, rehearsed.as_ref());
        }
        (None, None) => {}
    }
    Ok(())
}

/// A file that could be read but contains nothing to analyze.
pub(super) struct Nothing {
    pub(super) file: String,
    pub(super) why: String,
    /// Named by the user; otherwise it is one of several in a folder.
    pub(super) named: bool,
}

/// What ncu reports have together, masked, and those that have nothing.
pub(super) fn counters(
    given: &[Given],
    redactor: &mut Redactor,
    left: &mut LeftOut,
) -> Result<(Option<Report>, Vec<Nothing>)> {
    let (reports, empty) = reports(given, left)?;
    let mut counters = Report::joined(reports);
    if let Some(counters) = &mut counters {
        redactor.learn_from(counters.names());
        counters.rename(|text| redactor.name(text));
    }
    Ok((counters, empty))
}

/// ncu reports that contain results, and those that do not.
fn reports(given: &[Given], left: &mut LeftOut) -> Result<(Vec<Report>, Vec<Nothing>)> {
    let (mut reports, mut empty) = (Vec::new(), Vec::new());
    for Given { path, named } in given {
        match counters::open(path) {
            Ok(mut report) => match report.nothing_measured() {
                None => {
                    // Several reports are read as one.
                    if let Some(damage) = &mut report.damage {
                        let file = path.file_name().unwrap_or_default().to_string_lossy();
                        damage.what = format!("{file}: {}", damage.what);
                    }
                    reports.push(report);
                }
                Some(why) => empty.push(Nothing { file: path.display().to_string(), why, named: *named }),
            },
            Err(error) if *named => return Err(error.into()),
            Err(error) => left.failed(path, &error.into()),
        }
    }
    Ok((reports, empty))
}

/// A file to read, and the file the user gave.
pub(super) type Source = (PathBuf, PathBuf);

/// What to read. Some files must first be exported by nsys, into a private folder that is removed at exit.
pub(super) fn exported(
    given: &[Given],
    redactor: &Redactor,
    left: &mut LeftOut,
) -> Result<(Vec<Source>, Option<PrivateFolder>)> {
    let is_raw = |given: &Given| trace::is_unexported(&given.path) && given.path.is_file();
    let private = given.iter().any(is_raw).then(PrivateFolder::new).transpose();
    let private = private.context("cannot create a temporary folder for the export")?;
    let mut files = Vec::new();
    for (number, given) in given.iter().enumerate() {
        let path = &given.path;
        let Some(private) = private.as_ref().filter(|_| is_raw(given)) else {
            files.push((path.clone(), path.clone()));
            continue;
        };
        let folder = private.path().join(number.to_string());
        std::fs::create_dir_all(&folder)?;
        match nsight::nsys::to_sqlite(path, &folder, redactor) {
            Ok(file) => files.push((file, path.clone())),
            Err(why) if given.named => return Err(anyhow!(why)),
            Err(why) => left.failed(path, &anyhow!(why)),
        }
    }
    Ok((files, private))
}
