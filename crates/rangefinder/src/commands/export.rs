//! `rangefinder export`

use std::path::Path;

use analysis::{Options, Scope, analyze_attributed, attribute, beside, insight};
use anyhow::{Context, Result, anyhow};
use dataset::Source;
use process::{Signals, interruptible};
use report::bytes;
use run::Exit;
use run::export::{Written, export, identify, open_dataset, units};
use run::gather::gather;
use run::rundir::{read_manifest, remove_unfinished};
use secrets::of_environment;

use super::analyze::confined;
use super::analyze_settings::Settings;
use super::traces::{LeftOut, Selected, counters, exported, opened};
use crate::cli::ExportArguments;
use crate::print::{print_json, say};

pub(crate) fn main(arguments: ExportArguments) -> Result<Exit> {
    // Before any thread is started: threads inherit the signal mask.
    let signals = Signals::listen().context("cannot listen for signals")?;
    interruptible(
        &signals,
        || work(&arguments),
        || {
            say("interrupted: runs that are exported stay, and the others can be exported again");
            remove_unfinished()
        },
    )
}

/// Each for itself: what cannot be exported does not keep others from it.
fn work(arguments: &ExportArguments) -> Result<Exit> {
    if let Some(path) = arguments.files.iter().find(|path| !path.exists()) {
        return Err(anyhow!("`{}` does not exist\nhint: rangefinder list", path.display()));
    }
    open_dataset(&arguments.parquet).map_err(|why| anyhow!(why))?;
    let given = gather(&arguments.files);
    let units = units(&given);
    LeftOut::of(&given).tell();
    let mut done = Vec::new();
    let mut failed = 0_usize;
    for (number, unit) in units.iter().enumerate() {
        let result = apart(unit, &arguments.parquet);
        let of = if units.len() > 1 { format!("{} of {}: ", number + 1, units.len()) } else { String::new() };
        match result {
            Ok(written) => {
                if !arguments.json {
                    say(&format!("{of}{}", line(&written)));
                }
                done.push(written);
            }
            Err(error) => {
                failed += 1;
                say(&format!("error: {of}`{}`: {error:#}", unit.display()));
            }
        }
    }
    if arguments.json {
        print_json(&done)?;
    }
    match (done.is_empty(), failed) {
        (true, 0) => Err(anyhow!("nothing to export: no run, trace or report was found")),
        (_, 0) => Ok(Exit::Complete),
        _ => Ok(Exit::Missing),
    }
}

/// A run that has just been made.
pub(super) fn add(run: &Path, dataset: &Path) -> Result<()> {
    open_dataset(dataset).map_err(|why| anyhow!(why))?;
    let written = apart(run, dataset)?;
    say(&format!("dataset    {}: {}", dataset.display(), line(&written)));
    Ok(())
}

/// What reads files of others may only read and write there, and that cannot be taken back: a thread for each.
fn apart(unit: &Path, dataset: &Path) -> Result<Written> {
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new().spawn_scoped(scope, || one(unit, dataset));
        match started {
            // It has said why.
            Ok(started) => started.join().unwrap_or_else(|_| Err(anyhow!("this file ends the export"))),
            Err(error) => Err(anyhow!("cannot start a thread: {error}")),
        }
    })
}

/// `20260102-030405-infer.py-0123456789ab: 2 findings, 1,000 launches, 12 tables, 45.1 kB`
fn line(written: &Written) -> String {
    let rank = written.rank.map(|rank| format!(", rank {rank}")).unwrap_or_default();
    let rows = |table: &str| written.rows.get(table).copied().unwrap_or(0) as u64;
    format!(
        "{}{rank}: {}, {}, {}, {}",
        written.run,
        record::counted(rows("findings"), "finding"),
        record::counted(rows("launches"), "launch"),
        record::counted(written.rows.len() as u64, "table"),
        bytes(written.bytes as f64)
    )
}

/// A run directory, a trace or a report.
fn one(path: &Path, folder: &Path) -> Result<Written> {
    let paths = [path.to_owned()];
    let settings = Settings::of(&paths, &[])?;
    let given = gather(&paths);
    let mut left = LeftOut::of(&given);
    let mut redactor = of_environment().clone();
    let (sources, private) = exported(&given.traced, &redactor, &mut left)?;
    confined(Some(folder))?;
    let (counters, empty) = counters(&given.counted, &mut redactor, &mut left)?;
    let manifest = read_manifest(path).ok();
    // A run in which nothing was seen is a run, too.
    let judged = counters.is_some() || manifest.is_some();
    let all = Selected::default();
    let trace = opened(&paths, &given.traced, &sources, all, &mut redactor, &mut left, judged)?;
    drop(private);
    if trace.is_none() && !judged {
        let why = empty.first().map(|nothing| anyhow!("nothing to export: {}", nothing.why));
        return Err(why.unwrap_or_else(|| left.everything(&[path.to_owned()])));
    }
    let mut trace = trace.unwrap_or_default();
    settings.regions().apply(&mut trace);
    let options = Options { scope: Scope::of_recordings(trace.recordings.len()), ..Options::default() };
    // All of a file is read to tell which one it is.
    let name = |name: &str| redactor.name(name);
    let (exported, attribution) = beside(|| identify(path, &trace, name), || attribute(&trace));
    let exported = exported?;
    let analysis = analyze_attributed(&trace, &attribution, &options);
    let insight = insight(Some((&trace, &analysis)), counters.as_ref());
    let written = export(
        folder,
        &exported,
        Source {
            run: &exported.run,
            trace: &trace,
            attribution: &attribution,
            analysis: &analysis,
            families: &options.families,
            scope: options.scope,
            findings: &insight.findings,
            counters: counters.as_ref(),
            verdicts: manifest.as_ref().map(|manifest| manifest.verdicts.as_slice()).unwrap_or_default(),
        },
    );
    written.with_context(|| format!("cannot write into `{}`", folder.display()))
}
