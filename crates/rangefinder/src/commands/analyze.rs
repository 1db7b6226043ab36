//! `rangefinder analyze`

use std::collections::HashSet;
use std::path::Path;

use analysis::{
    Analysis, Change, CounterRegions, Families, Grouping, KernelPatterns, Options, Scope, analyze,
    counter_regions, insight,
};
use anyhow::{Context, Result, anyhow};
use counters::Report;
use process::{Signals, interruptible};
use record::RunStatus;
use report::{AnalysisDocument, Format, Page};
use run::gather::{Gathered, Given, gather};
use run::job::{Parts, parts};
use run::rundir::{Files, read_manifest, remove_unfinished};
use run::{Exit, write_documents};
use secrets::of_environment;
use trace::Trace;

use super::Usage;
use super::analyze_settings::{Settings, split};
use super::traces::{LeftOut, Nothing, Selected, counters, exported, opened, ranges_in};
use crate::cli::{AnalyzeArguments, GroupBy, ScopeOf};
use crate::print::{print, print_json, say};

/// The folder with every metric by region.
const COUNTER_REGIONS: &str = "counter-regions";

pub(crate) fn main(arguments: AnalyzeArguments) -> Result<Exit> {
    // Before any thread is started: threads inherit the signal mask.
    let signals = Signals::listen().context("cannot listen for signals")?;
    analyzed(&signals, &arguments, Shown::All)
}

/// What is printed to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    All,
    Nothing,
}

/// A signal ends it.
pub(super) fn analyzed(signals: &Signals, arguments: &AnalyzeArguments, shown: Shown) -> Result<Exit> {
    interruptible(
        signals,
        || work(arguments, shown),
        || {
            say("interrupted");
            remove_unfinished()
        },
    )
}

fn work(arguments: &AnalyzeArguments, shown: Shown) -> Result<Exit> {
    let (paths, overrides) = split(&arguments.files);
    if paths.is_empty() {
        let hint = format!("rangefinder analyze FILE {}", overrides.join(" "));
        return Err(Usage(format!("no file to analyze\nhint: {hint}")).into());
    }
    // Report typos before reading anything.
    options(arguments, 1)?;
    patterns(arguments)?;
    let settings = Settings::of(&paths, &overrides)?;
    if let [run] = paths.as_slice()
        && read_manifest(run).is_ok_and(|manifest| manifest.status == RunStatus::Interrupted)
    {
        say("note: this run was interrupted: what was recorded may end in the middle of the program");
    }
    let given = gather(&paths);
    let mut left = LeftOut::of(&given);
    let mut redactor = of_environment().clone();
    let (sources, folder) = exported(&given.traced, &redactor, &mut left)?;
    confined(arguments.out.as_deref())?;
    let (counters, empty) = counters(&given.counted, &mut redactor, &mut left)?;
    let counters = counters.map(|report| Counters::of(report, arguments)).transpose()?;
    let counted = counters.is_some() || !empty.is_empty();
    let selected = Selected {
        within: arguments.within.as_deref(),
        include: &arguments.include,
        exclude: &arguments.exclude,
    };
    // Ranks have verdicts of their own.
    let mut parts = if let [job] = paths.as_slice() { parts(job).map(Parts::judged) } else { None };
    let judged = counted || parts.is_some();
    let trace = opened(&paths, &given.traced, &sources, selected, &mut redactor, &mut left, judged)?;
    let mut traced = None;
    if let Some(mut trace) = trace {
        settings.regions().apply(&mut trace);
        let absent_ranks = parts.as_ref().map_or(0, Parts::absent);
        let options = Options { absent_ranks, ..options(arguments, trace.recordings.len())? };
        let analysis = analyze(&trace, &options);
        traced = Some((trace, analysis));
    }
    drop(folder);
    let nothing: Vec<Nothing> = empty.into_iter().chain(without_anything(traced.as_ref(), &given)).collect();
    let found = traced.as_ref().map(|(trace, analysis)| (trace, analysis));
    let mut insight = insight(found, counters.as_ref().map(|counters| &counters.report));
    if let Some((_, analysis)) = &mut traced {
        settings.model().tell(analysis, &mut insight);
    }
    let (trace, analysis) = traced.unzip();
    left.tell();
    if trace.is_none() && !judged && nothing.is_empty() {
        return Err(left.everything(&paths));
    }
    if let Some((trace, analysis)) = trace.as_ref().zip(analysis.as_ref()) {
        all_used(arguments, trace, analysis)?;
    }
    if arguments.within.is_some() && counters.is_some() {
        say("note: the counters are those of all ranges: --within selects from the timeline only");
    }
    if trace.is_none() && counters.is_some() {
        let ignored = [("--stage", arguments.stage.is_empty()), ("--tokens", arguments.tokens.is_empty())];
        for (option, _) in ignored.iter().filter(|(_, is_empty)| !is_empty) {
            say(&format!("note: {option} has no effect: it is about the timeline, and there is none"));
        }
    }
    if let Some((parts, trace)) = parts.as_mut().zip(trace.as_ref()) {
        parts.complete(trace);
    }
    let names = paths.iter().filter_map(|file| file.file_name()).map(|name| name.to_string_lossy());
    let page = Page {
        title: &names.collect::<Vec<_>>().join(", "),
        workload: "",
        verdicts: &[],
        steps: &[],
        analysis: analysis.as_ref(),
        operators_source: None,
        trace: trace.as_ref(),
        measured: counters.as_ref().map(|counters| &counters.report),
        counters: counters.as_ref().map(|counters| &counters.regions),
        counters_at: COUNTER_REGIONS,
        insight: &insight,
        environment: &environment(trace.as_ref(), analysis.as_ref()),
        passes: &[],
        ranks: parts.as_ref().map(|parts| &parts.seen),
        commands: &[],
        rehearsal: None,
        warnings: &[],
        top: settings.top(),
        whole: arguments.whole,
    };
    if let Some(folder) = &arguments.out {
        let out = Files::in_the_open(folder.clone(), redactor);
        let written = write(&out, &page, settings.formats());
        written.with_context(|| format!("cannot write `{}`", folder.display()))?;
    }
    match shown {
        Shown::Nothing => {}
        Shown::All if arguments.json => print_json(&AnalysisDocument::of(&page))?,
        Shown::All => print(&report::screen(&page, arguments.top))?,
    }
    let something = counters.is_some() || trace.is_some_and(|trace| !trace.is_empty());
    Ok(match (exit(&nothing, something), unpredicted(arguments, analysis.as_ref())) {
        (Exit::Complete, true) => Exit::Missing,
        (exit, _) => exit,
    })
}

/// Whether a prediction is missing that was asked for; says why, once for each reason.
fn unpredicted(arguments: &AnalyzeArguments, analysis: Option<&Analysis>) -> bool {
    let mut reasons: Vec<&str> = match analysis {
        Some(analysis) => analysis.what_if.iter().filter_map(|one| one.unknown.as_deref()).collect(),
        None if arguments.what_if.is_empty() => Vec::new(),
        None => vec!["there is no timeline to replay (--what-if)"],
    };
    let mut said = HashSet::new();
    reasons.retain(|why| said.insert(*why));
    reasons.iter().for_each(|why| say(&format!("error: no prediction: {why}")));
    !reasons.is_empty()
}

/// 1 when a named file contains nothing, or when none of the files found does.
fn exit(nothing: &[Nothing], something: bool) -> Exit {
    for Nothing { file, why, named } in nothing {
        let kind = if *named || !something { "error" } else { "note" };
        say(&format!("{kind}: nothing to analyze in `{file}`: {why}"));
    }
    match nothing.iter().any(|nothing| nothing.named) || !something {
        true => Exit::Missing,
        false => Exit::Complete,
    }
}

fn without_anything(traced: Option<&(Trace, Analysis)>, given: &Gathered) -> Vec<Nothing> {
    let recordings = traced.into_iter().flat_map(|(trace, _)| &trace.recordings);
    // A run directory stands for everything in it.
    let is_meant = |given: &Given, file: &str| {
        given.named && given.path.display().to_string() == file && !given.path.is_dir()
    };
    let named = |file: &str| given.traced.iter().any(|given| is_meant(given, file));
    recordings
        .filter_map(|recording| {
            let (file, why) = (recording.file.clone(), recording.nothing.clone()?);
            Some(Nothing { named: named(&file), file, why })
        })
        .collect()
}

/// An error if the trace lacks a name in the arguments.
fn all_used(arguments: &AnalyzeArguments, trace: &Trace, analysis: &Analysis) -> Result<()> {
    let is_stage = |name: &str| analysis.stages.iter().any(|stage| stage.name == name);
    if let Some(name) = arguments.stage.iter().find(|name| !is_stage(name)) {
        let inside = if arguments.within.is_none() { "" } else { " inside --within" };
        return Err(anyhow!("no region named `{name}`{inside} (--stage)\nhint: it has {}", ranges_in(trace)));
    }
    let tokens = arguments.tokens.iter().filter_map(|text| text.split('=').next());
    if let Some(name) = tokens.into_iter().find(|name| !is_stage(name)) {
        let stages: Vec<String> = analysis.stages.iter().map(|stage| format!("`{}`", stage.name)).collect();
        let there = if stages.is_empty() { "none".to_owned() } else { stages.join(", ") };
        return Err(anyhow!("no stage named `{name}` (--tokens)\nhint: it has {there}"));
    }
    Ok(())
}

/// What ncu measured, in total and per region.
struct Counters {
    report: Report,
    regions: CounterRegions,
}

impl Counters {
    fn of(report: Report, arguments: &AnalyzeArguments) -> Result<Self> {
        let regions = counter_regions(&report, &[], &patterns(arguments)?);
        Ok(Self { report, regions })
    }
}

/// Which kernels the user wants to see.
fn patterns(arguments: &AnalyzeArguments) -> Result<KernelPatterns, Usage> {
    for (option, patterns) in [("--include", &arguments.include), ("--exclude", &arguments.exclude)] {
        for pattern in patterns {
            KernelPatterns::new(std::slice::from_ref(pattern), &[])
                .map_err(|why| not_a_pattern(&format!("{option} {pattern}"), &why))?;
        }
    }
    KernelPatterns::new(&arguments.include, &arguments.exclude).map_err(Usage)
}

/// Only the last line of the reason is about what is wrong; the others quote the pattern.
fn not_a_pattern(argument: &str, why: &str) -> Usage {
    let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
    Usage(format!("`{argument}` is not a valid regular expression: {why}"))
}

/// From here on we only read, and write to the folder the user asked for.
pub(super) fn confined(out: Option<&Path>) -> Result<()> {
    let temporary = std::env::temp_dir();
    if let Some(out) = out {
        std::fs::create_dir_all(out).with_context(|| format!("cannot write `{}`", out.display()))?;
    }
    let writable: Vec<&Path> = out.into_iter().chain([temporary.as_path()]).collect();
    run::confine(&writable);
    Ok(())
}

fn options(arguments: &AnalyzeArguments, recordings: usize) -> Result<Options> {
    let own: Vec<(String, String)> = arguments
        .family
        .iter()
        .map(|text| match text.split_once('=') {
            Some((name, pattern)) => Ok((name.to_owned(), pattern.to_owned())),
            None => Err(Usage(format!("`--family {text}` is not NAME=PATTERN"))),
        })
        .collect::<Result<_, _>>()?;
    Ok(Options {
        scope: match arguments.scope {
            None => Scope::of_recordings(recordings),
            Some(ScopeOf::All) => Scope::default(),
            Some(ScopeOf::Process) => Scope { by_process: true, by_device: false },
            Some(ScopeOf::Device) => Scope { by_process: false, by_device: true },
            Some(ScopeOf::Both) => Scope { by_process: true, by_device: true },
        },
        grouping: match arguments.group {
            GroupBy::Name => Grouping::Name,
            GroupBy::Shape => Grouping::Shape,
            GroupBy::Family => Grouping::Family,
        },
        families: Families::with(&own).map_err(|why| {
            let is_bad = |pattern: &String| KernelPatterns::new(std::slice::from_ref(pattern), &[]).is_err();
            match own.iter().find(|(_, pattern)| is_bad(pattern)) {
                Some((name, pattern)) => not_a_pattern(&format!("--family {name}={pattern}"), &why),
                None => Usage(why),
            }
        })?,
        stages: arguments.stage.clone(),
        tokens: tokens(&arguments.tokens)?,
        what_if: what_if(&arguments.what_if)?,
        ..Options::default()
    })
}

fn tokens(given: &[String]) -> Result<Vec<(String, f64)>, Usage> {
    let read = |text: &String| {
        let (stage, number) = text.split_once('=')?;
        Some((
            stage.to_owned(),
            number.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)?,
        ))
    };
    given
        .iter()
        .map(|text| {
            read(text).ok_or_else(|| {
                Usage(format!("`{text}` is not STAGE=NUMBER with a number above 0 (--tokens)"))
            })
        })
        .collect()
}

fn what_if(given: &[String]) -> Result<Vec<Change>, Usage> {
    let read = |text: &String| text.parse().map_err(|why| Usage(format!("`--what-if {text}` {why}")));
    given.iter().map(read).collect()
}

/// What the files say about their machines, and which file each number refers to.
fn environment(trace: Option<&Trace>, analysis: Option<&Analysis>) -> Vec<(String, String)> {
    let mut lines = trace.map(|trace| trace.machine.clone()).unwrap_or_default();
    for row in analysis.into_iter().flat_map(|analysis| &analysis.recordings) {
        let rank = row.rank.map(|rank| format!(" (rank {rank})")).unwrap_or_default();
        lines.push((format!("recording {}{rank}", row.recording), row.file.clone()));
    }
    lines
}

/// Everything a run would write, and every metric that was collected.
fn write(out: &Files, page: &Page<'_>, formats: &[Format]) -> Result<()> {
    std::fs::create_dir_all(out.root())?;
    if let Some((report, regions)) = page.measured.zip(page.counters) {
        out.stream("counters.csv", |out| report::write_counters_csv(report, out))?;
        let bytes = |path: &Path, bytes: &[u8]| out.bytes(path, bytes);
        report::write_counter_regions(&out.root().join(COUNTER_REGIONS), regions, bytes)?;
    }
    match write_documents(out, page, formats, Vec::new()).into_iter().next() {
        Some(failed) => Err(failed.into()),
        None => Ok(()),
    }
}
