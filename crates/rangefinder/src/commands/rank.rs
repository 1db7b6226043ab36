//! `rangefinder rank`

use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use process::{Route, Signals};
use run::config::Resolved;
use run::job::{
    BY_NSYS, Identity, Joined, Parts, TOGETHER, bare, check_one_pass, identity, is_under_way, join, no_nsys,
    parts, take_result, was_started, was_taken_before,
};
use run::steps::{Fate, Program, RunError, Start, begin, check};
use run::workload::WorkloadError;
use run::{Exit, SUMMARY, shell_word};

use super::analyze::{Shown, analyzed};
use super::run::execute;
use super::{Usage, here, resolved, shown};
use crate::cli::{AnalyzeArguments, ExitCodeOf, RankArguments, Talk};
use crate::print::say;

/// Recordings of more bytes than this are not merged while a launcher waits.
const MOST_BYTES: u64 = 1 << 30;

/// How long a rank may start after another has ended.
const FOR_THE_MISSING: Duration = Duration::from_secs(5);

pub(crate) fn main(mut arguments: RankArguments) -> Result<Exit> {
    let identity = identity().map_err(|why| Usage(why.to_string()))?;
    arguments.layers.preset.insert(0, "quick".to_owned());
    let mut start = Start {
        resolved: resolved(&arguments.layers)?,
        command: arguments.layers.command.clone(),
        here: here()?,
        invocation: std::env::args_os().collect(),
        route: Route::Through,
        tracer: crate::TRACER,
        place: None,
    };
    // On all ranks alike: others would wait for one that refuses to start.
    check_one_pass(&start)?;
    let config = &start.resolved.config;
    if let Some(why) = identity.meaningless(config).filter(|_| identity.rank.rank == 0) {
        say(&format!("warning: `ranks.select` has {why}"));
    }
    let by_nsys = identity.is_selected(config) && has_nsys(&start.resolved, &identity);
    if by_nsys {
        arguments.layers.overrides.extend(BY_NSYS.map(str::to_owned));
        start.resolved = resolved(&arguments.layers)?;
    }
    let name = match check(&start) {
        // No fault of what was asked for: the program can run there.
        Err(RunError::Workload(why @ WorkloadError::NotUtf8 { .. })) => {
            return unrecorded(&identity, &why.to_string(), &start, None);
        }
        name => name?,
    };
    let root = start.here.join(&start.resolved.config.run.dir.0);
    let Joined { job, part } = match join(&root, &name, &identity) {
        Ok(joined) => joined,
        Err(error) => return unrecorded(&identity, &error.to_string(), &start, None),
    };
    let run = match begin(Start { place: Some(part.clone()), ..start.clone() }) {
        Err(RunError::Write(error)) => {
            // Nothing of this rank will come.
            let _ = std::fs::remove_dir_all(&part);
            return unrecorded(&identity, &error.to_string(), &start, None);
        }
        run => run?,
    };
    // Before any thread is started: threads inherit the signal mask.
    let signals = Signals::listen().context("cannot listen for signals")?;
    let talk = Talk { json: false, quiet: !arguments.verbose, verbose: false };
    let fate = run.fate();
    // A launcher that sees another code than the program's ends all other ranks.
    let executed = catch_unwind(AssertUnwindSafe(|| execute(run, &signals, talk, ExitCodeOf::Workload)));
    let exit = match executed.unwrap_or_else(|_| Err(anyhow!("Rangefinder's own work on it broke off"))) {
        Ok(exit) => exit,
        Err(error) => return broken_off(error, &fate, &part, signals, &identity, &start),
    };
    if by_nsys && !was_started(&part) && !signals.interrupted() {
        signals.unblock().context("cannot unblock signals")?;
        return unrecorded(&identity, "nsys did not start its program", &start, Some(&part));
    }
    // From here on only how the program ended counts.
    let merged = catch_unwind(AssertUnwindSafe(|| merge(&signals, &job, &identity)));
    if let Err(error) = merged.unwrap_or_else(|_| Err(anyhow!("the analysis broke off"))) {
        say(&format!("warning: the ranks were not merged: {error:#}"));
    }
    Ok(exit)
}

/// A rank that nsys cannot record is recorded by the tracer.
fn has_nsys(resolved: &Resolved, identity: &Identity) -> bool {
    match no_nsys(resolved) {
        None => true,
        Some(none) => {
            let rank = identity.rank.rank;
            say(&format!(
                "warning: rank {rank} is recorded by the tracer, not by nsys (`ranks.select`): {none}"
            ));
            false
        }
    }
}

/// The run could not go on, for instance because the disk is full or its folder was removed. The program runs once, whatever
/// becomes of the run, and its exit code is ours.
fn broken_off(
    error: anyhow::Error,
    fate: &Fate,
    part: &Path,
    signals: Signals,
    identity: &Identity,
    start: &Start,
) -> Result<Exit> {
    match fate.program() {
        Program::Ended(code) => {
            say(&format!("warning: rank {}: {error:#}", identity.rank.rank));
            Ok(Exit::Workload(ExitCodeOf::Workload.code(Exit::Missing.code(), Some(code))))
        }
        // Nobody knows with what.
        Program::Started => Err(error),
        Program::NotStarted => {
            signals.unblock().context("cannot unblock signals")?;
            unrecorded(identity, &format!("{error:#}"), start, Some(part))
        }
    }
}

/// Whoever starts a rank waits for its program: it runs, come what may.
fn unrecorded(identity: &Identity, why: &str, start: &Start, run: Option<&Path>) -> Result<Exit> {
    say(&format!("warning: rank {} runs without being recorded: {why}", identity.rank.rank));
    let Some(mut command) = bare(start, run)? else { bail!("no program to run") };
    process::restore_open_files();
    let error = command.exec();
    Err(error).with_context(|| format!("cannot start `{}`", command.get_program().to_string_lossy()))
}

/// The last rank to end does it.
fn merge(signals: &Signals, job: &Path, identity: &Identity) -> Result<()> {
    // A rank that ends at the same time as the one that merges is among those that are merged.
    let ended = SystemTime::now() - Duration::from_secs(1);
    let Some(parts) = all_that_come(signals, job) else { return Ok(()) };
    let (shown_job, folder) = (shell_word(&shown(job)), shell_word(&shown(&job.join(TOGETHER))));
    let by_hand = format!("rangefinder analyze --out {folder} {shown_job}");
    let Some(folder) = take_result(job, identity)? else {
        if was_taken_before(job, ended) {
            let rank = identity.rank.rank;
            say(&format!("rank {rank} ended after the ranks were merged; again, with it: {by_hand}"));
        }
        return Ok(());
    };
    let recorded =
        |run: &PathBuf| ["rehearsal", "nsys"].map(|folder| bytes_of(&run.join(folder))).iter().sum::<u64>();
    if parts.runs.iter().map(recorded).sum::<u64>() > MOST_BYTES {
        say(&format!("the recordings of the ranks are large; to merge them: {by_hand}"));
        return Ok(());
    }
    let arguments = AnalyzeArguments::of(job.to_owned(), folder.clone());
    analyzed(signals, &arguments, Shown::Nothing)?;
    let summary = std::fs::read_to_string(folder.join(SUMMARY)).context("no summary")?;
    say(&format!("{}\n\nranks      {}", summary.trim_end(), shown(&folder)));
    Ok(())
}

/// None if another rank is still under way, which then is the last. One that has not come is given a moment.
fn all_that_come(signals: &Signals, job: &Path) -> Option<Parts> {
    let until = Instant::now() + FOR_THE_MISSING;
    loop {
        if is_under_way(job) || signals.interrupted() {
            return None;
        }
        let parts = parts(job)?;
        match () {
            () if parts.missing == 0 || Instant::now() >= until => return Some(parts),
            () => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn bytes_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}
