//! `rangefinder analyze`

use std::path::{Path, PathBuf};

use analysis::{Families, Grouping, Options, STAGES, Scope, analyse};
use anyhow::{Context, Result, anyhow};
use run::Exit;

use super::print;
use crate::cli::{AnalyzeArguments, GroupBy, ScopeOf};

pub(crate) fn main(arguments: AnalyzeArguments) -> Result<Exit> {
    let folder =
        tempfile::Builder::new().prefix("rangefinder-").tempdir().context("no place for an export")?;
    let files = exported(&arguments.files, folder.path())?;
    let mut trace = trace::open(&files)?;
    drop(folder);
    analysis::keep_kernels(&mut trace, &arguments.include, &arguments.exclude)
        .map_err(|text| anyhow!(text))?;
    let findings = analyse(&trace, &options(&arguments)?);
    drop(trace);
    if let Some(folder) = &arguments.out {
        write(folder, &findings).with_context(|| format!("`{}` cannot be written", folder.display()))?;
    }
    if arguments.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&findings)?))?;
    } else {
        print(&report::terminal(&findings, arguments.top))?;
    }
    Ok(Exit::Complete)
}

/// The same files, but for those that nsys has to export first.
fn exported(files: &[PathBuf], folder: &Path) -> Result<Vec<PathBuf>> {
    let export = |(number, file): (usize, &PathBuf)| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        if !matches!(extension, Some("nsys-rep" | "qdrep" | "qdstrm")) || !file.is_file() {
            return Ok(file.clone());
        }
        let folder = folder.join(number.to_string());
        std::fs::create_dir_all(&folder)?;
        run::nsys::to_sqlite(file, &folder).map_err(|why| anyhow!(why))
    };
    files.iter().enumerate().map(export).collect()
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
    let stages =
        if arguments.stage.is_empty() { STAGES.map(str::to_owned).to_vec() } else { arguments.stage.clone() };
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
        stages,
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

fn write(folder: &Path, findings: &analysis::Findings) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let document = serde_json::to_string_pretty(findings)?;
    for (name, text) in [
        ("analysis.json", document),
        ("kernels.md", report::kernels_markdown(findings)),
        ("operators.md", report::operators_markdown(findings)),
        ("kernels.csv", report::kernels_csv(findings)),
        ("regions.csv", report::regions_csv(findings)),
    ] {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}
