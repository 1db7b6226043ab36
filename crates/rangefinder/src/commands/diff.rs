//! `rangefinder diff`

use std::path::{Path, PathBuf};

use ::run::circumstances::{Circumstances, differences};
use ::run::gather::gather;
use ::run::load::load_ns_of_run;
use ::run::repeat::warm_up_of;
use ::run::rundir::{Place, read_manifest, write_named};
use ::run::sides::{Side, side};
use ::run::{Exit, Predicted, predicted};
use analysis::compare::{Comparison, Profile, Timed, Verdict, compare, kernel_counters};
use analysis::{Options, analyze, insight, main_loop, profile};
use anyhow::{Context, Result, anyhow};
use counters::Report;
use process::{Signals, interruptible};
use report::{Around, Compared, Diff, Recorded, compared_html, printable_lines};
use secrets::of_environment;
use trace::Trace;

use super::analyze_settings::Settings;
use super::open::PAGE;
use super::runs::existing;
use super::traces::{LeftOut, Nothing, Selected, counters, exported, opened};
use super::{Usage, shown};
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
    check_page(&arguments.form)?;
    let [before, after] = [existing(arguments.before.clone())?, existing(arguments.after.clone())?];
    let sides = [shown(&before), shown(&after)];
    let [before, after] = [read(&before)?, read(&after)?];
    tell([&sides[0], &sides[1]], &before, &after, arguments.margin, &arguments.form, None)?;
    Ok(Exit::Complete)
}

/// Compares both sides, and prints what came of it; also into the folder in which it is `kept`.
pub(super) fn tell(
    sides: [&str; 2],
    before: &Read,
    after: &Read,
    margin: f64,
    form: &DiffForm,
    kept: Option<&Path>,
) -> Result<()> {
    let comparison = compare(&before.profiles, &after.profiles, margin);
    let around: Vec<Around> = differences(&before.around, &after.around)
        .into_iter()
        .map(|(name, before, after)| Around { name, before, after })
        .collect();
    let mut notes = notes(before, after, &comparison);
    // Other runs lie beside what is compared.
    let beside = kept.unwrap_or(Path::new(sides[0])).parent();
    notes.extend(promised(&before.runs, beside, &comparison));
    let diff = Diff::new(sides, &comparison, &around, &notes);
    match form {
        DiffForm { json: true, .. } => print_json(&diff)?,
        DiffForm { markdown: true, top, .. } => print(&diff.markdown(*top))?,
        DiffForm { top, .. } => print(&diff.screen(*top))?,
    }
    if kept.is_none() && form.html.is_none() {
        return Ok(());
    }
    // Both sides are read for it: once, for whoever wants it.
    let page = page(&diff, [before, after]);
    if let Some(folder) = kept {
        let text = printable_lines(&of_environment().text(&diff.screen(form.top)));
        let written = write_file(&folder.join(::run::SUMMARY), text.as_bytes());
        let written = written.and_then(|()| match &page {
            Ok(html) => write_file(&folder.join(PAGE), html.as_bytes()),
            Err(error) => Err(anyhow!("{error:#}")),
        });
        // What was found is told already.
        if let Err(error) = written {
            say(&format!("warning: the comparison is not kept: {error:#}"));
        }
    }
    if let Some(file) = &form.html {
        write_file(file, page?.as_bytes())?;
        say(&format!("wrote {}", file.display()));
    }
    Ok(())
}

/// Before anything takes long: whether there is a place for the page.
pub(super) fn check_page(form: &DiffForm) -> Result<()> {
    let Some(file) = &form.html else { return Ok(()) };
    let place =
        Place::of(file).map_err(|why| Usage(format!("--html: cannot write `{}`: {why}", file.display())))?;
    let Place::File(file) = place else { return Ok(()) };
    match file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        Some(folder) => Err(Usage(format!("--html: there is no folder `{}`", folder.display())).into()),
        None => Ok(()),
    }
}

pub(super) fn write_file(file: &Path, bytes: &[u8]) -> Result<()> {
    let written = write_named(file, |out| out.write_all(bytes));
    written.with_context(|| format!("cannot write `{}`", file.display()))
}

/// One page about both; each side is shown by its run of the most usual time.
fn page(diff: &Diff<'_>, sides: [&Read; 2]) -> Result<String> {
    let [before, after] = sides.map(|side| usual_trace(side, &diff.comparison.timed));
    let recorded = [before?, after?];
    let main = recorded.each_ref().map(|side| side.as_ref().and_then(|(_, trace)| main_loop(trace)));
    let shown = [0, 1].map(|side: usize| {
        let (name, trace) = recorded[side].as_ref()?;
        Some(Recorded { name, trace, main: main[side].as_ref() })
    });
    Ok(compared_html(&Compared { diff, recorded: shown }))
}

/// The trace of the run whose time is closest to the median of its side, and where it is; none if that run has none.
fn usual_trace(side: &Read, timed: &Timed) -> Result<Option<(String, Trace)>> {
    let time = |profile: &Profile| profile.time_ns(timed);
    let mut times: Vec<f64> = side.profiles.iter().filter_map(time).collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let distance = |profile: &Profile| time(profile).map_or(f64::INFINITY, |time| (time - median).abs());
    let runs = side.runs.iter().zip(&side.profiles);
    let Some((run, _)) = runs.min_by(|a, b| distance(a.1).total_cmp(&distance(b.1))) else {
        return Ok(None);
    };
    Ok(read_run(run, true)?.0.map(|trace| (run.display().to_string(), trace)))
}

/// What was read of a side.
pub(super) struct Read {
    /// Each with the profile at its place; none of a file that keeps only profiles.
    pub(super) runs: Vec<PathBuf>,
    pub(super) profiles: Vec<Profile>,
    pub(super) around: Circumstances,
}

pub(super) fn read(path: &Path) -> Result<Read> {
    if !path.exists() {
        return Err(anyhow!("`{}` does not exist\nhint: rangefinder list", path.display()));
    }
    let Side { runs } = side(path).map_err(|why| anyhow!("cannot compare `{}`: {why}", path.display()))?;
    let mut profiles = Vec::new();
    let mut around = runs.first().map(|run| Circumstances::of(run)).unwrap_or_default();
    for run in &runs {
        let (profile, machine) = one_run(run)?;
        profiles.push(profile);
        around.add(machine);
    }
    take_stacks(path, &mut profiles);
    Ok(Read { runs, profiles, around })
}

/// Runs that are compared are not sampled; the one before them is.
pub(super) fn take_stacks(side: &Path, profiles: &mut [Profile]) {
    let Some(warm_up) = warm_up_of(side) else { return };
    if let (Some(first), Ok((sampled, _))) = (profiles.first_mut(), one_run(&warm_up)) {
        first.take_stacks(sampled);
    }
}

/// One run of the program, and what its recording says about the machine. Of a run that recorded nothing, how long the
/// process took is still known.
fn one_run(path: &Path) -> Result<(Profile, Vec<(String, String)>)> {
    let process_ns = process_ns(path);
    let (trace, report) = read_run(path, process_ns.is_some())?;
    let mut trace = trace.unwrap_or_default();
    let options = Options::default();
    let of_trace = profile(&trace, &options);
    let profile = Profile {
        process_ns,
        counters: report
            .as_ref()
            .map(|report| kernel_counters(report, &options.families))
            .unwrap_or_default(),
        lost: of_trace.lost || report.is_some_and(|report| report.damage.is_some()),
        ..of_trace
    };
    Ok((with_efficiency(path, &trace, profile)?, std::mem::take(&mut trace.machine)))
}

/// MFU, if the run knows its model.
fn with_efficiency(run: &Path, trace: &Trace, mut profile: Profile) -> Result<Profile> {
    if !run.is_dir() || trace.activities.is_empty() {
        return Ok(profile);
    }
    let settings = Settings::of(&[run.to_owned()], &[])?;
    let model = settings.model();
    if model.is_known() {
        let mut analysis = analyze(trace, &Options::default());
        let mut insight = insight(Some((trace, &analysis)), None);
        model.tell(&mut analysis, &mut insight);
        profile.add_efficiency(&analysis.stages, &insight.efficiency);
    }
    Ok(profile)
}

/// Its trace, and what ncu measured. None if there is none, where that may be.
fn read_run(path: &Path, without_trace: bool) -> Result<(Option<Trace>, Option<Report>)> {
    let paths: [PathBuf; 1] = [path.to_owned()];
    let given = gather(&paths);
    let mut left = LeftOut::of(&given);
    let mut redactor = of_environment().clone();
    let (sources, folder) = exported(&given.traced, &redactor, &mut left)?;
    let (report, empty) = counters(&given.counted, &mut redactor, &mut left)?;
    for Nothing { file, why, named } in empty {
        let why = anyhow!("nothing to compare in `{file}`: {why}");
        if named && !path.is_dir() {
            return Err(why);
        }
        left.failed(Path::new(&file), &why);
    }
    let without_trace = without_trace || report.is_some();
    let selected = Selected::default();
    let trace = opened(&paths, &given.traced, &sources, selected, &mut redactor, &mut left, without_trace)?;
    drop(folder);
    left.tell();
    let mut trace = match trace {
        None if without_trace => return Ok((None, report)),
        trace => trace.ok_or_else(|| left.everything(&paths))?,
    };
    trace.fold_names();
    Ok((Some(trace), report))
}

/// Of a run directory.
fn process_ns(run: &Path) -> Option<i64> {
    if let Some(load) = load_ns_of_run(run) {
        return Some(load);
    }
    let manifest = read_manifest(run).ok()?;
    let microseconds = manifest.rehearsal()?.wall_us?;
    i64::try_from(microseconds.checked_mul(1_000)?).ok()
}

/// What a run predicted of an iteration that became faster.
fn promised(before: &[PathBuf], root: Option<&Path>, comparison: &Comparison) -> Option<String> {
    let Timed::Iteration { region: Some(region) } = &comparison.timed else { return None };
    comparison.time.as_ref().filter(|time| time.verdict == Verdict::Faster)?;
    let Predicted { run, without, factor, low, high } = predicted(before.first()?, root, region)?;
    Some(format!(
        "before, the first finding predicted {factor:.2}x as fast ({low:.2}x to {high:.2}x) without `{without}`: {}",
        shown(&run)
    ))
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
    let measured =
        [before, after].map(|read| read.profiles.iter().any(|profile| !profile.counters.is_empty()));
    if measured[0] != measured[1] {
        let side = if measured[0] { "before" } else { "after" };
        notes.push(format!("ncu measured kernels {side} only, so counters are not compared"));
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
