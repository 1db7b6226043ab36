//! `rangefinder rank`

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use process::{Route, Signals};
use run::job::{Identity, Joined, Parts, TOGETHER, bare, check_one_pass, identity, join, parts, take_result};
use run::steps::{RunError, Start, begin, check};
use run::{Exit, SUMMARY, shell_word};

use super::analyze::{Shown, analyzed};
use super::repeat::shown;
use super::run::execute;
use super::{Usage, here, resolved};
use crate::cli::{AnalyzeArguments, ExitCodeOf, RankArguments, Talk};
use crate::print::say;

/// Recordings of more bytes than this are not put together while a launcher waits.
const MOST_BYTES: u64 = 1 << 30;

/// So much later a rank may come than another one ends.
const FOR_THE_MISSING: Duration = Duration::from_secs(5);

pub(crate) fn main(mut arguments: RankArguments) -> Result<Exit> {
    let identity = identity().map_err(|why| Usage(why.to_string()))?;
    arguments.layers.preset.insert(0, "quick".to_owned());
    let start = Start {
        resolved: resolved(&arguments.layers)?,
        command: arguments.layers.command,
        here: here()?,
        invocation: std::env::args_os().collect(),
        route: Route::Through,
        tracer: crate::TRACER,
        place: None,
    };
    check_one_pass(&start)?;
    let name = check(&start)?;
    let root = start.here.join(&start.resolved.config.run.dir.0);
    let Joined { job, part } = match join(&root, &name, &identity) {
        Ok(joined) => joined,
        Err(error) => return unrecorded(&identity, &error.to_string(), &start),
    };
    let run = match begin(Start { place: Some(part), ..start.clone() }) {
        Err(RunError::Write(error)) => return unrecorded(&identity, &error.to_string(), &start),
        run => run?,
    };
    // Before any thread is started: threads inherit the signal mask.
    let signals = Signals::listen().context("cannot listen for signals")?;
    let talk = Talk { json: false, quiet: !arguments.verbose, verbose: false };
    let exit = execute(run, &signals, talk, ExitCodeOf::Workload)?;
    // From here on only how the program ended counts.
    if let Err(error) = put_together(&signals, &job, &identity) {
        say(&format!("warning: the ranks were not put together: {error:#}"));
    }
    Ok(exit)
}

/// Whoever starts a rank waits for its program: it runs, come what may.
fn unrecorded(identity: &Identity, why: &str, start: &Start) -> Result<Exit> {
    say(&format!("warning: rank {} runs without being recorded: {why}", identity.rank.rank));
    let Some(mut command) = bare(start)? else { bail!("no program to run") };
    let error = command.exec();
    Err(error).with_context(|| format!("cannot start `{}`", command.get_program().to_string_lossy()))
}

/// The last rank to end does it.
fn put_together(signals: &Signals, job: &Path, identity: &Identity) -> Result<()> {
    let Some(parts) = all_that_come(signals, job) else { return Ok(()) };
    let by_hand = format!("rangefinder analyze {}", shell_word(&shown(job)));
    let Some(folder) = take_result(job, identity)? else {
        if std::fs::exists(job.join(TOGETHER).join(SUMMARY))? {
            say(&format!(
                "rank {} ended after the ranks were put together; again, with it: {by_hand}",
                identity.rank.rank
            ));
        }
        return Ok(());
    };
    if parts.runs.iter().map(|run| bytes_of(&run.join("rehearsal"))).sum::<u64>() > MOST_BYTES {
        say(&format!("the recordings of the ranks are large; to put them together: {by_hand}"));
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
        let parts = parts(job)?;
        match () {
            () if parts.under_way > 0 || signals.interrupted() => return None,
            () if parts.missing == 0 || Instant::now() >= until => return Some(parts),
            () => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn bytes_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}
