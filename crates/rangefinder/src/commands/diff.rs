//! `rangefinder diff`

use std::path::{Path, PathBuf};

use ::run::Exit;
use ::run::circumstances::{Circumstances, differences};
use ::run::gather::gather;
use ::run::rundir::read_manifest;
use ::run::sides::{Side, side};
use analysis::compare::{Comparison, Profile, compare};
use analysis::{Options, profile};
use anyhow::{Context, Result, anyhow};
use process::{Signals, interruptible};
use report::{Around, Diff};
use secrets::of_environment;
use trace::Trace;

use super::traces::{LeftOut, Selected, exported, opened};
use crate::cli::{DiffArguments, DiffForm};
use crate::print::{print, print_json, say};

pub(crate) fn main(arguments: &DiffArguments) -> Result<Exit> {
    // Before any thread is started: threads inherit the signal mask.
    let signals = Signals::listen().context("cannot listen for signals")?;
    interruptible(
        &signals,
        || compared(arguments),
        || {
            say("interrupted");
        },
    )
}

fn compared(arguments: &DiffArguments) -> Result<Exit> {
    let before = read(&arguments.before)?;
    let after = read(&arguments.after)?;
    let sides = [arguments.before.display().to_string(), arguments.after.display().to_string()];
    tell([&sides[0], &sides[1]], &before, &after, arguments.margin, arguments.form)?;
    Ok(Exit::Complete)
}

/// Compares both sides, and prints what came of it.
pub(super) fn tell(sides: [&str; 2], before: &Read, after: &Read, margin: f64, form: DiffForm) -> Result<()> {
    let comparison = compare(&before.profiles, &after.profiles, margin);
    let around: Vec<Around> = differences(&before.around, &after.around)
        .into_iter()
        .map(|(name, before, after)| Around { name, before, after })
        .collect();
    let notes = notes(before, after, &comparison);
    let diff = Diff::new(sides, &comparison, &around, &notes);
    match form {
        DiffForm { json: true, .. } => print_json(&diff),
        DiffForm { markdown: true, top, .. } => print(&diff.markdown(top)),
        DiffForm { top, .. } => print(&diff.screen(top)),
    }
}

/// What was read of a side.
pub(super) struct Read {
    pub(super) profiles: Vec<Profile>,
    pub(super) around: Circumstances,
}

pub(super) fn read(path: &Path) -> Result<Read> {
    let Side { runs } = side(path).map_err(|why| anyhow!("cannot compare `{}`: {why}", path.display()))?;
    let mut profiles = Vec::new();
    let mut around = runs.first().map(|run| Circumstances::of(run)).unwrap_or_default();
    for run in &runs {
        let (profile, machine) = one_run(run)?;
        profiles.push(profile);
        around.add(machine);
    }
    Ok(Read { profiles, around })
}

/// One run of the program, and what its recording says about the machine. Of a run that recorded nothing, how long the
/// process took is still known.
fn one_run(path: &Path) -> Result<(Profile, Vec<(String, String)>)> {
    let process_ns = process_ns(path);
    let paths: [PathBuf; 1] = [path.to_owned()];
    let given = gather(&paths);
    let mut left = LeftOut::of(&given);
    let mut redactor = of_environment().clone();
    let (sources, folder) = exported(&given.traced, &redactor, &mut left)?;
    let without_trace = process_ns.is_some();
    let selected = Selected::default();
    let trace = opened(&paths, &given.traced, &sources, selected, &mut redactor, &mut left, without_trace)?;
    drop(folder);
    left.tell();
    let mut trace = match trace {
        None if without_trace => Trace::default(),
        trace => trace.ok_or_else(|| left.everything(&paths))?,
    };
    trace.fold_names();
    let profile = Profile { process_ns, ..profile(&trace, &Options::default()) };
    Ok((profile, std::mem::take(&mut trace.machine)))
}

/// Of a run directory.
fn process_ns(run: &Path) -> Option<i64> {
    let manifest = read_manifest(run).ok()?;
    let microseconds = manifest.rehearsal()?.wall_us?;
    i64::try_from(microseconds.checked_mul(1_000)?).ok()
}

fn notes(before: &Read, after: &Read, comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, read) in [("before", before), ("after", after)] {
        let lost = read.profiles.iter().filter(|profile| profile.lost).count();
        if lost > 0 {
            notes.push(format!("{name}, {lost} of {} recordings are incomplete", read.profiles.len()));
        }
        let without = read.profiles.iter().filter(|profile| profile.main.is_none()).count();
        if without > 0 && comparison.iteration_ns.iter().all(|ns| *ns > 0.0) {
            notes.push(format!("{name}, {without} of {} runs have no loop", read.profiles.len()));
        }
    }
    let devices =
        |read: &Read| read.profiles.first().map(|profile| profile.devices.clone()).unwrap_or_default();
    let (a, b) = (devices(before), devices(after));
    if a != b && !a.is_empty() && !b.is_empty() {
        notes.push(format!(
            "other GPUs: {} before, {} after; their times are not to be compared",
            a.join(", "),
            b.join(", ")
        ));
    }
    notes
}
