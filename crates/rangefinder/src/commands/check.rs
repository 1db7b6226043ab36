//! `rangefinder check`

use std::io::Write;
use std::path::{Path, PathBuf};

use ::run::Exit;
use ::run::baseline::Baseline;
use ::run::config::resolve_with;
use analysis::compare::{Checked, Doubt, Limit, Metric, Outcome, Unknown, check, limited};
use anyhow::{Context, Result};
use process::{Signals, interruptible};
use record::counted;
use report::CheckDocument;

use super::diff::{Read, read, write_file};
use super::{Usage, here};
use crate::cli::CheckArguments;
use crate::print::{print, print_json, say};

type Limits = Vec<(Metric, Limit)>;

/// If nothing else is limited.
const USUAL: [&str; 2] = ["loop=+2%", "launches=0"];

pub(crate) fn main(arguments: &CheckArguments) -> Result<Exit> {
    // Before any thread is started: threads inherit the signal mask.
    let signals = Signals::listen().context("cannot listen for signals")?;
    interruptible(
        &signals,
        || checked(arguments),
        || {
            say("interrupted");
        },
    )
}

fn checked(arguments: &CheckArguments) -> Result<Exit> {
    let (limits, configured) = limits(arguments)?;
    let baseline = arguments.baseline.clone().or(configured).ok_or_else(|| {
        Usage(
            "there is no baseline\nhint: `--baseline FILE`, or `check.baseline` in rangefinder.yaml"
                .to_owned(),
        )
    })?;
    if arguments.update {
        let now = read(&arguments.runs).map_err(wrong)?;
        decidable(&limits, &now)?;
        let runs = now.profiles.len();
        let written = Baseline::new(now.profiles, &now.around).write(&baseline);
        written.with_context(|| format!("cannot write `{}`", baseline.display())).map_err(wrong)?;
        print(&format!(
            "baseline: {} now has {} of `{}`\n",
            baseline.display(),
            counted(runs as u64, "run"),
            arguments.runs.display()
        ))?;
        return Ok(Exit::Complete);
    }
    let before = before(&baseline)?;
    let now = read(&arguments.runs).map_err(wrong)?;
    let (same_hardware, mut notes) = hardware(&before, &now);
    let found = check(&limits, &before.profiles, &now.profiles, same_hardware);
    if now.profiles.iter().any(|profile| profile.lost) {
        notes.push("some of the recordings are incomplete".to_owned());
    }
    let names = [baseline.display().to_string(), arguments.runs.display().to_string()];
    let runs = [before.profiles.len() as u64, now.profiles.len() as u64];
    let document = CheckDocument::new(&names[0], &names[1], runs, &found, &notes);
    write(arguments, &document)?;
    Ok(match document.outcome {
        Outcome::Kept => Exit::Complete,
        Outcome::Broken => Exit::Missing,
        Outcome::Undecided => Exit::Undecided,
    })
}

/// Whether such a baseline says anything about what is limited: it is held against itself.
fn decidable(limits: &Limits, now: &Read) -> Result<()> {
    let never: Vec<String> = check(limits, &now.profiles, &now.profiles, true)
        .iter()
        .filter_map(|checked| Some(format!("`{}`: {}", checked.metric, never_decided(checked)?)))
        .collect();
    if never.len() == limits.len() {
        return Err(Usage(format!(
            "these runs are no baseline: {}\nhint: `rangefinder run --repeat 5 -- COMMAND` makes runs that are one",
            never.join("; ")
        ))
        .into());
    }
    never.iter().for_each(|why| say(&format!("warning: the baseline cannot decide {why}")));
    Ok(())
}

/// Why a limit cannot be decided with these runs as the baseline, whatever is held against it.
fn never_decided(checked: &Checked) -> Option<&'static str> {
    match checked.unknown? {
        Unknown::NotMeasured { .. } => Some("it was not measured in these runs"),
        Unknown::Varies => Some("it is not the same in all iterations or runs"),
        Unknown::Doubt { doubt: Doubt::TooFew } => Some("there are too few runs"),
        Unknown::Doubt { .. } | Unknown::OtherHardware => None,
    }
}

/// Whatever is wrong, it is no regression: nothing was checked.
fn wrong(error: anyhow::Error) -> anyhow::Error {
    Usage(format!("{error:#}")).into()
}

fn write(arguments: &CheckArguments, document: &CheckDocument<'_>) -> Result<()> {
    if let Some(file) = &arguments.junit {
        write_file(file, document.junit().as_bytes()).map_err(wrong)?;
    }
    if arguments.github {
        print(&document.annotations())?;
        if let Some(summary) = std::env::var_os("GITHUB_STEP_SUMMARY") {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(&summary);
            let written = file.and_then(|mut file| file.write_all(document.markdown().as_bytes()));
            written
                .with_context(|| format!("cannot write `{}`", Path::new(&summary).display()))
                .map_err(wrong)?;
        }
    }
    match (arguments.json, arguments.markdown) {
        (true, _) => print_json(document),
        (false, true) => print(&document.markdown()),
        (false, false) => print(&document.screen()),
    }
}

/// What is limited, and where the baseline is, as far as the configuration says it.
fn limits(arguments: &CheckArguments) -> Result<(Limits, Option<PathBuf>)> {
    let file = arguments.config.clone().or_else(|| {
        let usual = here().ok()?.join("rangefinder.yaml");
        usual.is_file().then_some(usual)
    });
    let config = resolve_with(file.as_deref(), &[])?.config.check;
    let configured = config.limits.iter().map(|(metric, limit)| (metric.clone(), limit.0.clone()));
    let typed = arguments.limit.iter().map(|text| match text.split_once('=') {
        Some((metric, limit)) => Ok((metric.to_owned(), limit.to_owned())),
        None => Err(Usage(format!("`--limit {text}` is not METRIC=LIMIT, such as `loop=+2%`"))),
    });
    let mut named: Vec<(String, String)> = configured.collect();
    for one in typed {
        let (metric, limit) = one?;
        named.retain(|(known, _)| *known != metric);
        named.push((metric, limit));
    }
    if named.is_empty() {
        named = USUAL
            .iter()
            .filter_map(|one| one.split_once('='))
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .collect();
    }
    let limits = named
        .iter()
        .map(|(metric, limit)| limited(metric, limit).map_err(Usage))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((limits, config.baseline.map(|path| PathBuf::from(path.0))))
}

/// A file, or a folder of runs.
fn before(path: &Path) -> Result<Read> {
    if path.is_dir() {
        return read(path).map_err(wrong);
    }
    match Baseline::read(path) {
        Ok(baseline) => Ok(Read { runs: Vec::new(), around: baseline.around(), profiles: baseline.profiles }),
        Err(error) => {
            let hint = "`rangefinder check --update --baseline FILE RUNS` writes one";
            Err(Usage(format!("{error}\nhint: {hint}")).into())
        }
    }
}

/// Whether times can be compared, and why not.
fn hardware(before: &Read, now: &Read) -> (bool, Vec<String>) {
    let devices =
        |side: &Read| side.profiles.first().map(|profile| profile.devices.clone()).unwrap_or_default();
    let (a, b) = (devices(before), devices(now));
    let named = |devices: &[String]| if devices.is_empty() { "none".to_owned() } else { devices.join(", ") };
    if a != b {
        return (false, vec![format!("the GPUs of the baseline: {}; now: {}", named(&a), named(&b))]);
    }
    let cpu = |side: &Read| side.around.fact("CPU").map(str::to_owned);
    match (cpu(before), cpu(now)) {
        (Some(a), Some(b)) if a != b => (false, vec![format!("the CPU of the baseline: {a}; now: {b}")]),
        _ => (true, Vec::new()),
    }
}
