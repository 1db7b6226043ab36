//! `rangefinder analyze`

use std::path::PathBuf;

use analysis::{
    CounterRegions, Families, Findings, Grouping, Insight, KernelPatterns, Options, Scope, analyse,
    counter_regions, insight,
};
use anyhow::{Context, Result, anyhow};
use counters::Report;
use report::Page;
use run::Exit;
use run::gates::{gate_of_run, keep_gated};
use run::process::PrivateFolder;
use run::rundir::Files;
use run::secrets::{Redactor, of_environment};
use serde_json::{Value, json};
use trace::Trace;

use super::print;
use crate::cli::{AnalyzeArguments, GroupBy, ScopeOf};

/// Of the document that holds counters alone.
const SCHEMA: u32 = 1;

pub(crate) fn main(arguments: AnalyzeArguments) -> Result<Exit> {
    let (counted, traced) = sorted(&arguments.files);
    let reports: Vec<Report> = counted.iter().map(|file| counters::open(file)).collect::<Result<_, _>>()?;
    let mut redactor = of_environment().clone();
    let mut counters = Report::joined(reports);
    if let Some(counters) = &mut counters {
        redactor.learn_from(counters.names());
        counters.rename(|text| redactor.name(text));
    }
    let counters = counters.map(|report| Counters::of(report, &arguments)).transpose()?;
    let traced = match traced.as_slice() {
        [] => None,
        traced => match findings(traced, &arguments, &mut redactor) {
            // A run may have counters and no timeline.
            Err(error) if counters.is_some() && is_without_trace(&error) => None,
            found => Some(found?),
        },
    };
    let found = traced.as_ref().map(|(trace, findings)| (trace, findings));
    let insight = insight(found, counters.as_ref().map(|counters| &counters.report));
    let (trace, findings) = traced.unzip();
    if let Some(folder) = &arguments.out {
        let out = Files::in_the_open(folder.clone(), redactor);
        let written =
            write(&out, &arguments.files, trace.as_ref(), findings.as_ref(), counters.as_ref(), &insight);
        written.with_context(|| format!("`{}` cannot be written", folder.display()))?;
    }
    if arguments.json {
        let document = document(findings.as_ref(), counters.as_ref(), &insight)?;
        print(&format!("{}\n", serde_json::to_string_pretty(&document)?))?;
        return Ok(Exit::Complete);
    }
    let mut screens = Vec::new();
    screens.extend(findings.as_ref().map(|findings| report::terminal(findings, arguments.top)));
    screens.extend(counters.as_ref().map(|counters| counters.terminal(arguments.top)));
    screens.extend(told(&insight, arguments.top));
    print(&screens.join("\n"))?;
    Ok(Exit::Complete)
}

fn is_without_trace(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(trace::OpenError::EmptyFolder { .. }))
}

/// What limits the program, and what to change, where that is known.
fn told(insight: &Insight, top: usize) -> Vec<String> {
    let mut screens = Vec::new();
    if let Some(joined) = &insight.joined {
        screens.push(format!("what limits the kernels: {}", report::bounds_text(joined, top)));
    }
    if !insight.roofline.is_empty() {
        screens.push(format!("roofline\n{}", report::roofline_text(&insight.roofline, top)));
    }
    if !insight.recommendations.is_empty() {
        screens.push(format!("what to change\n{}", report::recommendations_text(&insight.recommendations)));
    }
    screens
}

/// What ncu measured, and what that is for each region.
struct Counters {
    report: Report,
    regions: CounterRegions,
}

impl Counters {
    fn of(report: Report, arguments: &AnalyzeArguments) -> Result<Self> {
        let patterns =
            KernelPatterns::new(&arguments.include, &arguments.exclude).map_err(|text| anyhow!(text))?;
        let regions = counter_regions(&report, &[], &patterns);
        Ok(Self { report, regions })
    }

    fn terminal(&self, top: usize) -> String {
        let version = self.report.session.ncu_version.as_deref();
        let source = version.map_or("ncu".to_owned(), |version| format!("ncu {version}"));
        report::counters_terminal(&source, &self.regions, top)
    }
}

/// Files that hold counters, and those that hold a trace. A run may have both.
fn sorted(files: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut counted, mut traced) = (Vec::new(), Vec::new());
    for file in files {
        if file.is_dir() {
            counted.extend(run::ncu::reports(file));
            traced.push(file.clone());
        } else if counters::is_counters(file) {
            counted.push(file.clone());
        } else {
            traced.push(file.clone());
        }
    }
    (counted, traced)
}

fn findings(
    files: &[PathBuf],
    arguments: &AnalyzeArguments,
    redactor: &mut Redactor,
) -> Result<(Trace, Findings)> {
    let (files, folder) = exported(files, redactor)?;
    let mut trace = trace::open(&files)?;
    drop(folder);
    // Marked in an export already, and not in what others exported.
    redactor.learn_from(trace.names());
    trace.rename(|text| redactor.name(text));
    keep_within(&mut trace, &files, arguments.within.as_deref(), redactor)?;
    analysis::keep_kernels(&mut trace, &arguments.include, &arguments.exclude)
        .map_err(|text| anyhow!(text))?;
    let findings = analyse(&trace, &options(arguments)?);
    Ok((trace, findings))
}

/// The ranges that were named, or those that a run was gated on when nsys recorded it.
fn keep_within(trace: &mut Trace, files: &[PathBuf], named: Option<&str>, redactor: &Redactor) -> Result<()> {
    let run = match files {
        [run] if !trace::timeline_files(&run.join("nsys")).is_empty() => gate_of_run(run),
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
            let there = analysis::regions(trace);
            if let Some(missing) = keep_gated(trace, wish, rehearsed.as_ref()).first() {
                let there = if there.is_empty() { "none".to_owned() } else { nsight::listed(&there) };
                return Err(anyhow!("no range in the trace is called `{missing}`\nhint: there are {there}"));
            }
        }
        (None, Some((wish, rehearsed))) => {
            keep_gated(trace, &wish, rehearsed.as_ref());
        }
        (None, None) => {}
    }
    Ok(())
}

/// The findings, with the counters beside them, or the counters alone.
fn document(findings: Option<&Findings>, counters: Option<&Counters>, insight: &Insight) -> Result<Value> {
    let mut document = match findings {
        Some(findings) => serde_json::to_value(findings)?,
        None => json!({"schema": SCHEMA}),
    };
    document["recommendations"] = serde_json::to_value(&insight.recommendations)?;
    if let Some(Counters { report, regions }) = counters {
        document["joined"] = serde_json::to_value(&insight.joined)?;
        document["roofline"] = serde_json::to_value(&insight.roofline)?;
        document["counters"] = serde_json::to_value(counters::rows(report))?;
        document["counter_session"] = serde_json::to_value(&report.session)?;
        document["counter_regions"] = report::counter_regions_json(regions);
        document["counter_notes"] = serde_json::to_value(&report.notes)?;
    }
    Ok(document)
}

/// The same files, but for those that nsys has to export first: these lie in a folder that is
/// nobody else's and goes with us.
fn exported(files: &[PathBuf], redactor: &Redactor) -> Result<(Vec<PathBuf>, Option<PrivateFolder>)> {
    let is_raw = |file: &PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("nsys-rep" | "qdrep" | "qdstrm")) && file.is_file()
    };
    if !files.iter().any(is_raw) {
        return Ok((files.to_vec(), None));
    }
    let private = PrivateFolder::new().context("no place for an export")?;
    let export = |(number, file): (usize, &PathBuf)| {
        if !is_raw(file) {
            return Ok(file.clone());
        }
        let folder = private.path().join(number.to_string());
        std::fs::create_dir_all(&folder)?;
        run::nsys::to_sqlite(file, &folder, redactor).map_err(|why| anyhow!(why))
    };
    let files = files.iter().enumerate().map(export).collect::<Result<_>>()?;
    Ok((files, Some(private)))
}

fn options(arguments: &AnalyzeArguments) -> Result<Options> {
    let own: Vec<(String, String)> = arguments
        .family
        .iter()
        .map(|text| match text.split_once('=') {
            Some((name, pattern)) => Ok((name.to_owned(), pattern.to_owned())),
            None => Err(anyhow!("`--family {text}` is not NAME=PATTERN")),
        })
        .collect::<Result<_>>()?;
    Ok(Options {
        scope: match arguments.scope {
            ScopeOf::All => Scope::default(),
            ScopeOf::Process => Scope { by_process: true, by_device: false },
            ScopeOf::Device => Scope { by_process: false, by_device: true },
            ScopeOf::Both => Scope { by_process: true, by_device: true },
        },
        grouping: match arguments.group {
            GroupBy::Name => Grouping::Name,
            GroupBy::Shape => Grouping::Shape,
            GroupBy::Family => Grouping::Family,
        },
        families: Families::with(&own).map_err(|text| anyhow!(text))?,
        stages: arguments.stage.clone(),
        tokens: tokens(&arguments.tokens)?,
    })
}

fn tokens(given: &[String]) -> Result<Vec<(String, f64)>> {
    let read = |text: &String| {
        let (stage, number) = text.split_once('=')?;
        Some((stage.to_owned(), number.parse().ok().filter(|number: &f64| number.is_finite())?))
    };
    given
        .iter()
        .map(|text| read(text).with_context(|| format!("`--tokens {text}` is not STAGE=NUMBER")))
        .collect()
}

/// All that a run would leave of it.
fn write(
    out: &Files,
    files: &[PathBuf],
    trace: Option<&Trace>,
    findings: Option<&Findings>,
    counters: Option<&Counters>,
    insight: &Insight,
) -> Result<()> {
    let folder = out.root();
    std::fs::create_dir_all(folder)?;
    out.json("analysis.json", &document(findings, counters, insight)?)?;
    if let Some(findings) = findings {
        out.text("kernels.md", &report::kernels_markdown(findings))?;
        out.text("operators.md", &report::operators_markdown(findings))?;
    }
    if let Some(counters) = counters {
        out.text("counters.csv", &report::counters_csv(&counters.report))?;
        report::write_counter_regions(&folder.join("counter-regions"), &counters.regions)?;
    }
    if let Some(trace) = trace {
        let file = std::fs::File::create(folder.join("trace.perfetto"))?;
        report::write_perfetto(trace, std::io::BufWriter::new(file))?;
    }
    let names = files.iter().filter_map(|file| file.file_name()).map(|name| name.to_string_lossy());
    let page = Page {
        title: &names.collect::<Vec<_>>().join(", "),
        workload: "",
        verdicts: &[],
        steps: &[],
        findings,
        trace,
        counters: counters.map(|counters| &counters.regions),
        insight,
        environment: &[],
        commands: &[],
        warnings: &[],
    };
    out.text("report.html", &report::html(&page))?;
    for (name, text) in report::csv_tables(&page) {
        out.text(name, &text)?;
    }
    Ok(())
}
